"""Multi-head attention in five stages, and the tools to watch it."""

from mhsa_lib import convert as convert
from mhsa_lib import masks as masks
from mhsa_lib import pretrained as pretrained
from mhsa_lib import variants as variants
from mhsa_lib.attention import MultiHeadAttention as MultiHeadAttention
from mhsa_lib.cache import remember as remember
from mhsa_lib.device import default_device as default_device
from mhsa_lib.fused import FusedMultiHeadAttention as FusedMultiHeadAttention
from mhsa_lib.stages import Attend as Attend
from mhsa_lib.stages import Concat as Concat
from mhsa_lib.stages import Project as Project
from mhsa_lib.stages import Split as Split
from mhsa_lib.stages import Stage as Stage
from mhsa_lib.stages import Wire as Wire
from mhsa_lib.trace import edit as edit
from mhsa_lib.trace import trace as trace
from mhsa_lib.trace import trace_ops as trace_ops
from mhsa_lib.variants import CollaborativeAttention as CollaborativeAttention
from mhsa_lib.variants import ComposedAttention as ComposedAttention
from mhsa_lib.variants import GroupedQueryAttention as GroupedQueryAttention
from mhsa_lib.variants import LatentAttention as LatentAttention
from mhsa_lib.variants import MixtureOfHeadAttention as MixtureOfHeadAttention
from mhsa_lib.variants import MultiQueryAttention as MultiQueryAttention
from mhsa_lib.variants import OverlappedAttention as OverlappedAttention

__version__ = "0.2.0"
