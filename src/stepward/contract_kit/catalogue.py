"""The checks of the contract, in the order in which the kit makes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from stepward.contract_kit.bench import ContractBench
from stepward.contract_kit.checks import answering, bad_input, deadlines, duplicates, endings, load, service_calls

FIRST = "answers"
"""The check without which no other is made: the Agent answers at all."""


class ContractCheck(Struct, frozen=True):
    """A check; what it expects is the first line of the docstring of ``run``."""

    name: str
    run: Callable[[ContractBench], Awaitable[None]]
    advice: str
    """What to do when it fails."""

    @property
    def title(self) -> str:
        """What the Agent does that passes it."""
        return (self.run.__doc__ or "").strip().partition("\n")[0].replace("``", "").rstrip(".")


CHECKS = (
    ContractCheck(FIRST, answering.answers, "send the result as data of a stepward.reply to the queue in replyto"),
    ContractCheck("announces", answering.announces, "broadcast stepward.capacity each third of a lease"),
    ContractCheck("proof", answering.proves, "copy store and proof of the request unchanged, and name the Agent"),
    ContractCheck("unknown-attributes", answering.ignores_attributes, "ignore attributes that you do not know"),
    ContractCheck("batch", answering.answers_batches, "read a broker message as a list of requests"),
    ContractCheck("unknown-operation", answering.refuses_unknown, "reply failed for an operation that is not yours"),
    ContractCheck("result", service_calls.passes_result, "reply completed with what the service returned"),
    ContractCheck("key", service_calls.sends_key, "send idempotencykey as Idempotency-Key with every call"),
    ContractCheck("headers", service_calls.sends_headers, "send traceparent and the complete-by with every call"),
    ContractCheck("failed", service_calls.fails_for_good, "reply failed when the service refuses for good"),
    ContractCheck("gave-up", service_calls.gives_up, "reply gave_up after an error that may pass"),
    ContractCheck("maybe-done", service_calls.tells_doubt, "set maybedone exactly where the service may have acted"),
    ContractCheck("error", service_calls.describes_errors, "send {message, type, data} as data of an error"),
    ContractCheck("calls", service_calls.counts_calls, "count the calls of an attempt, repeats included"),
    ContractCheck("attempts", service_calls.repeats, "perform each attempt: remember no outcome of an earlier one"),
    ContractCheck("undo", answering.undoes, "call the undo of the operation when undo is true"),
    ContractCheck("progress", answering.reports_progress, "send stepward.progress to the queue in replyto"),
    ContractCheck("expired", deadlines.drops_expired, "drop requests past their expirytime"),
    ContractCheck("cut-off", deadlines.cuts_off, "cut the call short at the request's expirytime"),
    ContractCheck("silent", deadlines.stays_silent, "send no reply after the request's expirytime"),
    ContractCheck("duplicate", duplicates.performs_once_at_a_time, "start no second call of an attempt under way"),
    ContractCheck("lost-reply", duplicates.answers_again, "answer a request that comes again"),
    ContractCheck("revoked", duplicates.stops_when_revoked, "stop the call, then reply gave_up with maybedone"),
    ContractCheck("revoked-before", duplicates.does_not_begin_revoked, "remember revocations, and reply gave_up"),
    ContractCheck("revoked-returned", duplicates.leaves_returned_revoked, "drop it: it was delivered before"),
    ContractCheck("other-store", bad_input.drops_other_stores, "compare store with the identity of your store"),
    ContractCheck("concurrency", load.bounds_concurrency, "work on as many requests at once as you announce"),
    ContractCheck("prefetch", load.takes_what_it_has_room_for, "take no request for which there is no room"),
    ContractCheck("lease", load.keeps_leases, "send in-progress acknowledgements each third of the lease"),
    ContractCheck("mixed-batch", bad_input.answers_beside_bad, "drop unreadable events one by one"),
    ContractCheck("redelivery", endings.returns_after_a_crash, "acknowledge a request after its reply is confirmed"),
    ContractCheck("drains", endings.finishes_its_work, "finish what you work on after SIGTERM, then exit with 0"),
    ContractCheck("takes-no-more", endings.takes_nothing_new, "stop taking requests at SIGTERM"),
    ContractCheck("announces-end", endings.announces_its_end, "announce a capacity of 0 at SIGTERM"),
    ContractCheck("oversized", bad_input.fails_oversized, "reply failed when the result exceeds the broker's limit"),
    ContractCheck("bad-body", bad_input.survives_bad_bodies, "acknowledge what cannot be read, and go on"),
)
