"""The messages between simulated processes: what goes wrong on their way, and what may leave a process."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import Any

from msgspec.structs import asdict, replace

from simulation.application.approvals import AGENT as APPROVING
from simulation.environment.faults import Rates
from simulation.environment.loop import SimulationLoop
from simulation.invariants.history import Mirror
from simulation.invariants.rules import Rules
from simulation.random_programs.programs import AGENT as LAB
from simulation.trace import Trace
from stepward.model.messages.requests import Outcome, Reply, Request, reply_queue
from stepward.scheduler.dispatch.publisher import LONG_PAST
from stepward.transport.contract import AgentMessage, Transport

DELAYS = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
NONSENSE = (b"", b"{", b"[" * 3_000, b'"text"', b"\xff\xfe", b'{"amount":"much"}', b'{"amount":1e999}', b"5")
"""Bodies that are no JSON, or no object with an amount."""
HELD_SECONDS = 10.0
"""How long a reply waits for a Supervisor's judgement that it can cross."""
LATE = "a request of an earlier owner left late"


class Network:
    """The messages between processes; it outlives every process."""

    def __init__(
        self,
        loop: SimulationLoop,
        rates: Callable[[], Rates],
        chance: random.Random,
        trace: Trace,
        rules: Rules,
        mirror: Mirror,
    ) -> None:
        self.loop = loop
        self.rates = rates
        self.chance = chance
        self.trace = trace
        self._rules = rules
        self._mirror = mirror
        self._keys: dict[tuple[str, int, str, int], str] = {}
        self._steps: dict[str, tuple[str, int, str, int]] = {}
        self._held_back: list[tuple[Transport, str, AgentMessage]] = []

    def check(self, messages: Sequence[AgentMessage]) -> None:
        """Hold what leaves a process against what is committed."""
        for message in messages:
            self._check(message)

    def send(self, transport: Transport, queue: str, messages: Sequence[AgentMessage]) -> None:
        """Let messages travel, each on its own way."""
        self.check(messages)
        together: list[AgentMessage] = []
        for message in messages:
            if self._is_held_back(message):
                self._held_back.append((transport, queue, message))
                self.loop.call_later(HELD_SECONDS, self.let_go, context=Context())
                continue
            for delay in self.delays(queue):
                if delay == 0.0:
                    together.append(message)
                else:
                    self.loop.call_later(delay, self._arrive, transport, queue, [message], context=Context())
        if together:
            self._arrive(transport, queue, together)

    def garbled(self, message: AgentMessage) -> AgentMessage:
        """The message, or what cannot be read in its place."""
        rate = self.rates().reply_garbled
        if not rate or not isinstance(message, Reply) or message.key.startswith(LAB) or self.chance.random() >= rate:
            return message
        self.trace.fault("reply garbled", message.task, message.key)
        if message.outcome is Outcome.COMPLETED:
            # From another process: one of an Agent of the Scheduler's own has been read by its declaration.
            return Reply(**{**asdict(message), "output": self.chance.choice(NONSENSE)})
        if message.error is not None:
            return replace(message, error=self.chance.choice(NONSENSE))
        return message

    def let_go(self) -> None:
        """Let replies that were held back arrive now: while a Supervisor stands before its decision, say."""
        held_back, self._held_back = self._held_back, []
        for transport, queue, message in held_back:
            self._arrive(transport, queue, [message])

    def refuses(self, verb: str) -> bool:
        """Whether the broker refuses this verb now."""
        rate = self.rates().queue_refuses
        if rate and self.chance.random() < rate:
            self.trace.fault("queue refuses", verb)
            return True
        return False

    def delays(self, queue: str) -> list[float]:
        """The seconds that a message for the queue takes, once for each time that it arrives; empty if it is lost."""
        rates, chance = self.rates(), self.chance
        if rates.message_lost and chance.random() < rates.message_lost:
            self.trace.fault("message lost", queue.partition(".")[0])
            return []
        delays = [0.0]
        if rates.message_doubled and chance.random() < rates.message_doubled:
            self.trace.fault("message doubled")
            delays.append(chance.choice(DELAYS))
        if rates.message_delayed and chance.random() < rates.message_delayed:
            self.trace.fault("message delayed")
            delays[0] = chance.choice(DELAYS[: 2 + int(chance.random() * len(DELAYS))])
        return delays

    def _is_held_back(self, message: AgentMessage) -> bool:
        rate = self.rates().reply_held_back
        if not isinstance(message, Reply) or not rate or self.chance.random() >= rate:
            return False
        self.trace.fault("reply held back")
        return True

    def _arrive(self, transport: Transport, queue: str, messages: list[AgentMessage]) -> None:
        at_once(transport.publish(queue, messages))

    def _check(self, message: AgentMessage) -> None:
        if isinstance(message, Reply):
            key = (message.task, message.run, message.key, message.attempt)
            self._rules.replies.setdefault(key, set()).add(message.outcome.value)
            self.trace.note("reply", *key, message.outcome.value)
            if message.outcome is Outcome.GAVE_UP:
                self.trace.reached("an Agent gave up")
        elif isinstance(message, Request):
            self._check_request(message)
        else:
            self.trace.note("progress", message.task, message.run, message.key, message.attempt)

    def _check_request(self, request: Request) -> None:
        self.trace.note("request", request.task, request.run, request.key, request.attempt)
        step = self._mirror.steps.get((request.task, request.run, request.key))
        meant = self._mirror.keys.get(request.idempotency_key)
        is_of_before = meant is not None and (step is None or meant.set_aside_at is not None)
        if is_of_before and not self._is_of_owner(request):
            self.trace.reached(LATE)
            return
        if step is None or step.attempt < request.attempt:
            self.trace.violated(
                "S8", f"{request.task}/{request.key}: attempt {request.attempt} left and was not committed"
            )
            return
        if request.agent == APPROVING and step.deferred_at is not None and step.attempt == request.attempt:
            self._check_asked_again(request)
        identity = (request.task, request.run, request.key, step.generation)
        if self._keys.setdefault(identity, request.idempotency_key) != request.idempotency_key:
            self.trace.violated(
                "S9", f"{identity}: two idempotency keys, {self._keys[identity]} and {request.idempotency_key}"
            )
        if self._steps.setdefault(request.idempotency_key, identity) != identity:
            self.trace.violated(
                "S9",
                f"{request.idempotency_key} is the key of {identity} and of {self._steps[request.idempotency_key]}",
            )

    def _check_asked_again(self, request: Request) -> None:
        """Only the owner of a task can know of a deferral; a request of an earlier owner may be late.

        A probe of a queue asks for nothing: no Agent does what was to be complete long ago.
        """
        if request.complete_by == LONG_PAST:
            return
        if self._is_of_owner(request):
            self.trace.violated("S8", f"{request.task}/{request.key} was asked again after its Agent had done its part")
        else:
            self.trace.reached(LATE)

    def _is_of_owner(self, request: Request) -> bool:
        task = self._mirror.tasks.get(request.task)
        return task is not None and task.locked_by is not None and request.reply_to == reply_queue(task.locked_by)


def at_once(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("simulation: expected a verb that waits for nothing")
