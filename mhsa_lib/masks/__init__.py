"""Who can attend to whom: ``predicates``, and ``structure``, what kernels know of them."""

from mhsa_lib.masks.predicates import Predicate as Predicate
from mhsa_lib.masks.predicates import causal as causal
from mhsa_lib.masks.predicates import custom as custom
from mhsa_lib.masks.predicates import documents as documents
from mhsa_lib.masks.predicates import from_additive as from_additive
from mhsa_lib.masks.predicates import from_torch as from_torch
from mhsa_lib.masks.predicates import full as full
from mhsa_lib.masks.predicates import key_padding as key_padding
from mhsa_lib.masks.predicates import padding as padding
from mhsa_lib.masks.predicates import picture as picture
from mhsa_lib.masks.predicates import prefix as prefix
from mhsa_lib.masks.predicates import resolve as resolve
from mhsa_lib.masks.predicates import sliding_window as sliding_window
from mhsa_lib.masks.predicates import to_additive as to_additive
from mhsa_lib.masks.predicates import to_torch as to_torch
from mhsa_lib.masks.structure import Structure as Structure
