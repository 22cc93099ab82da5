"""Agents and their operations, as applications declare them; nothing here runs anything."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from stepward.durations import Duration, seconds
from stepward.errors import DeclarationError
from stepward.model.action import Action, current_caller
from stepward.model.limits.rate import RateLimit
from stepward.model.states import StepKind
from stepward.payload import Signature
from stepward.policies import CircuitBreaker, Retry

NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
MOST_CONCURRENCY = 100_000

P = ParamSpec("P")
R = TypeVar("R")
U = TypeVar("U")


class Agent:
    """The wrapper of one remote service: its operations, and how it is treated when it misbehaves.

    ``retry`` holds within one attempt of a step; ``concurrency`` bounds the calls of each instance, and
    ``max_in_flight`` those of all instances together; so does ``rate``, which is ``(50, "1s")`` or ``"50/s"``. All live
    instances share one ``breaker``.
    """

    def __init__(
        self,
        name: str,
        *,
        retry: Retry = Retry(),
        breaker: CircuitBreaker = CircuitBreaker(),
        concurrency: int = 64,
        rate: tuple[int, Duration] | str | None = None,
        max_in_flight: int | None = None,
    ) -> None:
        _check_name("Agent", name)
        if not isinstance(concurrency, int) or not 1 <= concurrency <= MOST_CONCURRENCY:
            raise DeclarationError(
                f"Agent {name!r}: expected concurrency from 1 to {MOST_CONCURRENCY:,}, found {concurrency!r}"
            )
        _check_most(name, max_in_flight)
        _check_policy(name, "retry", retry, Retry)
        _check_policy(name, "breaker", breaker, CircuitBreaker)
        self.name = name
        self.retry = retry
        self.breaker = breaker
        self.concurrency = concurrency
        self.max_in_flight = max_in_flight
        self.rate = RateLimit.parse(rate, f"rate of Agent {name!r}") if rate is not None else None
        self._operations: dict[str, Operation[Any, Any]] = {}

    @property
    def operations(self) -> Mapping[str, Operation[Any, Any]]:
        """The operations by their full names: ``payments.charge``."""
        return MappingProxyType(self._operations)

    @overload
    def operation(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> Operation[P, R]: ...
    @overload
    def operation(self, fn: Callable[P, R], /) -> Operation[P, R]: ...
    @overload
    def operation(
        self, /, *, complete_by: Duration = "30s", name: str | None = None, irreversible: bool = False
    ) -> Declare: ...
    def operation(
        self,
        fn: Callable[..., Any] | None = None,
        /,
        *,
        complete_by: Duration = "30s",
        name: str | None = None,
        irreversible: bool = False,
    ) -> Any:
        """Declare an ``async def`` as an operation, or a ``def``, which then runs in a thread.

        Each attempt has ``complete_by`` to end in; past an ``irreversible`` one a task only goes forward.
        """

        def declare(fn: Callable[..., Any]) -> Operation[Any, Any]:
            operation: Operation[Any, Any] = Operation(
                fn, agent=self.name, name=name, complete_by=complete_by, irreversible=irreversible
            )
            if operation.name in self._operations:
                raise DeclarationError(
                    f"operation {operation.name}: expected one declaration, found two; give one another name="
                )
            self._operations[operation.name] = operation
            return operation

        return declare if fn is None else declare(fn)

    async def close(self) -> None:
        """Let go of what the operations share; called once no call is left, and given three seconds."""

    def __repr__(self) -> str:
        return f"<Agent {self.name}: {', '.join(self._operations) or 'no operations'}>"


class Declare(Protocol):
    """The decorator that ``Agent.operation`` gives."""

    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> Operation[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Operation[P, R]: ...


class Operation(Action[P, R]):
    """A call that an Agent offers; a step of kind ``operation`` when a workflow calls it."""

    def __init__(
        self,
        fn: Callable[P, Any],
        *,
        agent: str,
        name: str | None,
        complete_by: Duration,
        irreversible: bool,
    ) -> None:
        what = f"operation of Agent {agent!r}"
        _check_function(what, fn)
        short = name if name is not None else getattr(fn, "__name__", "")
        _check_name(what, short)
        full = f"{agent}.{short}"
        super().__init__(
            fn,
            name=full,
            kind=StepKind.OPERATION,
            agent=agent,
            complete_seconds=seconds(complete_by, f"complete_by of {full}"),
            irreversible=irreversible,
        )
        self.undo_signature: Signature | None = None

    @overload
    def undo(self, fn: Callable[Concatenate[R | None, P], U], /) -> Undo[R, P, U]: ...
    @overload
    def undo(self, /) -> Callable[[Callable[Concatenate[R | None, P], U]], Undo[R, P, U]]: ...
    def undo(self, fn: Callable[Concatenate[R | None, P], U] | None = None, /) -> Any:
        """Declare what takes this operation back, as ``@charge.undo`` or ``@charge.undo()``.

        It gets the result, None where that is unknown, and then the arguments.
        """
        return self._undone_by if fn is None else self._undone_by(fn)

    def _undone_by(self, fn: Callable[Concatenate[R | None, P], U]) -> Undo[R, P, U]:
        if self.undo_fn is not None:
            raise DeclarationError(f"undo of {self.name}: expected one declaration, found two; keep one")
        _check_function(f"undo of {self.name}", fn)
        _check_arity(self, fn)
        self.undo_signature = Signature(fn, f"undo of {self.name}")
        self.undo_fn = fn
        return Undo(self.name, fn)


class Undo(Generic[R, P, U]):
    """A declared undo; calling it calls the function, for tests. Workflows never call one."""

    def __init__(self, operation: str, fn: Callable[Concatenate[R | None, P], U]) -> None:
        self.operation = operation
        self.fn = fn
        self.__doc__ = fn.__doc__

    def __call__(self, result: R | None, /, *args: P.args, **kwargs: P.kwargs) -> U:
        """Call the function itself; raises DeclarationError inside a workflow."""
        if current_caller() is not None:
            raise DeclarationError(
                f"undo of {self.operation}: expected Stepward to call it, found a workflow calling it; "
                "let the task be undone, or declare an operation of its own"
            )
        return self.fn(result, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<undo of {self.operation}>"


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DeclarationError(f"{what}: expected a name of 1-100 of A-Z a-z 0-9 _ -, found {name!r}; choose another")


def _check_most(name: str, max_in_flight: object) -> None:
    if max_in_flight is None:
        return
    if not isinstance(max_in_flight, int) or not 1 <= max_in_flight <= MOST_CONCURRENCY:
        raise DeclarationError(
            f"Agent {name!r}: expected max_in_flight from 1 to {MOST_CONCURRENCY:,}, found {max_in_flight!r}"
        )


def _check_policy(name: str, what: str, policy: object, expected: type[Retry | CircuitBreaker]) -> None:
    if not isinstance(policy, expected):
        kind, found = expected.__name__, repr(policy)[:60]
        raise DeclarationError(f"Agent {name!r}: expected {what} to be a {kind}, found {found}; pass {kind}(…)")


def _check_function(what: str, fn: object) -> None:
    if not callable(fn):
        raise DeclarationError(f"{what}: expected a function, found {fn!r}; decorate a def or an async def")
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise DeclarationError(f"{what}: expected a function that returns, found a generator; return a list")


def _check_arity(operation: Operation[Any, Any], fn: Callable[..., Any]) -> None:
    expected = len(inspect.signature(operation.fn).parameters) + 1
    found = len(inspect.signature(fn).parameters)
    if found != expected:
        raise DeclarationError(
            f"undo of {operation.name}: expected {expected} parameters (the result or None, then those of "
            f"{operation.signature.text()}), found {found}; take all of them"
        )
