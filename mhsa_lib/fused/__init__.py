"""Multi-head attention by fast kernels: the same function, at the speed of the hardware.

``attention`` and ``latent`` are the modules; ``kernels`` picks a kernel and says why.
"""

from mhsa_lib.fused.attention import FusedMultiHeadAttention as FusedMultiHeadAttention
from mhsa_lib.fused.kernels import explain as explain
from mhsa_lib.fused.latent import FusedLatentAttention as FusedLatentAttention
