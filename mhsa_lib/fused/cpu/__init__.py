"""Kernels of a CPU, and batches of unequal lengths: what the table of kernels takes from here.

A row of the table (``call.Kernel``) is complete in itself. The two functions that cut a batch
into its sequences are given the function that asks the table about a part.
"""

from mhsa_lib.fused.cpu.blocks import BLOCKS as BLOCKS
from mhsa_lib.fused.cpu.blocks import CAUSAL as CAUSAL
from mhsa_lib.fused.cpu.explicit import EXPLICIT_WEIGHTS as EXPLICIT_WEIGHTS
from mhsa_lib.fused.cpu.explicit import KEYS_FIRST as KEYS_FIRST
from mhsa_lib.fused.cpu.explicit import are_few_in_bfloat16 as are_few_in_bfloat16
from mhsa_lib.fused.cpu.sequences import attend_each_concatenated as attend_each_concatenated
from mhsa_lib.fused.cpu.sequences import attend_each_sequence as attend_each_sequence
from mhsa_lib.fused.cpu.sequences import attend_to_nothing as attend_to_nothing
from mhsa_lib.fused.cpu.sequences import (
    concatenated_unsupported_reason as concatenated_unsupported_reason,
)
from mhsa_lib.fused.cpu.sequences import (
    each_sequence_unsupported_reason as each_sequence_unsupported_reason,
)
from mhsa_lib.fused.cpu.tiles import TILES as TILES
