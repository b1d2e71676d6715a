"""A museum of bugs: working wrong implementations of attention, each one line beside the right.

``right`` has the parts of a plain attention, ``parts`` puts them together. An exhibit replaces
a part (``catalogue``; those of a stage are in ``in_projections``, ``in_splits``, …); it is
shown on one of the ``problems``, and found by a check of ``cheap_checks`` or ``by_hand``. The
``task`` is learned with every mistake in place: ``study`` trains, and ``measured`` has what was
found.
"""

from mhsa_book.museum import in_caches as in_caches
from mhsa_book.museum import in_masks as in_masks
from mhsa_book.museum import in_mixes as in_mixes
from mhsa_book.museum import in_positions as in_positions
from mhsa_book.museum import in_projections as in_projections
from mhsa_book.museum import in_scores as in_scores
from mhsa_book.museum import in_splits as in_splits
from mhsa_book.museum.catalogue import STAGES as STAGES
from mhsa_book.museum.catalogue import SYMPTOMS as SYMPTOMS
from mhsa_book.museum.catalogue import Exhibit as Exhibit
from mhsa_book.museum.families import families as families
from mhsa_book.museum.finding import exhibit as exhibit
from mhsa_book.museum.finding import exhibits as exhibits
