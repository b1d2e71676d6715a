"""A museum of bugs: working wrong implementations of attention, each one line beside the right.

``right`` has the parts of a plain attention, ``parts`` puts them together. An exhibit replaces
a part (``catalogue``, and rooms by stage: ``in_projections``, ``in_splits``, …); it is shown on
one of the ``problems``, and found by a check, ``cheap`` or ``by_hand``. The ``task`` is learned
with every mistake in place: ``study`` trains, and ``measured`` has what was found.
"""

from mhsa_lib.museum import in_caches as in_caches
from mhsa_lib.museum import in_masks as in_masks
from mhsa_lib.museum import in_mixes as in_mixes
from mhsa_lib.museum import in_positions as in_positions
from mhsa_lib.museum import in_projections as in_projections
from mhsa_lib.museum import in_scores as in_scores
from mhsa_lib.museum import in_splits as in_splits
from mhsa_lib.museum.catalogue import CATALOGUE
from mhsa_lib.museum.catalogue import STAGES as STAGES
from mhsa_lib.museum.catalogue import SYMPTOMS as SYMPTOMS
from mhsa_lib.museum.catalogue import Exhibit as Exhibit


def exhibits(*, stage: str | None = None, symptom: str | None = None) -> tuple[Exhibit, ...]:
    """All exhibits, or those of a stage or with a symptom, by the order of the pass.

    Raises ``ValueError`` for a stage or a symptom that there is not.

    >>> len(exhibits()) >= 40
    True
    >>> [each.name for each in exhibits(stage="W_O")]
    ['W_O_forgotten', 'one_slice_of_W_O_for_all_heads']
    """
    for name, value, known in (("stage", stage, STAGES), ("symptom", symptom, SYMPTOMS)):
        if value is not None and value not in known:
            raise ValueError(f"{name}={value!r} is none; choose from {', '.join(known)}.")
    found = [
        each
        for each in CATALOGUE.values()
        if stage in (None, each.stage) and symptom in (None, each.symptom)
    ]
    return tuple(sorted(found, key=lambda each: STAGES.index(each.stage)))


def exhibit(name: str) -> Exhibit:
    """The exhibit of that name; ``ValueError``, with all names, for one that there is not.

    >>> exhibit("no_scale").title
    'Scores are not divided by √d_head.'
    >>> print(exhibit("no_scale").diff)
      def score(q, k, d_model):
    -     return (q @ k.mT) / math.sqrt(q.shape[-1])
    +     return q @ k.mT
    """
    if name not in CATALOGUE:
        raise ValueError(f"{name!r} is no exhibit; there are {', '.join(sorted(CATALOGUE))}.")
    return CATALOGUE[name]
