"""Why a kernel does not serve a call: one function for every row of the table, in its order.

Each gives the first reason against its kernel in a few words, or "" where nothing speaks
against it. A reason is a constant, so that asking costs next to nothing. Below a row, its own
thresholds stand with what was measured; the sizes of its blocks stand with the kernel.

On a CPU SDPA multiplies by the BLAS of torch, which is not always the faster library
(``blas``), skips what lies ahead in coarse steps, and has a backward in bfloat16 that is
slower than plain products. The book's chapter on the fused module shows the numbers;
``python -m mhsa_book.bench`` measures them again.
"""

import torch

from mhsa_lib import masks
from mhsa_lib.execution_mode import is_plain_cpu_tensor, is_recording
from mhsa_lib.fused import blas, flex, varlen
from mhsa_lib.fused.blocks import cuts_finely, trains
from mhsa_lib.fused.call import Call

NOT_A_BAND = "the mask is more than a band"
DROPOUT = "weights are dropped"
ONE_QUERY = "not one query"

# --- recorded or transformed -----------------------------------------------------------------


def against_any_length(call: Call) -> str:
    """It serves whatever is recorded."""
    return "nothing is recorded" if call.only_run or not is_recording() else ""


def against_definition(call: Call) -> str:
    """It serves whatever else does more than run."""
    return "nothing is transformed" if call.only_run else ""


# --- sequences end to end --------------------------------------------------------------------


def against_varlen(call: Call) -> str:
    """It serves sequences end to end where torch has one kernel for all of them."""
    if call.lengths is None:
        return "no sequences lie end to end"
    if call.q.device.type != "cuda":
        return "not on CUDA"
    if call.q.dtype not in (torch.float16, torch.bfloat16):
        return "numbers of more than 16 bits"
    if call.dropout:
        return DROPOUT
    if call.mask.structure.band.ahead not in (None, 0):
        return "queries look ahead, but not at all keys"
    return "" if varlen.kernel() is not None else "this torch has no kernel for it"


def against_end_to_end(call: Call) -> str:
    """It serves all others that lie end to end."""
    return "no sequences lie end to end" if call.lengths is None else ""


# --- no mask, or a band and nothing else -----------------------------------------------------


def against_nothing(call: Call) -> str:
    """It serves where there is no query or no key."""
    if call.band is None:
        return NOT_A_BAND
    return "there are queries and keys" if call.n_query and call.n_key else ""


MOST_CACHED = 4 * 2**20
"""Bytes of keys from which on one query reads them as the left factor of a plain product.

They come from memory then, at the latest when other layers were used in between. A whole step
of width 512 took 1.02, 0.99, 0.93 and 0.94 of that with SDPA behind 512, 1,024, 2,048 and 4,096
tokens, that is 1, 2, 4 and 8 MiB of keys (float32, two cores of a Sapphire Rapids Xeon).
"""


def against_keys_first(call: Call) -> str:
    """It serves one query that reads so many keys that reading takes all the time."""
    if call.n_query != 1:
        return ONE_QUERY
    if reason := against_one_query(call):
        return reason
    if call.k.numel() * call.k.element_size() < MOST_CACHED:
        return "the keys take less than 4 MiB"
    return "" if call.k.is_cpu else "not on a CPU"


def against_one_query(call: Call) -> str:
    """It serves one query that sees every key."""
    if call.n_query != 1:
        return ONE_QUERY
    if not call.sees_all:
        return "the query does not see every key"
    return DROPOUT if call.dropout else ""


FEWEST_WRITTEN, MOST_WRITTEN = 16, 128
"""Tokens of which weights in bfloat16 are written, where they are trained.

128² weights of a head are no more numbers than its q, k, v and z, if it has 32 columns or more;
beyond, memory would be quadratic. Forward and backward, over 8, 16, 32, 64 and 128 tokens, it
took 1.31, 0.40, 0.43, 0.33 and 0.32 of the time of SDPA (16 heads of 64, one core of an EPYC).
Where bfloat16 has units of its own, modules with an explicit softmax took 0.87 to 0.91 over 16
tokens and 0.46 to 0.55 over 128 (two cores of a Sapphire Rapids Xeon).
"""

FEWEST_WRITTEN_UNTRAINED = 64
"""The same without gradients: over 16, 32, 64 and 128 tokens 1.74, 1.10, 0.79 and 0.58."""


def is_short(dtype: torch.dtype, n_query: int, n_key: int) -> bool:
    """Whether weights in bfloat16 are few: ``FEWEST_WRITTEN`` to ``MOST_WRITTEN`` tokens."""
    few, many = min(n_query, n_key), max(n_query, n_key)
    return dtype is torch.bfloat16 and FEWEST_WRITTEN <= few <= many <= MOST_WRITTEN


def against_written_weights(call: Call) -> str:
    """It serves few tokens in bfloat16, where SDPA is slow on a CPU."""
    q, k = call.q, call.k
    if q.dtype is not torch.bfloat16:
        return "not bfloat16"
    if call.dropout:
        return DROPOUT
    if not is_short(q.dtype, call.n_query, call.n_key):
        return "not 16 to 128 tokens"
    if q.shape[-3] != k.shape[-3]:
        return "heads share keys"
    if call.n_query < FEWEST_WRITTEN_UNTRAINED and not trains(q):
        return "fewer than 64 queries, without gradients"
    return "" if is_plain_cpu_tensor(q, k) else "not plain numbers on a CPU"


FEWEST_TILED = 64
"""Queries and keys that fill one tile (``cuts.STEP``): fewer would be filled up with zeros.

In bfloat16, over 32, 64, 128 and 512 tokens without a mask, tiles took 5.3, 0.99, 0.75 and 0.73
of the time of SDPA, and 1.2, 0.63, 0.43 and 0.79 with a backward pass; causal, 5.7, 2.1, 1.3
and 0.68, and 1.5, 0.72, 0.53 and 0.64 (16 heads of 64, one core of an EPYC). Up to 128 tokens
weights are written instead, unless heads share keys.
"""

FEWEST_TILED_FLOAT32 = 256
"""The same in float32. The number itself was not measured.

Where oneDNN was the faster library, whole modules, with its products in the projections too,
took 0.66 to 0.71 of the time of packed projections and SDPA over 512 tokens and 0.58 to 0.61
over 2,048 (the stored benchmark, two cores of an EPYC). Where it was not, tiles alone took 1.8
over 256 tokens and 1.3 over 512 (one core of another EPYC): so it is asked who is faster.
"""


def against_tiles(call: Call) -> str:
    """It serves a band, where the library of its products is the faster one.

    In bfloat16 SDPA multiplies by oneDNN too, and tiles win by their softmax and their backward
    pass. That was seen where oneDNN is faster in float32 too; elsewhere SDPA is left alone.
    """
    q, k = call.q, call.k
    if call.band is None:
        return NOT_A_BAND
    few = min(call.n_query, call.n_key)
    if few < FEWEST_TILED:
        return "fewer than 64 tokens"
    if call.dropout:
        return DROPOUT
    if q.dtype is torch.float32:
        if few < FEWEST_TILED_FLOAT32:
            return "fewer than 256 tokens in float32"
        if trains(q):
            return "in float32 SDPA has the faster backward"
    elif q.dtype is not torch.bfloat16:
        return "neither float32 nor bfloat16"
    if not is_plain_cpu_tensor(q, k):
        return "not plain numbers on a CPU"
    return "" if blas.is_chosen() else "oneDNN was not chosen"


def against_sdpa(call: Call) -> str:
    """It serves wherever every query looks at every key."""
    return "" if call.sees_all else "not every query looks at every key"


def against_causal_sdpa(call: Call) -> str:
    """It serves a causal mask of as many queries as keys, unless fine blocks are faster."""
    band = call.band
    if band is None:
        return NOT_A_BAND
    if band.ahead != 0 or band.behind is not None:
        return "the band is not the causal one"
    if call.shift != 0:
        return "not as many queries as keys"
    return "blocks of 64 queries skip more of what lies ahead" if cuts_finely(call) else ""


# --- more than a band ------------------------------------------------------------------------


def against_flex(call: Call) -> str:
    """It serves rules on a GPU."""
    q = call.q
    if q.is_cpu:
        return "on a CPU"
    if not isinstance(call.mask, masks.Predicate):
        return "the mask is a tensor, not a rule"
    if q.device.type != "cuda":
        return "not on CUDA"
    if not flex.TAKES_ANY_SIZE:
        return "this torch compiles for one size only"
    if call.n_query < flex.FEWEST or q.shape[-1] < flex.NARROWEST or q.ndim != 4:
        return "fewer than 128 queries, or of fewer than 16 columns"
    return DROPOUT if call.dropout else ""


def against_tensor(call: Call) -> str:
    """It serves boolean tensors, and where there are no better kernels for rules."""
    if call.q.is_cpu and isinstance(call.mask, masks.Predicate):
        return "the mask is a rule, on a CPU"
    return ""


def against_each_sequence(call: Call) -> str:
    """It serves masks that are known to be a band and lengths."""
    structure, q = call.mask.structure, call.q
    if structure.key_lengths is None:
        return "the mask knows no lengths"
    if not structure.exact:
        return "the mask is more than a band and lengths"
    fits = q.ndim == 4 and len(structure.key_lengths) == len(q)
    return "" if fits else "the lengths are not those of the batch"


def against_blocks(call: Call) -> str:
    """It serves everything."""
    return ""
