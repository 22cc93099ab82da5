"""The charts of the start page: what is drawn for which figures."""

from __future__ import annotations

import re

import httpx

from stepward import Client
from stepward.client import session_of
from stepward.console.flow_chart import flow_chart
from stepward.console.state_chart import RANGES, range_of, range_since, state_chart
from stepward.model.agents import Report
from stepward.model.records import Instance, Role
from stepward.store.contract import MOST_IN_FLOW, MOST_SAMPLED, FlowCount, StateSample
from tests.until import until

HOUR = RANGES[0]


def test_the_edge_of_a_chart_is_a_round_number() -> None:
    found = [flow_chart([FlowCount(0, "submitted", count)], 0.0).top for count in (1, 4, 6, 41, 999)]
    assert found == [4, 4, 8, 50, 1000]


def test_a_flow_that_the_store_has_cut_says_from_when_it_is_whole() -> None:
    assert flow_chart([FlowCount(3, "processed", 7)], 0.0).covered_from is None
    cut = [FlowCount(40, "undone", 1), FlowCount(41, "processed", MOST_IN_FLOW - 1), FlowCount(2, "submitted", 9)]
    assert flow_chart(cut, 600.0).covered_from == 600.0 + 41 * 60.0


def test_attempts_that_the_supervisor_decided_on_stand_at_their_minute() -> None:
    chart = flow_chart([FlowCount(5, "decided", 2), FlowCount(9, "decided", 1)], 0.0)
    assert [(number, bar.decided) for number, bar in enumerate(chart.bars) if bar.decided] == [(5, 2), (9, 1)]
    assert (chart.decided, chart.is_empty) == (3, True)


def test_a_minute_without_a_sample_is_a_gap_and_not_a_zero() -> None:
    since = range_since(HOUR, 7200.0)
    samples = [StateSample(since + 60.0, {"error": 1, "pending": 3}), StateSample(since + 180.0, {})]
    chart = state_chart(samples, HOUR, since)
    assert [bool(bar.title) for bar in chart.bars[:5]] == [False, True, False, True, False]
    assert [(piece.kind, piece.height) for piece in chart.bars[1].pieces] == [("error", 25.0), ("pending", 75.0)]
    assert chart.bars[3].title.endswith("no live task")
    assert (chart.top, chart.kinds, chart.is_empty, chart.is_bounded) == (4, ["error", "pending"], False, False)


def test_a_count_at_its_bound_is_marked() -> None:
    assert state_chart([StateSample(0.0, {"pending": MOST_SAMPLED})], HOUR, 0.0).is_bounded
    assert state_chart([], HOUR, 0.0).is_empty


def test_an_unknown_range_is_the_shortest() -> None:
    assert [range_of(word).word for word in ("1h", "7d", "1y", None)] == ["1h", "7d", "1h", "1h"]
    assert all(range_since(each, 1e9) <= 1e9 - each.seconds * (each.bars - 1) for each in RANGES)


async def test_the_start_page_shows_states_over_time_in_the_asked_range(
    local: httpx.AsyncClient, client: Client
) -> None:
    store = session_of(client).store
    await client.submit("approval", id="waits")
    await until(lambda: store.operators.state_samples(0.0, 1.0))
    page = (await local.get("/", params={"range": "7d"})).text
    assert '<a class="chip" href="/?range=7d" aria-current="true">7d</a>' in page
    assert "The leading Supervisor records it once a minute" not in page
    assert re.search(r"<title>[^<]* UTC: (1 \w+|no live task)</title>", page)


async def test_the_oldest_wait_of_an_agent_is_shown_where_its_room_is(local: httpx.AsyncClient, client: Client) -> None:
    store = session_of(client).store
    await store.host.register(Instance(id="s-1", role=Role.SCHEDULER, host="h", pid=1, serves=[]), 3600)
    reports = {"s-1": Report(demand={"parcel": 9}, waits={"parcel": store.now() - 125.0})}
    await store.host.renew(["s-1"], 3600, reports)
    for path in ("/", "/agents"):
        assert ">2m</time>" in (await local.get(path)).text, path
    (agent,) = [each for each in (await local.get("/api/v1/agents")).json() if each["name"] == "parcel"]
    assert agent["waiting_since"] is not None
