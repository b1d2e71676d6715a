"""What an installed distribution needs, and how another folder borrows it."""

from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def requirements(dist: Distribution) -> list[str]:
    """Return the names that a distribution needs here, extras left out."""
    declared = map(Requirement, dist.requires or [])
    return [r.name for r in declared if r.marker is None or r.marker.evaluate({"extra": ""})]


def closure(dist: Distribution) -> dict[str, Distribution]:
    """Return every distribution that the given one needs, directly or not."""
    found: dict[str, Distribution] = {}
    todo = requirements(dist)
    while todo:
        name = canonicalize_name(todo.pop())
        if name not in found:
            found[name] = distribution(name)
            todo += requirements(found[name])
    return found


def link(dist: Distribution, site: Path) -> None:
    """Make the packages of one installed distribution importable from site."""
    tops = {file.parts[0] for file in dist.files or [] if file.parts[0] != ".."}
    for top in tops - {"__pycache__"}:
        source, target = Path(str(dist.locate_file(top))), site / top
        if source.exists() and not target.exists():
            target.symlink_to(source)
