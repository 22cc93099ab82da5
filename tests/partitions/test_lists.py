"""A list of stores that cannot be is refused in one line, and what the stores say decides."""

from __future__ import annotations

import pytest

from stepward.errors import SettingsError
from stepward.settings import Settings
from stepward.store.partitions.list_rules import OpenedStore, check_alone, check_list, check_new, new_record

A = OpenedStore("a.db", "id-a", new_record(1, 2, "id-a"))
B = OpenedStore("b.db", "id-b", new_record(2, 2, "id-a"))
OTHER = OpenedStore("c.db", "id-c", new_record(2, 2, "id-x"))
NEW = OpenedStore("new.db", "id-new", None)
NEWER = OpenedStore("m.db", "id-m", None)
UNFINISHED = OpenedStore("a.db", "id-a", None)
"""The first store of an application whose beginning was cut off before that store had its record."""


@pytest.mark.parametrize("found", [[A, B], [A, None], [None, B], [UNFINISHED, B], [NEW, NEWER]])
def test_partitions_in_order_are_accepted_also_while_one_cannot_be_reached(found: list[OpenedStore | None]) -> None:
    check_list(found)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([B, A], "expected the partitions in the order p1, p2, found p2 (b.db) in place 1"),
        ([None, A], "expected the partitions in the order p1, p2, found p1 (a.db) in place 2"),
        ([A, A], "expected each store once, found a.db twice"),
        ([A, B, NEW], "expected all 2 partitions in the list, found 3 stores; name p1, p2"),
        ([A], "expected all 2 partitions in the list, found 1 store; name p1, p2"),
        ([A, OTHER], "expected the partitions of one application, found c.db"),
        ([A, NEW], "expected p2 of the application in place 2, found new.db, a new store"),
        ([NEW, B], "expected p1 of the application in place 1, found new.db, a new store"),
    ],
)
def test_another_list_is_refused(found: list[OpenedStore | None], says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_list(found)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_store_with_tasks_does_not_become_a_partition() -> None:
    with pytest.raises(SettingsError, match="found tasks in"):
        check_new(OpenedStore("a.db", "id", None, has_tasks=True))


def test_a_partition_alone_is_refused() -> None:
    with pytest.raises(SettingsError, match="expected all 2 partitions of the application in one list, found p2 alone"):
        check_alone(B.record)
    check_alone(None)


def test_the_setting_takes_a_list_and_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = ("sqlite:///a.db", "postgresql://h1:5432,h2:5432/shop")
    for given in (addresses, list(addresses), " ".join(addresses), ",\n".join(addresses)):
        settings = Settings(store=given)  # type: ignore[arg-type]
        assert settings.stores == addresses
        assert settings.store == addresses[0]
        assert settings.replaced({"poll": 2}).stores == addresses
    assert Settings(store="sqlite:///my folder, old/a.db").stores == ("sqlite:///my folder, old/a.db",)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["sqlite:///a.db", "sqlite:///a.db"], "found the address in place 1 again in place 2"),
        ([], "expected 1 to 16 stores, found 0"),
        (["sqlite:///a.db", "mysql://b"], "found mysql://"),
        ([f"sqlite:///{number}.db" for number in range(17)], "expected 1 to 16 stores, found 17"),
    ],
)
def test_a_setting_that_is_no_list_of_stores_is_refused(given: list[str], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        Settings(store=given)  # type: ignore[arg-type]
