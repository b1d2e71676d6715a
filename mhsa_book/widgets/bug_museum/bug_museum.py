"""Pick an exhibit: the line that is wrong, its maps beside the right ones, and its training."""

from typing import Any

import torch
from traitlets import Dict, Enum, Int, List, Unicode

from mhsa_book import museum, plots
from mhsa_book.museum import measured
from mhsa_book.museum.catalogue import Exhibit
from mhsa_book.museum.study import EVERY, SHOWN_HEADS, TEXT
from mhsa_book.widgets.figure import Figure

ANY = "any"
LETTERS = {1: "every 3", 2: "every 5", **{i: "abcdefgh"[i - 3] for i in range(3, 11)}}
NAMES = [each.name for each in museum.exhibits()]


class BugMuseum(Figure):
    """The exhibits of ``mhsa_book.museum``, one at a time.

    Traits that the reader changes too: ``name`` (an exhibit), ``symptom`` and ``stage`` (which
    exhibits are offered, "any" for all) and ``head`` (of the maps).

    Raises ``TraitError`` for a name, a symptom or a stage that there is not.

    >>> BugMuseum("no_scale").name
    'no_scale'
    """

    name = Enum(NAMES, "split_by_view_alone").tag(sync=True)
    symptom = Enum([ANY, *museum.SYMPTOMS], ANY).tag(sync=True)
    stage = Enum([ANY, *museum.STAGES], ANY).tag(sync=True)
    head = Int(0, min=0, max=SHOWN_HEADS - 1).tag(sync=True)
    exhibits: "List[Any]" = List().tag(sync=True)
    rights: "List[Any]" = List().tag(sync=True)
    symptoms: "Dict[str, str]" = Dict().tag(sync=True)
    tokens = List(Unicode()).tag(sync=True)
    every = Int(EVERY).tag(sync=True)

    def __init__(self, name: str = "split_by_view_alone", **state: Any) -> None:
        all_rights = measured.rights()
        super().__init__(
            name=name,
            exhibits=[_record(each, all_rights) for each in museum.exhibits()],
            rights=[
                {"map": right.map, "losses": _hundredths(right.trainings)}
                for right in all_rights
            ],
            symptoms=dict(museum.SYMPTOMS),
            tokens=[LETTERS[token] for token in TEXT],
            **state,
        )

    @property
    def exhibit(self) -> Exhibit:
        """The exhibit now shown."""
        return museum.exhibit(self.name)

    @property
    def alt(self) -> str:
        found = measured.effect(self.exhibit)
        last = [f"{each.losses[-1]:.2f}" for each in found.wrong if each.losses]
        return (
            f"{self.name}: {self.exhibit.title} Losses of three trainings, of the right "
            f"attention and with the mistake, which end at {', '.join(last) or 'no number'}."
        )

    def still(self) -> None:
        found = measured.effect(self.exhibit)
        steps = [EVERY * (i + 1) for i in range(len(found.right[0].losses))]
        lines = {f"right, seed {i}": one.losses for i, one in enumerate(found.right)}
        lines |= {f"wrong, seed {i}": w.losses for i, w in enumerate(found.wrong) if w.losses}
        plots.curves(steps, lines, "steps", "loss, nats")


def _record(each: Exhibit, all_rights: tuple[measured.Right, ...]) -> dict[str, Any]:
    """What the page needs to know of an exhibit."""
    found = measured.effect(each)
    shares = {
        share: [found.mean(share), found.mean_right(share)]
        for share in ("read", "written", "borrowed")
    }
    return {
        "name": each.name,
        "title": each.title,
        "stage": each.stage,
        "symptom": each.symptom,
        "diff": each.diff.splitlines(),
        "check": str(each.check.__doc__).splitlines()[0],
        "error": found.error,
        "shares": shares,
        "losses": _hundredths(found.wrong),
        "map": measured.map_of(each),
        "right": [right.setting == each.setting for right in all_rights].index(True),
        "found": [wild._asdict() for wild in each.found],
    }


def _hundredths(trainings: tuple[measured.Learned, ...]) -> list[list[int | None]]:
    """Losses as whole hundredths, which travel lightly; None for NaN."""
    rows = [torch.tensor(each.losses) for each in trainings]
    return [
        [None if loss != loss else round(100 * loss) for loss in row.tolist()] for row in rows
    ]
