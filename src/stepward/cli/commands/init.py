"""``init``: a small project with an application, its tests, a Containerfile and continuous integration."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template

import click

import stepward
from stepward.errors import Refused

PLACES = {
    "app.py": "app.py.txt",
    "conftest.py": "conftest.py.txt",
    "test_app.py": "test_app.py.txt",
    "stepward.toml": "stepward.toml.txt",
    "requirements.txt": "requirements.txt.txt",
    "Containerfile": "Containerfile.txt",
    ".github/workflows/test.yml": "test.yml.txt",
    ".gitignore": "gitignore.txt",
    "README.md": "README.md.txt",
}
"""Each file of a project, and its template."""
UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
NAME_LENGTH = 40


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Write a small project into FOLDER: an application, its tests, a Containerfile and continuous integration."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"FOLDER: expected a new or an empty one, found {folder} with content; name another")
    name = UNFIT.sub("-", folder.resolve().name)[:NAME_LENGTH].strip("-") or "app"
    for place, template in PLACES.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = files("stepward.cli").joinpath("project", template).read_text(encoding="utf-8")
        path.write_text(Template(text).substitute(name=name, version=stepward.__version__), encoding="utf-8")
    click.echo(f"{folder}: {len(PLACES)} files written; go on with {folder / 'README.md'}")
