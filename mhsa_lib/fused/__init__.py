"""The same function at the speed of the hardware: one dispatch, a file for every kernel."""

from mhsa_lib.fused.attention import FusedMultiHeadAttention as FusedMultiHeadAttention
from mhsa_lib.fused.blas import linear_by as linear_by
from mhsa_lib.fused.explanation import explain as explain
from mhsa_lib.fused.latent import FusedLatentAttention as FusedLatentAttention
