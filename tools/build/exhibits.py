"""Write the page of every exhibit of the bug museum, so that each has a place to lead to.

The page `book/exhibits.md` includes what is written here: by what one would notice, the lines
that differ, what was measured, the check that finds it, and where it happened.
"""

import inspect

from mhsa_book import museum
from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.measured import Effect, effect
from tools.build.symptoms import FOLDER

SHARES = ("read", "written", "borrowed")
"""What was measured of every exhibit."""


def page() -> str:
    """All exhibits, under what one would notice."""
    halls = []
    for symptom, says in museum.SYMPTOMS.items():
        found = museum.exhibits(symptom=symptom)
        halls += [f"## {says.rstrip('.')}\n", *(entry(each) for each in found)]
    return "\n".join(halls)


def entry(exhibit: Exhibit) -> str:
    """One exhibit: its title, the lines, the numbers, the check and the addresses."""
    first = (inspect.getdoc(exhibit.check) or "").splitlines()[0]
    return (
        f"({exhibit.label})=\n"
        f"### {exhibit.title.rstrip('.')}\n\n"
        f"`{exhibit.name}`, stage *{exhibit.stage}*.\n\n"
        f"```diff\n{exhibit.diff}\n```\n\n"
        f"{measured(effect(exhibit))}\n\n"
        f"*Found by* `{exhibit.check.__name__}`: {first}\n\n"
        f"*In the wild:* {' '.join(map(case, exhibit.found))}\n"
    )


def measured(found: Effect) -> str:
    """Shares of right answers, and those of the right attention in the same setting."""
    raises = f"It raises `{found.error}`" if found.error else ""
    if found.mean("read") is None:
        return raises
    read, written, borrowed = map(_percent, map(found.mean, SHARES))
    reads, writes = (_percent(found.mean_right(share)) for share in SHARES[:2])
    writing = f" and {written} writing" if written else ""
    return (
        f"Right answers: {read} reading{writing}, if trained with it; {borrowed} reading with "
        f"the weights of the right one. The right one: {reads} and {writes}. {raises}"
    ).strip()


def case(wild: museum.catalogue.Wild) -> str:
    """Where it happened, and whether it was this mistake or a relative of it."""
    near = "" if wild.exact else " (a near relative)"
    return f"[{wild.project}]({wild.url}){near}: {wild.what}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "exhibits.md").write_text(page(), encoding="utf-8")
    print(f"{len(museum.exhibits())} exhibits")


if __name__ == "__main__":
    main()
