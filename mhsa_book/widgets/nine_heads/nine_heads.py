"""What a language model writes next, the arcs of one head, and nine heads to switch off."""

from html import escape
from typing import Any

from traitlets import Bytes, Int, List, TraitError, Unicode, validate

from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.nine_heads.cases import packed, stored
from mhsa_book.widgets.nine_heads.still import drawn
from mhsa_book.widgets.nine_heads.words import (
    ABOUT,
    ASKS,
    JOBS,
    N_HEADS,
    SIDES,
    WALKS,
    attends,
    outcome,
)
from mhsa_book.widgets.rules import Rule, items, whole


class NineHeads(Figure):
    r"""A sentence, the next words of SmolLM2-135M, and nine of its 270 heads to switch off.

    All 512 cases were computed beforehand and are stored beside the figure, so that it needs
    no model. ``off`` are the heads that are switched off, by their place in ``heads``;
    ``head`` is the one whose arcs are drawn; ``word`` is the word that they start from, the
    last unless told otherwise. A head that is off gives its mean over all tokens of the prompts
    in ``over``: ``LanguageModel.without(heads, how="mean", over=nine.over)`` does the same.

    The task is indirect object identification (Wang et al., 2022, arXiv 2211.00593, section
    2); heads that argue against the name that leads are described in McDougall et al., 2023,
    arXiv 2310.04625. Raises ``TraitError`` for a head or a word that does not exist.

    >>> nine = NineHeads()
    >>> nine.description.replace("\xa0", " ")
    'Every head on: Mary 92 %, John 0.2 %.'
    >>> nine.off = [0, 1, 2, 3, 4, 5]
    >>> nine.description.replace("\xa0", " ")
    'Six of 270 heads off: John 47 %, Mary 26 %.'
    """

    tokens: "List[Any]" = List().tag(sync=True)
    words: "List[Any]" = List().tag(sync=True)
    heads: "List[Any]" = List().tag(sync=True)
    chances = Bytes().tag(sync=True)
    rows = Bytes().tag(sync=True)
    maps = Bytes().tag(sync=True)
    jobs: "List[Any]" = List().tag(sync=True)
    sides: "List[Any]" = List().tag(sync=True)
    walks: "List[Any]" = List().tag(sync=True)
    of = Int(N_HEADS).tag(sync=True)
    asks = Unicode(ASKS).tag(sync=True)
    about = Unicode(ABOUT).tag(sync=True)
    off: "List[Any]" = List().tag(sync=True)
    head = Int(0).tag(sync=True)
    word = Int(13).tag(sync=True)

    def __init__(self, **chosen: Any) -> None:
        super().__init__(
            **{name: stored()[name] for name in ("tokens", "words", "heads")},
            **{name: packed(name) for name in ("chances", "rows", "maps")},
            jobs=list(JOBS),
            sides=[list(side) for side in SIDES],
            walks=[list(walk) for walk in WALKS],
            **chosen,
        )

    @validate("off", "head", "word")
    def _exists(self, proposal: Any) -> Any:
        name, value = proposal.trait.name, proposal.value
        n = len(stored()["tokens" if name == "word" else "heads"])
        for index in value if name == "off" else [value]:
            if not isinstance(index, int) or not 0 <= index < n:
                raise TraitError(f"{name}={value} is not from 0 to {n - 1}.")
        return value

    @property
    def over(self) -> list[str]:
        """The prompts whose mean stands in for a head that is off.

        >>> NineHeads().over[0]
        'When Alice and Tom went to the store, Tom gave a drink to'
        """
        return list(stored()["over"])

    @property
    def description(self) -> str:
        """What the model says, in one sentence, as the page says it."""
        return outcome(self.off)

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        n = len(self.heads)
        return {
            "off": items(whole(0, n - 1), n),
            "head": whole(0, n - 1),
            "word": whole(0, len(self.tokens) - 1),
        }

    @property
    def alt(self) -> str:
        text = " ".join(self.tokens).replace(" ,", ",")
        return (
            f"“{text} …”, with arcs as thick as the weights. "
            f"{attends(self.head, self.off, self.word)} Below, bars of the next word. "
            f"{self.description}"
        )

    def still(self) -> None:
        drawn(self.head, self.off, self.word)

    def without_script(self) -> str:
        """HTML for a page on which nothing runs: a still picture and what it shows."""
        said = f"{attends(self.head, self.off, self.word)} {self.description} {self.about}"
        return f"{super().without_script()}<p>{escape(said)}</p>"
