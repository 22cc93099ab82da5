"""The target of a command: an application (``module:attribute``, ``path.py:attribute``) or a store's URL."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from stepward.app import App
from stepward.error_messages import message_of
from stepward.errors import Refused, StepwardError
from stepward.settings import Settings
from stepward.store.partitions.single_or_partitioned import identify_any

FORMS = "module:attribute or path.py:attribute"


def app_or_store(target: str) -> App:
    """The application, or one without declarations on the store of that URL, under the name in the store."""
    if "://" not in target:
        return load_app(target)
    stores = Settings(store=target).stores
    return App(identify_any(stores).app, store=stores)


def load_app(target: str) -> App:
    """Import the application. Raises Refused in one line that says what is wrong with it."""
    if "@" in target:  # A mistyped store address, which may hold a password.
        raise Refused(
            f"APP: expected {FORMS}, or a store's address such as postgresql://USER@HOST/DATABASE, found neither; "
            "correct it"
        )
    place, _, attribute = target.rpartition(":")
    if not place or not attribute:
        raise Refused(f"APP: expected {FORMS}, found {target!r}; write for example shop:app")
    module = _import(place)
    found: Any = module
    for name in attribute.split("."):
        found = getattr(found, name, None)
    if not isinstance(found, App):
        raise Refused(f"APP {target}: expected an App, found {_sort(found, attribute)}; {_apps(module, place)}")
    return found


def _import(place: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{place}.".startswith(f"{error.name}."):
            raise Refused(
                f"APP: expected the module {place} in {folder} or installed, found none; look at its name"
            ) from None
        raise _broken(place, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(place, error) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Refused(f"APP: expected the file {path}, found none; look at its name")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(1, folder)
    name = path.stem if path.stem not in sys.modules else f"stepward_app_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Refused(f"APP: expected a Python file, found {path}; look at its name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _broken(place: str, error: BaseException) -> Refused:
    if isinstance(error, Refused) and str(error).startswith("APP"):
        return error
    what = str(error) if isinstance(error, StepwardError) else f"{type(error).__name__}: {message_of(error)}"
    return Refused(f"APP {place}: expected to import it, found {what}{_where(error.__traceback__, place)}")


def _where(traceback: TracebackType | None, place: str) -> str:
    """The application's own innermost line of the traceback."""
    wanted = place.removesuffix(".py").replace("/", ".").rpartition(".")[2]
    where = ""
    while traceback is not None:
        path = Path(traceback.tb_frame.f_code.co_filename)
        if wanted in (path.stem, path.parent.name):
            where = f" ({path.name}, line {traceback.tb_lineno})"
        traceback = traceback.tb_next
    return where


def _sort(found: object, attribute: str) -> str:
    return f"no {attribute}" if found is None else f"{attribute} to be of type {type(found).__name__}"


def _apps(module: ModuleType, place: str) -> str:
    known = [f"{place}:{name}" for name, value in vars(module).items() if isinstance(value, App)]
    return f"did you mean {' or '.join(known)}?" if known else f"declare one in {place}"
