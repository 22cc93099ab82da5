"""The machine and the versions of a run."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import Any

import apsw

from benchmarks.comparison.products import PEERS_PYTHON, Product
from servers.postgres import newest

ASK = "import importlib.metadata as m, sys; print(*(f'{name} {m.version(name)}' for name in sys.argv[1:]), sep=', ')"
SYNCS = 100
PAGE = b"x" * 4096


def machine() -> dict[str, Any]:
    """Cores, memory, interpreter, commit, load before the run, and the milliseconds of a synced write of a page."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": _said(["git", "rev-parse", "--short=8", "HEAD"]),
        "load_before": round(os.getloadavg()[0], 1),
        "fsync_ms": _fsync_ms(),
    }


def described(products: Iterable[Product]) -> dict[str, dict[str, str]]:
    """Each product's title, versions, durability and remark, by its key."""
    return {
        each.key: {
            "title": each.title,
            "beside": each.beside,
            "versions": ", ".join(filter(None, (_packages(each), _store(each)))),
            "durability": each.durability,
            "remark": each.remark,
        }
        for each in products
    }


def _packages(product: Product) -> str:
    if product.python == PEERS_PYTHON:
        return _said([product.python, "-c", ASK, *product.packages])
    try:
        return ", ".join(f"{name} {version(name)}" for name in product.packages)
    except PackageNotFoundError as error:
        return str(error)


def _store(product: Product) -> str:
    if product.key.endswith("-sqlite") and product.python != PEERS_PYTHON:
        return f"SQLite {apsw.sqlite_lib_version()}"
    if product.server.__name__ == "postgresql":
        return f"PostgreSQL {_said([str(newest() / 'postgres'), '--version']).split()[-1]}"
    return ""


def _said(command: list[str]) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "not installed"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _fsync_ms() -> float:
    took = []
    with TemporaryFile() as file:
        for _ in range(SYNCS):
            began = time.perf_counter()
            file.write(PAGE)
            file.flush()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return 1000 * median(took)
