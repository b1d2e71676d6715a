"""Which kernel computes z: one table, read from top to bottom; the first row that serves runs.

What a predicate says about its structure (``masks.structure``) becomes calls that need no
(query × key) tensor: a *band*, such as causal or a window, and padded sequences, cut to their
lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.compiler import is_compiling, is_dynamo_compiling
from torch.utils.checkpoint import checkpoint

from mhsa_lib import functional, masks
from mhsa_lib.execution_mode import is_recording
from mhsa_lib.fused import flex, sdpa
from mhsa_lib.fused.call import Call, Kernel, band_only, blocks
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values
from mhsa_lib.variants.grouped import GroupedAttend


def attend(
    q: Queries,
    k: Keys,
    v: Values,
    mask: Any,
    *,
    scale: float,
    dropout: float = 0.0,
    shift: int | None = None,
) -> HeadOutputs:
    """Return z of every head, by the first row of ``TABLE`` that serves.

    Arguments are those of ``Call``. A query that may attend to nothing gets zeros.

    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend(q, k, v, masks.sliding_window(2), scale=0.5)
    >>> dense = masks.sliding_window(2).dense(5, 5)
    >>> torch.allclose(z, attend(q, k, v, dense, scale=0.5), atol=1e-6)
    True
    """
    call = Call.of(q, k, v, mask, scale=scale, dropout=dropout, shift=shift)
    for kernel in TABLE:
        if kernel.unsupported_reason(call) is None:
            return kernel.attend(call)
    raise AssertionError("the last row serves every call")


# --- recorded for later ----------------------------------------------------------------------


def _recorded_unsupported_reason(call: Call) -> str | None:
    return None if not call.is_eager and is_recording() else "nothing is recorded"


def attend_recorded(call: Call) -> HeadOutputs:
    """Compute z while torch.compile, torch.export or torch.jit.trace record the operations.

    What is recorded now runs with other lengths later, so no decision may rest on them. Other
    masks than causal would become a (query × key) tensor in the program. ``torch.compile``
    leaves them out of its graph instead, and the table of kernels is asked when they run; with
    ``fullgraph=True``, and for exported programs, the tensor is what there is.
    """
    q, k, mask = call.q, call.k, call.mask
    if mask is None:
        return sdpa.sdpa(q, k, call.v, call)
    is_predicate = isinstance(mask, masks.Predicate)
    same_length = _surely_equal(q.shape[-2], k.shape[-2])
    if is_predicate and mask.structure.is_causal and same_length:
        return sdpa.sdpa(q, k, call.v, call, is_causal=True)
    if is_predicate and is_dynamo_compiling() and not _surely_equal(q.shape[-2], 1):
        from mhsa_lib.fused import outside_the_graph

        if outside_the_graph.graph_may_break():
            return outside_the_graph.call(
                attend, q, k, call.v, mask, scale=call.scale, dropout=call.dropout
            )
    return sdpa.attend_under_a_tensor(call)


def _surely_equal(n: Any, m: Any) -> bool:
    if not is_compiling():  # torch.jit.trace would freeze this branch
        return False
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(n == m)


# --- transformed -----------------------------------------------------------------------------


def attend_by_definition(call: Call) -> HeadOutputs:
    """Compute z by plain products, for torch.func transforms and forward-mode derivatives.

    Kernels do not carry batches of ``vmap`` or tangents; products have derivatives of any
    order. All weights are written to memory.
    """
    q = call.q
    k, v = (functional.share_heads(t, q.shape[-3]) for t in (call.k, call.v))
    scores = functional.score(q, k, call.scale)
    weights = functional.softmax(scores, masks.resolve(call.mask, scores.shape, q.device))
    return functional.mix(F.dropout(weights, call.dropout), v)


FEWEST_TRAINED, MOST_TRAINED = 16, 128
"""Tokens in bfloat16 on a CPU for which the backward pass of products is several times as fast
as SDPA's. Beyond 128 the weights, kept for it, take more memory than q, k, v and z."""


def _explicit_unsupported_reason(call: Call) -> str | None:
    if not call.q.is_cpu or call.q.dtype is not torch.bfloat16:
        return "not bfloat16 on a CPU"
    learns = torch.is_grad_enabled() and any(t.requires_grad for t in (call.q, call.k, call.v))
    few, many = min(call.n_query, call.n_key), max(call.n_query, call.n_key)
    if learns and few >= FEWEST_TRAINED and many <= MOST_TRAINED:
        return None
    return f"not {FEWEST_TRAINED} to {MOST_TRAINED} tokens, with gradients"


# --- sequences of different lengths ----------------------------------------------------------


def _sequences_unsupported_reason(call: Call) -> str | None:
    structure, q = call.mask.structure, call.q
    if structure.key_lengths is None:
        return "the mask knows no lengths"
    if not structure.exact:
        return "the mask is more than a band and lengths"
    fits = q.ndim == 4 and len(structure.key_lengths) == len(q)
    return None if fits else "the lengths are not those of the batch"


def attend_each_sequence(call: Call) -> HeadOutputs:
    """Compute z of each sequence, cut to its length, with zeros in the rows of padding.

    The table is asked again about each. A sequence has a band for a mask, so none is cut twice.
    """
    q, k, v, shift, structure = call.q, call.k, call.v, call.shift, call.mask.structure
    n_query, n_key, key_lengths = call.n_query, call.n_key, structure.key_lengths
    query_lengths = structure.query_lengths or (n_key,) * len(key_lengths)
    band, each = band_only(call.mask), []
    for i, (keys, queries) in enumerate(zip(key_lengths, query_lengths, strict=True)):
        # Lengths count positions, of which the first query has number ``shift``.
        rows, keys = min(max(queries - shift, 0), n_query), min(keys, n_key)
        heads = q[i : i + 1, :, :rows], k[i : i + 1, :, :keys], v[i : i + 1, :, :keys]
        z = attend(*heads, band, scale=call.scale, dropout=call.dropout, shift=shift)
        each.append(F.pad(z, (0, 0, 0, n_query - rows)) if rows < n_query else z)
    return torch.cat(each) if each else sdpa.attend_to_nothing(call)


# --- block by block: any predicate, soft caps, sinks ------------------------------------------


def attend_in_blocks(call: Call) -> HeadOutputs:
    """Compute z under any predicate, without a boolean tensor of all queries and keys.

    Source: Rabe and Staats, "Self-attention Does Not Need O(n²) Memory", arXiv 2112.05682.
    """
    parts = [sdpa.masked_sdpa(q, k, v, rows(), call) for q, k, v, rows in blocks(call)]
    return torch.cat(parts, dim=-2) if parts else sdpa.attend_to_nothing(call)


def attend_by_steps(
    steps: GroupedAttend, q: Queries, k: Keys, v: Values, mask: Any
) -> HeadOutputs:
    """Return z by stages with a soft cap or sinks: by FlexAttention on a GPU.

    Elsewhere weights exist for a block of queries, and for the backward pass once more.
    """
    dropout = steps.dropout.p if steps.dropout.training else 0.0
    call = Call.of(q, k, v, mask, scale=steps.scale, dropout=dropout)
    if not call.is_eager:
        return steps(q, k, v, mask)
    if flex.FLEX.unsupported_reason(call) is None:
        return flex.attend_by_flex(call, steps)

    def z_of(q: Queries, k: Keys, v: Values, allowed: Callable[[], Any]) -> HeadOutputs:
        return steps(q, k, v, allowed())

    learns = any(t.requires_grad for t in (q, k, v, *steps.parameters()))
    run = partial(checkpoint, z_of, use_reentrant=False) if learns else z_of
    parts = [run(*block) for block in blocks(call)]
    return torch.cat(parts, dim=-2) if parts else sdpa.attend_to_nothing(call)


# --- the table -------------------------------------------------------------------------------

TABLE = (
    # Recorded or transformed: it runs with other sizes later, or carries more than numbers.
    Kernel("recorded", _recorded_unsupported_reason, attend_recorded),
    Kernel(
        "definition",
        lambda call: "nothing is transformed" if call.is_eager else None,
        attend_by_definition,
    ),
    # No mask, or a band and nothing else: no boolean tensor is needed.
    sdpa.EMPTY,
    sdpa.ONE_QUERY,
    Kernel("explicit weights", _explicit_unsupported_reason, attend_by_definition),
    sdpa.PLAIN,
    # More than a band: a boolean tensor, lengths, or a predicate of which nothing is known.
    flex.FLEX,
    sdpa.UNDER_A_TENSOR,
    Kernel("each sequence", _sequences_unsupported_reason, attend_each_sequence),
    Kernel("blocks of queries", lambda call: None, attend_in_blocks),
)
"""The kernels in the order in which they are asked."""


@dataclass(frozen=True)
class Explanation:
    """A call in words, why each kernel before the chosen one does not serve it, and that one.

    Printed, it is the table of kernels with the answer of every row.
    """

    call: str
    refused: dict[str, str]
    kernel: str

    def __repr__(self) -> str:
        names = [kernel.name for kernel in TABLE]
        answers = {**self.refused, self.kernel: "RUNS"}
        width = max(map(len, names))
        lines = [f"{name:{width}}  {answers.get(name, 'not asked')}" for name in names]
        return "\n".join([self.call, *lines])


def explain(
    q: Queries,
    k: Keys,
    v: Values,
    mask: Any = None,
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Explanation:
    """Say which kernel ``attend`` would run here and now; nothing is computed.

    The answer holds for this call as it is made: with or without gradients, recorded or not,
    under ``torch.func``. Where a row asks the table again about each sequence, explain one.

    >>> q, k, v = (torch.empty(1, 8, 512, 64) for _ in range(3))
    >>> explain(q, k, v, masks.prefix(2))
    q (1, 8, 512, 64), k (1, 8, 512, 64), float32 on cpu, mask prefix(2), dropout 0
    recorded             nothing is recorded
    definition           nothing is transformed
    empty                the mask is more than a band
    one query            not one query
    explicit weights     not bfloat16 on a CPU
    SDPA                 the mask is more than a band
    FlexAttention        not on CUDA
    SDPA under a tensor  the mask is a predicate, on a CPU
    each sequence        the mask knows no lengths
    blocks of queries    RUNS
    """
    given = "a boolean tensor" if isinstance(mask, Tensor) else mask
    dtype = str(q.dtype).removeprefix("torch.")
    words = (
        f"q {tuple(q.shape)}, k {tuple(k.shape)}, {dtype} on {q.device}, mask {given}, "
        f"dropout {dropout:g}"
    )
    call = Call.of(q, k, v, mask, scale=scale, dropout=dropout)
    refused: dict[str, str] = {}
    for kernel in TABLE:
        if (reason := kernel.unsupported_reason(call)) is None:
            break
        refused[kernel.name] = reason
    return Explanation(words, refused, kernel.name)
