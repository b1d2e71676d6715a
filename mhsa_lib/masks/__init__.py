"""Who may look at whom: ready masks and your own, how they combine, and how others write them.

``predicates`` has the masks; ``rules`` the functions of positions behind them; ``structure``
what kernels know of a mask without asking; ``drawing`` pictures; ``additive`` and ``polarity``
the masks of other libraries.
"""

from mhsa_lib.masks.additive import from_additive as from_additive
from mhsa_lib.masks.additive import to_additive as to_additive
from mhsa_lib.masks.drawing import picture as picture
from mhsa_lib.masks.polarity import from_torch as from_torch
from mhsa_lib.masks.polarity import to_torch as to_torch
from mhsa_lib.masks.predicates import Predicate as Predicate
from mhsa_lib.masks.predicates import causal as causal
from mhsa_lib.masks.predicates import custom as custom
from mhsa_lib.masks.predicates import documents as documents
from mhsa_lib.masks.predicates import key_padding as key_padding
from mhsa_lib.masks.predicates import padding as padding
from mhsa_lib.masks.predicates import prefix as prefix
from mhsa_lib.masks.predicates import resolve as resolve
from mhsa_lib.masks.predicates import sliding_window as sliding_window
from mhsa_lib.masks.structure import Structure as Structure
