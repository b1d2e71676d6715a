"""Write the page of every exhibit of the bug museum, so that each has a place to lead to.

The page `book/exhibits.md` includes what is written here: by what one would notice, the lines
that differ, what was measured, the check that finds it, and where it happened.
"""

import inspect

from mhsa_lib import museum
from mhsa_lib.museum.catalogue import Exhibit
from mhsa_lib.museum.measured import Effect, effect
from tools.build.symptoms import FOLDER

SHARES = {
    "read": "trained so, it reads",
    "written": "writes",
    "borrowed": "and with the right one's weights reads",
}
"""What was measured, in the words of the page."""


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
    """Shares of right answers, beside those of the right attention in the same setting."""
    raises = f" It raises `{found.error}`" if found.error else ""
    said = [
        f"{words} {100 * share:.0f} % ({100 * (found.mean_right(name) or 0):.0f} %)"
        for name, words in SHARES.items()
        if (share := found.mean(name)) is not None
    ]
    if not said:
        return raises.strip()
    return f"Right answers (the right one's): {', '.join(said)}.{raises}"


def case(wild: museum.catalogue.Wild) -> str:
    """Where it happened, and whether it was this mistake or a relative of it."""
    near = "" if wild.exact else " (a near relative)"
    return f"[{wild.project}]({wild.url}){near}: {wild.what}"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "exhibits.md").write_text(page(), encoding="utf-8")
    print(f"{len(museum.exhibits())} exhibits")


if __name__ == "__main__":
    main()
