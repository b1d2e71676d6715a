"""What others have published about the same relations, with what they measured.

These numbers are not ours, and not of our model: Clark et al. took BERT-base and the Wall
Street Journal with Stanford dependencies, Voita et al. the encoder of a translator and the
parses of CoreNLP. Heads are called as in the papers, where layers and heads count from 1. The
relations of Universal Dependencies, which we use, are near to theirs and not the same.

Source: Clark et al., "What Does BERT Look At?", table 1, arXiv 1906.04341; Voita et al.,
"Analyzing Multi-Head Self-Attention", table 1, arXiv 1905.09418.
"""

from typing import NamedTuple

from mhsa_book.roles.arcs import DIRECTIONS


class Clark(NamedTuple):
    """A row of Clark's table 1: the best of 144 heads, and the best fixed offset."""

    theirs: str
    """The relation in Stanford dependencies."""

    ours: str
    """The relation of Universal Dependencies that is nearest."""

    head: str
    """Layer and head, from 1."""

    accuracy: float
    """In percent, as are the baselines."""

    baseline: float
    """Of the best fixed offset."""

    offset: int


class Voita(NamedTuple):
    """A row of Voita's table 1: the best head of the encoder and its baseline, in percent."""

    theirs: str
    ours: str
    direction: str
    wmt: tuple[float, float]
    open_subtitles: tuple[float, float]


CLARK = (
    Clark("det", "det", "8-11", 94.3, 51.7, 1),
    Clark("nsubj", "nsubj", "8-2", 58.5, 45.5, 1),
    Clark("dobj", "obj", "8-10", 86.8, 40.0, -2),
    Clark("amod", "amod", "4-10", 75.6, 68.3, 1),
    Clark("advmod", "advmod", "7-6", 48.8, 40.2, 1),
    Clark("aux", "aux", "4-10", 81.1, 71.5, 1),
    Clark("auxpass", "aux:pass", "4-10", 82.5, 40.5, 1),
    Clark("poss", "nmod:poss", "7-6", 80.5, 47.7, 1),
    Clark("mark", "mark", "8-2", 50.7, 14.5, 2),
    Clark("nn", "compound", "4-10", 70.4, 70.2, 1),
    Clark("pobj", "case", "9-6", 76.3, 34.6, -2),
)
"""As printed. The dependent looks at its head, but for pobj, where the preposition, there the
head, looks at its noun; in Universal Dependencies it is the dependent, by the relation case."""

ERRATA = {
    "auxpass": "the authors' notebook prints 94.1 against 82.5; the printed row is made of two "
    "baselines, 82.5 of auxpass and 40.5 of cop",
    "all": "the notebook prints 34.7 against 26.7, the paper 34.5 against 26.3",
}
"""Where Clark's table and the notebook of its authors differ."""

CLARK_COREFERENCE = {
    "head 5-4": 65.1,
    "nearest mention": 27.0,
    "head match": 52.0,
    "system of rules": 69.0,
    "neural system": 83.0,
}
"""Percent of mentions of which the antecedent is found, on CoNLL-2012; heads count from 1."""

VOITA = (
    Voita("nsubj", "nsubj", DIRECTIONS[1], (45, 35), (77, 45)),
    Voita("nsubj", "nsubj", DIRECTIONS[0], (52, 35), (70, 45)),
    Voita("dobj", "obj", DIRECTIONS[1], (78, 41), (61, 46)),
    Voita("dobj", "obj", DIRECTIONS[0], (73, 41), (84, 46)),
    Voita("amod", "amod", DIRECTIONS[1], (74, 72), (81, 80)),
    Voita("amod", "amod", DIRECTIONS[0], (82, 72), (81, 80)),
    Voita("advmod", "advmod", DIRECTIONS[1], (48, 46), (38, 33)),
    Voita("advmod", "advmod", DIRECTIONS[0], (52, 46), (42, 33)),
)
"""Best head and baseline, of the WMT and of the OpenSubtitles model, English to Russian."""

VOITA_ROLES = {"positional": 5, "syntactic": 8, "rare words": 1, "unknown": 34}
"""How many of the 48 heads of the encoder have which role, of the OpenSubtitles model.

From the figure of head roles while heads are pruned, in its column of all 48 heads."""
