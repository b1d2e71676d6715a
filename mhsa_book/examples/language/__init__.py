"""Two made-up languages with known translations, in which every attention has work to do.

``words`` and ``grammar`` are the source, ``translation`` is the target: with the alignment of
every word, what is hard about it and what decides it. ``drawing`` makes sentences, ``needed``
shows which attention a task needs, ``tree`` the arcs of a sentence, ``vocabulary`` makes ids.
"""

from mhsa_book.examples.language.drawing import draw as draw
from mhsa_book.examples.language.drawing import pairs as pairs
from mhsa_book.examples.language.grammar import Sentence as Sentence
from mhsa_book.examples.language.needed import counterexample as counterexample
from mhsa_book.examples.language.needed import visible as visible
from mhsa_book.examples.language.translation import CHOICE as CHOICE
from mhsa_book.examples.language.translation import TASKS as TASKS
from mhsa_book.examples.language.translation import Pair as Pair
from mhsa_book.examples.language.translation import Word as Word
from mhsa_book.examples.language.translation import translate as translate
from mhsa_book.examples.language.translation import translations as translations
from mhsa_book.examples.language.tree import tree as tree
from mhsa_book.examples.language.vocabulary import SOURCE as SOURCE
from mhsa_book.examples.language.vocabulary import TARGET as TARGET
from mhsa_book.examples.language.vocabulary import batch as batch
from mhsa_book.examples.language.vocabulary import places as places
