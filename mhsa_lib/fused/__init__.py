"""Multi-head attention by fast kernels: the same function, at the speed of the hardware.

``attention`` and ``latent`` are the modules. ``dispatch`` picks the kernel for a call,
``conditions`` says when each serves, with what was measured; the rest are kernels and parts.
"""

from mhsa_lib.fused.attention import FusedMultiHeadAttention as FusedMultiHeadAttention
from mhsa_lib.fused.blas import linear_by as linear_by
from mhsa_lib.fused.explanation import explain as explain
from mhsa_lib.fused.latent import FusedLatentAttention as FusedLatentAttention
