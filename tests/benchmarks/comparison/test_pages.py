"""Tables and plots on the pages are those of the file of results, and name all that the catalogue has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.catalogue import STORES
from benchmarks.comparison import pages, tables
from benchmarks.comparison.products import LEFT_OUT, PEERS_PYTHON, PRODUCTS
from benchmarks.comparison.results import RESULTS, Results, digest, read
from benchmarks.comparison.sweeps import SWEEPS
from benchmarks.peers.contract import works_of
from tests.benchmarks.comparison.test_contract import Pretended

ROOT = Path(__file__).parents[3]
PERFORMANCE = (ROOT / "docs/performance.md").read_text("utf-8")
PLOTS = sorted((ROOT / "docs/images/benchmarks").glob("*.svg"))
RENEW = "run make bench-pages"


@pytest.fixture
def results() -> Results:
    found = Results(date="2030-01-02", seconds=120.0)
    found.machine = {
        "processor": "a processor",
        "cores": 2,
        "memory_gib": 23.4,
        "system": "Linux 6",
        "python": "3.11.7",
        "load_before": 0.1,
        "commit": "0123abcd",
        "fsync_ms": 0.1234,
    }
    for key in ("ours", "theirs", "absent"):
        found.products[key] = {
            "title": key.title(),
            "beside": "ours",
            "versions": "1.0",
            "durability": "a synced commit",
            "remark": "none",
        }
    for ours, theirs in ((10_000.0, 100.0), (12_000.0, 150.0), (11_000.0, 100.0)):
        found.add("ours", {"steps_per_s": ours, "client_cpu_us": 40.4, "server_cpu_us": 0.0})
        found.add("theirs", {"steps_per_s": theirs})
    found.missing = {"absent, round 1": "server: expected it to listen", "theirs, recovery": "hold: none"}
    return found


@pytest.mark.parametrize("page", pages.PAGES)
def test_a_page_shows_the_last_run(page: Path) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert pages.renewed(text, read(ROOT / RESULTS)) == text, RENEW


def test_every_table_is_on_a_page() -> None:
    texts = [(ROOT / page).read_text("utf-8") for page in pages.PAGES]
    shown = {block[2] for text in texts for block in pages.BLOCK.finditer(text)}
    assert shown == pages.BLOCKS.keys()


def test_plots_are_of_the_last_run_and_each_is_shown_in_both_editions() -> None:
    assert PLOTS, RENEW
    for plot in PLOTS:
        assert f"results {digest(ROOT / RESULTS)}" in plot.read_text("utf-8"), RENEW
        assert f"images/benchmarks/{plot.name}" in PERFORMANCE, plot.name


def test_the_last_run_is_of_the_catalogues_products_as_it_describes_them() -> None:
    shown = read(ROOT / RESULTS).products
    assert list(shown) == [product.key for product in PRODUCTS], "run make bench PEERS=all"
    for product in PRODUCTS:
        said = {"title": product.title, "durability": product.durability, "remark": product.remark}
        assert {name: shown[product.key][name] for name in said} == said, "run make bench PEERS=all"


def test_the_page_says_why_a_product_was_left_out() -> None:
    assert [reason for reason in LEFT_OUT.values() if reason not in " ".join(PERFORMANCE.split())] == []


def test_the_readme_of_the_benchmarks_lists_the_measures_the_sweeps_and_the_orders() -> None:
    readme = (ROOT / "benchmarks/README.md").read_text("utf-8")
    measures = readme.partition("| measure | says |\n| --- | --- |\n")[2].partition("\n\n")[0]
    listed = {line.split(" | ")[0].removeprefix("| ") for line in measures.splitlines()}
    assert listed == {name for store in STORES.values() for name in store.measures}
    assert [name for name in SWEEPS if f"`{name}`" not in readme] == []
    assert set(re.findall(r"^\| `\{\"work\": \"(\w+)\"", readme, re.MULTILINE)) == works_of(Pretended()).keys()


def test_every_sweep_has_a_title() -> None:
    assert {name.partition("-")[0] for name in SWEEPS} == tables.SWEEP_TITLES.keys()


def test_every_program_exists_and_its_packages_are_pinned() -> None:
    pinned = (ROOT / "requirements/peers.txt").read_text("utf-8")
    peers = [product for product in PRODUCTS if product.python == PEERS_PYTHON]
    assert all((ROOT / f"benchmarks/peers/{product.program}.py").exists() for product in PRODUCTS)
    assert [name for product in peers for name in product.packages if f"{name}==" not in pinned] == []


def test_no_peer_is_in_the_environment_of_the_tests_but_celery() -> None:
    """Celery is: its tasks are a bridge of the product's."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    named = {str(each).partition(">")[0] for each in groups["dev"]}
    packages = {name for product in PRODUCTS if product.python == PEERS_PYTHON for name in product.packages}
    assert named & packages == {"celery"}


def test_a_table_has_medians_with_their_spread_and_ratios(results: Results) -> None:
    lines = tables.comparison_table(results).splitlines()
    assert lines[2].startswith("| Ours | 11,000 (10,000–12,000) | – | – | – | – | 40.4 |")
    assert lines[3].startswith("| Theirs | 100 (100–150) | 100 (80–110) | – |")


def test_a_product_without_figures_is_a_row_that_says_why(results: Results) -> None:
    line = tables.comparison_table(results).splitlines()[4]
    assert line.startswith("| Absent | not measured: server: expected it to listen | – |")


def test_a_reason_with_a_bar_does_not_end_its_cell(results: Results) -> None:
    results.missing["absent, round 1"] = "a | b"
    assert "not measured: a \\| b |" in tables.comparison_table(results)


def test_all_rows_have_as_many_cells_as_the_header(results: Results) -> None:
    for table in (tables.comparison_table, tables.short_table, tables.products_table):
        widths = {line.count("|") for line in table(results).splitlines() if line.startswith("|")}
        assert len(widths) == 1, table


def test_conditions_name_the_date_the_note_and_what_is_missing(results: Results) -> None:
    results.note = "busy machine"
    said = tables.conditions(results)
    assert "One run of 2030-01-02 on a busy machine, 2 minutes: a processor, 2 cores, 23 GiB" in said
    assert "Measured on 2030-01-02 on a busy machine, with 2 cores." in tables.short_table(results)
    assert "a synced write of a page takes 0.12 ms" in said
    assert "* Absent, round 1: server: expected it to listen" in said
    assert "* Theirs, recovery: hold: none" in said


def test_sweeps_show_sizes_in_order(results: Results) -> None:
    results.sweeps = {"stored-sqlite": {"1000": {"cpu_us_per_step": 40.0}, "1000000": {"cpu_us_per_step": 44.0}}}
    assert "| SQLite | 1,000: 40 · 1,000,000: 44 |" in tables.sweeps_table(results)


def test_a_block_is_replaced_between_its_marks(results: Results) -> None:
    text = "before\n<!-- bench: comparison -->\nold\n<!-- bench: end -->\nafter\n"
    renewed = pages.renewed(text, results)
    assert renewed.startswith("before\n<!-- bench: comparison -->\n\n|  | steps/s")
    assert renewed.endswith("|\n\n<!-- bench: end -->\nafter\n")
    assert pages.renewed(renewed, results) == renewed


def test_an_unknown_block_is_refused(results: Results) -> None:
    with pytest.raises(KeyError, match="speed"):
        pages.renewed("<!-- bench: speed -->\n<!-- bench: end -->", results)
