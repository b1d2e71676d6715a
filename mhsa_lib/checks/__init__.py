"""What a caller may pass: errors that name the values, the rule and a repair.

Everything a caller can get wrong is checked here, once, so that the mathematics stays bare.
Mistakes in a type are ``TypeError``, mistakes in a value ``ValueError``.
"""

from mhsa_lib.checks.ids import ids as ids
from mhsa_lib.checks.ids import room_for_tokens as room_for_tokens
from mhsa_lib.checks.tensors import boolean as boolean
from mhsa_lib.checks.tensors import lengths as lengths
from mhsa_lib.checks.tensors import mask_fits as mask_fits
from mhsa_lib.checks.tensors import no_context as no_context
from mhsa_lib.checks.tensors import reads as reads
from mhsa_lib.checks.tensors import same_batch as same_batch
from mhsa_lib.checks.tensors import sees_no_future as sees_no_future
from mhsa_lib.checks.tensors import shaped as shaped
from mhsa_lib.checks.tensors import tokens as tokens
from mhsa_lib.checks.values import divides as divides
from mhsa_lib.checks.values import head_width as head_width
from mhsa_lib.checks.values import heads as heads
from mhsa_lib.checks.values import no_wider_than_the_model as no_wider_than_the_model
from mhsa_lib.checks.values import pairs as pairs
from mhsa_lib.checks.values import positive as positive
from mhsa_lib.checks.values import probability as probability
from mhsa_lib.checks.values import text as text
