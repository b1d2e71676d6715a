"""A real model in the page: type a sentence, and all its heads answer, with no server."""

from typing import Any

from traitlets import Dict, List, Unicode, observe, validate

from mhsa_book.widgets import assets
from mhsa_book.widgets.head_explorer import HeadExplorer
from mhsa_book.widgets.own_sentence import quantise
from mhsa_book.widgets.packed import packed

TIRED = "The animal didn't cross the street because it was too tired."
BANK = ("They sat down on the bank of the river.", "She put her money in the bank.")


class OwnSentence(HeadExplorer):
    """Every head of MiniLM on the reader's own text, in a page without a kernel as well.

    It begins as ``HeadExplorer`` of ``sentence``; ``pair`` are the two sentences that are
    compared first. The page loads the model when its reader asks for it: in a notebook from
    Python, in the built book from files beside the pages. Then the reader types, switches any
    of the heads off and compares two sentences. All of that stays in the page: Python sets the
    traits and is told nothing.

    The page reads at most ``quantise.MOST_TOKENS`` tokens, with weights of 12 bits: what it
    shows differs from PyTorch by less than 0.01.

    Raises ``ValueError`` for a sentence without a word, or with half of a character.

    >>> OwnSentence("She sat on the bank.").shape
    (6, 12, 8, 8)
    """

    sentence = Unicode().tag(sync=True)
    pair: "List[Any]" = List(Unicode(), list(BANK), minlen=2, maxlen=2).tag(sync=True)
    asset: "Dict[str, Any]" = Dict().tag(sync=True)

    def __init__(self, sentence: str = TIRED, **chosen: Any) -> None:
        tokens, maps = quantise.MODEL().attend(sentence)
        chosen = {"sentence": sentence, "asset": quantise.asset().about} | chosen
        super().__init__(maps, tokens, **chosen)
        assets.serve(self, quantise.asset())

    @validate("sentence")
    def _readable(self, proposal: Any) -> str:
        quantise.MODEL().attend(proposal["value"])
        return str(proposal["value"])

    @observe("sentence")
    def _read(self, change: Any) -> None:
        if not change.old:
            return
        tokens, maps = quantise.MODEL().attend(change.new)
        with self.hold_sync():
            self.query, self.key = (min(at, len(tokens) - 1) for at in (self.query, self.key))
            self.attention = packed(maps, tokens)
