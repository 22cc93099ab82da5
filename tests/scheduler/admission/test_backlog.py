"""The backlog of an Agent beside a simple one that looks at everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepward.scheduler.admission.windows import Backlog, BacklogKey, Key

KEYS = [None, "a", "b", "c"]
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 40), st.sampled_from([0, 5, 9]), st.sampled_from(KEYS)),
        st.tuples(st.just("pop"), st.just(0), st.just(0), st.just(None)),
        st.tuples(st.just("discard"), st.integers(0, 40), st.just(0), st.just(None)),
    ),
    max_size=120,
)


def place(number: int) -> BacklogKey:
    return (f"t{number}", 1, "x/1")


class Plain:
    """The same by a plain model: steps in order of arrival, and keys in the order of their next turn."""

    def __init__(self) -> None:
        self.waiting: dict[BacklogKey, tuple[int, Key]] = {}
        self.turns: dict[int, list[Key]] = {}

    def push(self, where: BacklogKey, priority: int, key: Key) -> None:
        if where in self.waiting:
            return
        self.waiting[where] = priority, key
        turns = self.turns.setdefault(priority, [])
        if key not in turns:
            turns.append(key)

    def pop(self) -> BacklogKey:
        priority = max(priority for priority, _ in self.waiting.values())
        key = self.turns[priority].pop(0)
        self.turns[priority].append(key)
        found = next(where for where, line in self.waiting.items() if line == (priority, key))
        self.discard(found)
        return found

    def discard(self, where: BacklogKey) -> None:
        line = self.waiting.pop(where, None)
        if line is not None and line not in self.waiting.values():
            self.turns[line[0]].remove(line[1])


@given(ACTS)
def test_whatever_comes_and_goes_the_next_is_the_same(acts: list[tuple[str, int, int, Key]]) -> None:
    backlog, plain = Backlog(), Plain()
    for act, number, priority, key in acts:
        if act == "push":
            backlog.push(place(number), priority, key, 0.0)
            plain.push(place(number), priority, key)
        elif act == "discard":
            backlog.discard(place(number))
            plain.discard(place(number))
        elif plain.waiting:
            expected = plain.pop()
            assert (backlog.first(), backlog.pop()) == (expected, expected)
        check(backlog, plain)
    while plain.waiting:
        assert backlog.pop() == plain.pop()
    assert not backlog


def check(backlog: Backlog, plain: Plain) -> None:
    priorities = [priority for priority, _ in plain.waiting.values()]
    assert len(backlog) == len(plain.waiting)
    assert (backlog.highest, backlog.lowest) == (max(priorities, default=None), min(priorities, default=None))
    for priority in (0, 5, 9):
        lines = {key: [where for where, line in plain.waiting.items() if line == (priority, key)] for key in KEYS}
        assert backlog.crowd(priority) == {key: len(line) for key, line in lines.items() if line}
        for key, line in lines.items():
            assert list(backlog.last_come(priority, key)) == line[::-1]


def test_keys_take_turns_and_a_new_one_waits_for_one_round() -> None:
    backlog = Backlog()
    for number in range(6):
        backlog.push(place(number), 5, "big", 0.0)
    backlog.push(place(6), 5, "small", 0.0)
    assert backlog.pop() == place(0)
    backlog.push(place(7), 5, "new", 0.0)
    assert [backlog.pop() for _ in range(4)] == [place(6), place(1), place(7), place(2)]
