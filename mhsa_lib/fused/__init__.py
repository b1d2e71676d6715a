"""The same function at the speed of the hardware: one dispatch, a file for every kernel."""

from mhsa_lib.fused.attention import FusedMultiHeadAttention as FusedMultiHeadAttention
from mhsa_lib.fused.latent import FusedLatentAttention as FusedLatentAttention
