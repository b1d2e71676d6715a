"""What does the last word belong to? The running example, with heads to switch off."""

from html import escape
from typing import Any

from traitlets import Int, List, TraitError, validate

from mhsa_book import examples
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, items, whole
from mhsa_book.widgets.sentence_lab.guided_steps import STEPS
from mhsa_book.widgets.sentence_lab.question_and_answer import describe, pictured
from mhsa_book.widgets.sentence_lab.steps import walk_html
from mhsa_book.widgets.sentence_lab.still import arcs
from mhsa_lib.stages import maps_of


class SentenceLab(Figure):
    """Two sentences that differ in the last word, where a word looks, and what it learns there.

    The sentences, their three heads and all numbers are those of ``mhsa_book.examples``. The
    reader goes through ``step`` 0 to 5, of which each adds what one stage does, and sets
    ``sentence`` (0 or 1), ``word`` (which one asks: the last, unless told otherwise) and
    ``off`` (the heads that are switched off); each can be set from Python.

    Raises ``TraitError`` for a step, a sentence, a word or a head that does not exist.

    >>> lab = SentenceLab()
    >>> lab.description
    '“tired” belongs to something living: “animal”.'
    >>> lab.sentence = 1
    >>> lab.description
    '“wide” belongs to a place: “street”.'
    """

    sentences: "List[Any]" = List().tag(sync=True)
    heads: "List[Any]" = List().tag(sync=True)
    columns: "List[Any]" = List().tag(sync=True)
    x: "List[Any]" = List().tag(sync=True)
    W_Q: "List[Any]" = List().tag(sync=True)
    W_K: "List[Any]" = List().tag(sync=True)
    W_V: "List[Any]" = List().tag(sync=True)
    W_O: "List[Any]" = List().tag(sync=True)
    steps: "List[Any]" = List().tag(sync=True)
    step = Int(0).tag(sync=True)
    sentence = Int(0).tag(sync=True)
    word = Int(6).tag(sync=True)
    off: "List[Any]" = List().tag(sync=True)

    def __init__(self, **chosen: Any) -> None:
        maps = maps_of(examples.attention())
        super().__init__(
            sentences=[list(words) for words in examples.SENTENCES],
            heads=list(examples.HEADS),
            columns=list(examples.COLUMNS),
            steps=[list(step) for step in STEPS],
            x=examples.sentences().double().tolist(),
            **{name: maps[name].weight.T.double().tolist() for name in maps},
            **chosen,
        )

    @validate("step", "sentence", "word", "off")
    def _exists(self, proposal: Any) -> Any:
        name, value = proposal.trait.name, proposal.value
        n = {
            "step": len(STEPS),
            "sentence": len(self.x),
            "word": len(self.x[0]),
            "off": len(self.heads),
        }[name]
        for index in value if name == "off" else [value]:
            if not isinstance(index, int) or not 0 <= index < n:
                raise TraitError(f"{name}={value} is not from 0 to {n - 1}.")
        return value

    @property
    def description(self) -> str:
        """What the word that asks has found, in one sentence, as the page says it."""
        return describe(self.sentence, self.word, self.off)

    @property
    def shown(self) -> list[int]:
        """The sentences of the still picture: both where the word that they differ in asks."""
        return [0, 1] if self.word == len(self.x[0]) - 1 else [self.sentence]

    def rules(self) -> dict[str, Rule]:
        """What a reload or a link may bring back, as ``Figure.rules``."""
        n, words, heads = len(self.x), len(self.x[0]), len(self.heads)
        off = items(whole(0, heads - 1), heads)
        return {
            "step": whole(0, len(self.steps) - 1),
            "sentence": whole(0, n - 1),
            "word": whole(0, words - 1),
            "off": off,
        }

    @property
    def alt(self) -> str:
        return " ".join(pictured(s, self.word, self.off) for s in self.shown)

    def still(self) -> None:
        arcs(self.shown, self.word, self.off)

    def without_script(self) -> str:
        """HTML for a page on which nothing runs: a still picture, and the finding in words."""
        said = " ".join(describe(s, self.word, self.off) for s in self.shown)
        show = "<style>.mhsa-stills{display:block}</style>"
        return f"{super().without_script()}<p>{escape(said)}</p>{show}"

    def html(self) -> str:
        """The figure, and behind it the six steps as stills, for paper and without scripts."""
        return f'{super().html()}<div class="mhsa-stills">{walk_html()}</div>'
