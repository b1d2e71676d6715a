"""Which experiments there are: every module of this package with an ``EXPERIMENT``."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from mhsa_lib.experiments.design import Experiment


def names() -> list[str]:
    """Their names, in order of the alphabet.

    >>> "overlapped" in names()
    True
    """
    modules = (module.name for module in iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in modules if hasattr(_module(name), "EXPERIMENT"))


def find(name: str) -> Experiment:
    """The experiment of that name; ``ValueError`` lists those there are.

    >>> find("no such experiment")
    Traceback (most recent call last):
    ...
    ValueError: no experiment is called 'no such experiment'; there are: ...
    """
    if name not in names():
        raise ValueError(f"no experiment is called {name!r}; there are: {', '.join(names())}.")
    return _module(name).EXPERIMENT


def source(name: str) -> Path:
    """The file of an experiment, which holds its predictions."""
    return Path(__file__).with_name(f"{find(name).name}.py")


def _module(name: str) -> Any:
    return import_module(f"{__package__}.{name}")
