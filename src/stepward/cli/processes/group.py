"""A group of processes, each with every actor of one application: a dead one is restarted, and all drain together.

They share only the store, so the group has no state that could be lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from stepward import durations
from stepward.app import App
from stepward.cli.exit_codes import DONE, FAILED, Silent, complain
from stepward.cli.processes.child import Child
from stepward.cli.processes.restarts import Slot, SlotEnd
from stepward.cli.processes.serving import EVERY_ACTOR, Actors, header, patience, say, say_draining
from stepward.cli.processes.signals import SIGNALLED, ProcessSignals
from stepward.clock import Clock

MOST_PROCESSES = 64


def serve_group(app: App, target: str, count: int, actors: Actors = EVERY_ACTOR) -> None:
    """Run that many processes of the application until a signal."""
    asyncio.run(_serve(app, target, count, actors))


async def _serve(app: App, target: str, count: int, actors: Actors) -> None:
    settings = app.settings
    metrics = [] if settings.metrics is None else ["--metrics", settings.metrics]
    served = () if isinstance(actors.partitions, bool) else actors.partitions
    options = [*metrics, *(word for name in served for word in ("--partition", name))]
    group = ProcessGroup(target, count, patience(settings), app.environment.clock, options=options)
    ProcessSignals(on_first=lambda: say_draining(app.settings), begun=group.drain, at_once=group.kill)
    header(app, actors, {"processes": str(count)})
    await group.run()


class ProcessGroup:
    """The processes of one application; ``grace`` is how many seconds they may take to end."""

    def __init__(self, target: str, count: int, grace: float, clock: Clock, *, options: Sequence[str] = ()) -> None:
        self._target = target
        self._options = options
        self._grace = grace
        self._clock = clock
        self._places = [Slot(number) for number in range(1, count + 1)]
        self._may_follow = asyncio.Event()
        """Set when the first process is at work, having migrated the store, or when no process is to be started."""
        self._over = asyncio.Event()
        self._told_ready = False
        self._code = DONE

    async def run(self) -> None:
        """Keep every process running until asked to drain. Raises Silent with the exit code if that did not end
        well."""
        ending = asyncio.create_task(self._end_all())
        try:
            await asyncio.gather(*map(self._keep, self._places))
        finally:
            ending.cancel()
        if self._code != DONE:
            raise Silent(self._code)
        say("Ended in good order.")

    def drain(self) -> None:
        """Make every process drain, and start no other."""
        self._over.set()
        self._may_follow.set()

    def kill(self) -> None:
        """Kill every process."""
        for place in self._places:
            if place.child is not None:
                place.child.kill()

    async def _keep(self, place: Slot) -> None:
        if place.number > 1:
            await self._may_follow.wait()
        while not self._over.is_set():
            end = await self._live(place)
            if self._over.is_set():
                self._drained(place, end)
                return
            pause = place.pause_after(end)
            self._died(place, end, pause)
            if place.is_given_up:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._over.wait()

    async def _live(self, place: Slot) -> SlotEnd:
        """One life of a process."""
        try:
            place.child = child = await Child.begin(place.number, self._target, self._options)
        except OSError as error:
            return SlotEnd(FAILED, complaint=f"expected room for one more process, found {error.strerror}; make room")
        if self._over.is_set():
            child.cut()
        if not await child.is_at_work():
            return SlotEnd(await child.ended(), complaint=child.complaint)
        began_at = self._clock.boot()
        self._began(place)
        code = await child.ended()
        place.at_work = False
        worked = self._clock.boot() - began_at
        return SlotEnd(code, worked=worked, complaint=child.complaint, is_drained=child.is_drained)

    def _began(self, place: Slot) -> None:
        place.began()
        self._may_follow.set()
        say(f"{place.name} is at work.")
        if not self._told_ready and all(each.at_work for each in self._places):
            self._told_ready = True
            say("Ready; SIGTERM or ^C drains.")

    def _died(self, place: Slot, end: SlotEnd, pause: float) -> None:
        if end.is_drained:
            say(f"{place.name} was drained, and {end.how}{end.why}; no other begins in its place.")
        elif all(each.is_hopeless for each in self._places if each.is_taken):
            self._code = end.code if end.code > 0 else SIGNALLED - end.code
            complain(end.complaint or f"{place.name}: expected it to start, found that it {end.how}; look at its log")
            self.drain()
        elif place.is_given_up:
            say(f"{place.name} {end.how}{end.why}; no other begins in its place.")
        else:
            say(f"{place.name} {end.how}{end.why}; another begins in {durations.text(pause)}.")

    def _drained(self, place: Slot, end: SlotEnd) -> None:
        if end.code != DONE and self._code == DONE:
            self._code = FAILED
        if end.code != DONE:
            say(f"{place.name} {end.how}{end.why}.")

    async def _end_all(self) -> None:
        await self._over.wait()
        for place in self._places:
            if place.child is not None:
                place.child.cut()
        await asyncio.sleep(self._grace)
        self.kill()
