"""Which experiments there are: modules with an ``EXPERIMENT``, and larger studies."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from mhsa_book.experiments.design import Experiment


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


def studies() -> list[str]:
    """Packages that train and measure in a way of their own; each has ``listed()``.

    >>> studies()
    ['pruning', 'translation']
    """
    folder = Path(__file__).parent
    return sorted(module.name for module in iter_modules([str(folder)]) if module.ispkg)


def listed(study: str) -> str:
    """A study as ``--list`` shows it."""
    return _module(study).listed()


def source(name: str) -> Path:
    """The file of an experiment, which holds its predictions."""
    return Path(__file__).with_name(f"{find(name).name}.py")


def _module(name: str) -> Any:
    return import_module(f"{__package__}.{name}")
