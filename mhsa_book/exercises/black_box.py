"""An experiment to design: it asks an attention that it cannot look into."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from mhsa_book import museum
from mhsa_book.exercises.compare import shown
from mhsa_book.exercises.kinds import Exercise
from mhsa_book.exercises.verdict import Verdict, right, unfilled, wrong
from mhsa_book.museum.parts import RIGHT, Parts, Setting, run
from mhsa_book.museum.problems import D_MODEL, drawn, inputs

Attention = Callable[[Tensor], Tensor]
"""Rows (batch, seq, 24) in, rows of the same shape out; weights and code are out of sight."""

NOT_ASKED = {
    "attends_across_the_batch": "takes only some shapes",
    "mask_meets_the_batch": "takes only some shapes",
    "view_after_transpose": "raises an error",
    "minus_a_billion_in_half": "is wrong in half precision alone",
    "dropout_in_evaluation": "is different in every run",
    "scaled_after_the_softmax": "sees how long a text is, and nothing else behind a token",
}
"""Exhibits that are no suspects, and why."""

STAGES = ("project", "split", "attend", "mask", "concat", "W_O")
"""Where the exhibits stand that a pass without a cache and without padding goes through."""


@dataclass(frozen=True)
class Experiment:
    """An experiment, tried on every suspect: does it accuse the guilty, and them alone?

    Parameters
    ----------
    guilty : what is true of a suspect, found by a thorough experiment
    crime : what the guilty do, as in "see the future"
    """

    guilty: Callable[[Attention], bool]
    crime: str

    def judge(self, name: str, answer: Any) -> Verdict:
        """Ask the experiment about every suspect; name the first that it gets wrong."""
        if not callable(answer):
            return wrong(f"{shown(answer)} is no function; define {name}(attention).")
        found, missed, blamed = 0, list[str](), list[str]()
        everybody = list(suspects())
        for who, attention in everybody:
            try:
                said = answer(attention)
                accused = bool(said)
            except Exception as error:  # whatever a reader's code raises is their answer
                return wrong(f"With {who} it raises {type(error).__name__}: {error}")
            if said is ... or said is None:
                return unfilled(name)
            guilty = self.guilty(attention)
            found += guilty
            if accused != guilty:
                (missed if guilty else blamed).append(who)
        if not missed + blamed:
            return right(f"Of {len(everybody)} attentions {found} {self.crime}: all found.")
        faults = []
        if blamed:
            faults.append(f"It also says True of {_names(blamed)}.")
        if missed:
            faults.append(f"It misses {_names(missed)}.")
        return wrong("\n".join(faults))


def suspects() -> Iterator[tuple[str, Attention]]:
    """Right attentions of several heads, and every exhibit that can be asked, by name."""
    for n_heads, n_kv_heads in ((2, 2), (4, 4), (4, 2)):
        setting = Setting(n_heads, n_kv_heads)
        name = f"the right attention with {n_heads} heads and {n_kv_heads} for keys"
        yield name, black_box(RIGHT, setting)
    for each in museum.exhibits():
        if each.stage in STAGES and each.name not in NOT_ASKED:
            yield each.name, black_box(each.all_parts, replace(each.setting, causal=True))


def black_box(parts: Parts, setting: Setting) -> Attention:
    """An attention of which only rows can be asked; ``ValueError`` for rows of another shape.

    >>> from mhsa_book.museum.parts import RIGHT, Setting
    >>> black_box(RIGHT, Setting())(drawn(2, 5, 24)).shape
    torch.Size([2, 5, 24])
    """

    def attention(x: Tensor) -> Tensor:
        if x.ndim != 3 or x.shape[-1] != D_MODEL:
            raise ValueError(
                f"x has the shape {tuple(x.shape)}; it has to be (batch, seq, {D_MODEL})."
            )
        batch, seq, _ = x.shape
        given = inputs(setting, batch, seq, lengths=False)
        return run(parts, setting, given._replace(x=x)).output

    return attention


def an_earlier_row_changes(attention: Attention) -> bool:
    """Change every token in turn, in texts of several lengths, and look at all rows before."""
    for seq in (2, 3, 4, 6):
        before = drawn(3, seq, D_MODEL)
        for place in range(1, seq):
            after = before.clone()
            after[:, place] = drawn(3, D_MODEL, seed=place)
            moved = (attention(after) - attention(before))[:, :place].abs().max()
            if moved > 1e-4:
                return True
    return False


def _names(found: list[str]) -> str:
    """Three at most, an exhibit with its title; then how many more."""
    titles = {each.name: f" ({each.title})" for each in museum.exhibits()}
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(who + titles.get(who, "") for who in found[:3]) + more


EXERCISES: dict[str, Exercise] = {
    "sees_the_future": Experiment(an_earlier_row_changes, "let a row see a later token")
}
