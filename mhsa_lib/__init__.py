"""Multi-head attention in five stages, and the tools to watch it."""

from mhsa_lib.attention import MultiHeadAttention as MultiHeadAttention
from mhsa_lib.cache.driving import kv_cache as kv_cache
from mhsa_lib.cache.memory import KVCache as KVCache
from mhsa_lib.device import default_device as default_device
from mhsa_lib.fused.attention import FusedMultiHeadAttention as FusedMultiHeadAttention
from mhsa_lib.tracing.editing import edit as edit
from mhsa_lib.tracing.op_recorder import trace_ops as trace_ops
from mhsa_lib.tracing.wires import trace as trace
from mhsa_lib.variants.collaborative import CollaborativeAttention as CollaborativeAttention
from mhsa_lib.variants.composed import ComposedAttention as ComposedAttention
from mhsa_lib.variants.grouped import GroupedQueryAttention as GroupedQueryAttention
from mhsa_lib.variants.grouped import MultiQueryAttention as MultiQueryAttention
from mhsa_lib.variants.latent import LatentAttention as LatentAttention
from mhsa_lib.variants.mixture import MixtureOfHeadAttention as MixtureOfHeadAttention
from mhsa_lib.variants.overlapped import OverlappedAttention as OverlappedAttention

__version__ = "0.2.0"
