"""A trained translator in the page: choose a sentence, switch heads off, see what breaks."""

from html import escape
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle
from traitlets import Dict, Enum, Int, List, Unicode, validate

from mhsa_book import plots
from mhsa_book.examples import language
from mhsa_book.experiments.translation import Head, heads_of
from mhsa_book.widgets import assets
from mhsa_book.widgets.figure import Figure
from mhsa_book.widgets.rules import Rule, items, one_of
from mhsa_book.widgets.translator_lab import rules, weights
from mhsa_book.widgets.translator_lab.translations import INSTEAD, looks, written

END = language.TARGET.tokens[2]


class TranslatorLab(Figure):
    """The model of ``models.translator``: what it says, where its heads look, and without.

    ``sentence`` is what it translates, ``greeting`` how the translation begins ("" lets the
    model choose), ``off`` holds the names of the heads that are switched off, ``instead`` what
    they write then ("zero", or their "mean"), ``head`` the one whose map is large, and ``word``
    the position of the target word that is looked at (None: the first wrong one, or the last).
    All can be set from Python and by the reader. The page loads the weights when its reader
    asks for them: in a notebook from Python, in the built book from a file beside the pages.

    Raises ``ValueError`` for a sentence that the model cannot translate, an unknown greeting,
    a head that does not exist or a negative word, ``TraitError`` for another way to switch off.

    >>> lab = TranslatorLab("rolan ot meti balo", greeting="hai")
    >>> lab.translation
    'hai mirru mirru nalesh mela'
    >>> lab.off = ["cross L1H0", "cross L1H1", "cross L1H2", "cross L1H3"]
    >>> lab.translation == lab.right
    False
    """

    not_in_a_link = "the sentence"

    sentence = Unicode().tag(sync=True)
    greeting = Unicode().tag(sync=True)
    off: "List[Any]" = List(Unicode()).tag(sync=True)
    instead = Enum([*INSTEAD], "zero").tag(sync=True)
    head = Unicode("cross L1H0").tag(sync=True)
    word = Int(None, allow_none=True).tag(sync=True)

    asset: "Dict[str, Any]" = Dict().tag(sync=True)
    tensors: "List[Any]" = List().tag(sync=True)
    means: "Dict[str, Any]" = Dict().tag(sync=True)
    tables: "Dict[str, Any]" = Dict().tag(sync=True)
    source: "List[Any]" = List(list(language.SOURCE.tokens)).tag(sync=True)
    target: "List[Any]" = List(list(language.TARGET.tokens)).tag(sync=True)

    def __init__(self, sentence: str = "tekan ul meti balo ip sako", **choices: Any) -> None:
        super().__init__(
            sentence=sentence,
            asset=weights.asset().about,
            tensors=weights.layout(),
            means={repr(head): mean for head, mean in weights.means().items()},
            tables=rules.tables(),
            **choices,
        )
        assets.serve(self, weights.asset())

    @validate("sentence")
    def _known(self, proposal: Any) -> str:
        if (problem := rules.problem(proposal["value"])) is not None:
            raise ValueError(f"{proposal['value']!r}: {problem}")
        return " ".join(proposal["value"].split())

    @validate("greeting")
    def _greets(self, proposal: Any) -> str:
        if proposal["value"] not in ("", *rules.BEGINNINGS):
            raise ValueError(
                f"{proposal['value']!r} is no greeting; choose from {[*rules.BEGINNINGS]}, or "
                f'"" for the one that the model likes.'
            )
        return proposal["value"]

    @validate("off", "head")
    def _existing(self, proposal: Any) -> Any:
        value, known = proposal["value"], [*heads_by_name()]
        for name in value if proposal["trait"].name == "off" else [value]:
            if name not in known:
                raise ValueError(f"the model has no head {name!r}; it has {known}.")
        return value

    @validate("word")
    def _inside(self, proposal: Any) -> int | None:
        if (word := proposal["value"]) is not None and word < 0:
            raise ValueError(f"word={word} does not exist; the first word is word 0.")
        return word

    def rules(self) -> dict[str, Rule]:
        """Greeting and heads, but not the sentence: only the grammar can say what fits."""
        return super().rules() | _choices()

    @property
    def translation(self) -> str:
        """What the model says."""
        return " ".join(language.TARGET.words(self._written().ids[0]))

    @property
    def right(self) -> str:
        """What the rules of the languages say, with the greeting that was said."""
        first = language.TARGET.words(self._written().ids[0])[:1]
        return " ".join(rules.right(self.sentence, self.greeting, *first).target)

    @property
    def alt(self) -> str:
        verdict = "right" if self.translation == self.right else f"right is “{self.right}”"
        off = ", ".join(self.off) or "none"
        return (
            f"“{self.sentence}” becomes “{self.translation}”: {verdict}. Heads switched off: "
            f"{off}. A heat map of {self.head}."
        )

    def still(self) -> None:
        """The map of the chosen head; a frame is around words that translate each other."""
        ids = self._written().ids
        rows = looks(heads_by_name()[self.head], self.sentence, ids, *self._changed())
        said = [language.TARGET.tokens[i] for i in ids[0]]
        source, before = self.sentence.split(), [language.TARGET.tokens[1], *said[:-1]]
        queries = source if self.head.startswith("encoder") else said
        keys = before if self.head.startswith("decoder") else source
        plots.heat_map(rows, queries, keys, self.head, ("looks from", "to"))
        if self.head.startswith("cross") and self.translation == self.right:
            first = rules.right(self.sentence, self.greeting, said[0]).words
            for place, word in enumerate(first):
                for at in word.aligned:
                    frame = Rectangle((at - 0.5, place - 0.5), 1, 1, fill=False, lw=2.5)
                    plt.gcf().axes[0].add_patch(frame)

    def without_script(self) -> str:
        """HTML for a page on which nothing runs: the map, the sentence and its translation."""
        return f"{super().without_script()}<p>{escape(self.alt.partition(' Heads')[0])}</p>"

    def _changed(self) -> tuple[list[Head], str]:
        return [heads_by_name()[name] for name in self.off], self.instead

    def _written(self) -> Any:
        return written(self.sentence, self.greeting, *self._changed())


def heads_by_name() -> dict[str, Head]:
    """Every head of the model by its name.

    >>> [*heads_by_name()][-1]
    'cross L1H3'
    """
    return {repr(head): head for head in heads_of(weights.MODEL())}


def _choices() -> dict[str, Rule]:
    """Heads of the model, and greetings."""
    heads = one_of([*heads_by_name()])
    greeting = one_of(["", *rules.BEGINNINGS])
    return {"off": items(heads, len(heads["among"])), "head": heads, "greeting": greeting}
