"""Which kernel computes z: one table, read from top to bottom; the first row that serves runs.

``F.scaled_dot_product_attention`` (SDPA) knows "no mask", "causal" and "this boolean tensor".
What a predicate says about its structure (``masks.structure``) becomes calls that need no
tensor of (query × key): a *band*, such as causal or a window, becomes tiles or SDPA's own
causal mode; padded sequences are cut to their lengths; where nothing is known, the rule is
asked about a block of queries at a time.

A row has a name, says when it runs unless an earlier one does, and holds two functions: why it
does *not* serve a call, in words, or "" if it does; and the kernel. The reasons stand in
``conditions`` in the same order, with what was measured; ``fused.explain`` prints them for a
call, which is the quickest way to an answer. Two rows cut the call, into one call for each
sequence, and ask the table again about each part: *sequences end to end* and *each sequence*.
The parts have one sequence, and a band for a mask, so no part is cut twice.

Source: Dao et al., "FlashAttention", arXiv 2205.14135; Dong et al., "Flex Attention", arXiv
2412.05496.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from mhsa_lib.fused import conditions, sequences
from mhsa_lib.fused.blocks import attend_in_blocks
from mhsa_lib.fused.call import Call
from mhsa_lib.fused.definition import attend_by_definition
from mhsa_lib.fused.flex import attend_by_flex
from mhsa_lib.fused.one_query import attend_keys_first, attend_one_query
from mhsa_lib.fused.sdpa import (
    attend_at_any_length,
    attend_by_sdpa,
    attend_causally_by_sdpa,
    attend_under_a_tensor,
)
from mhsa_lib.fused.tiled import attend_in_tiles
from mhsa_lib.fused.varlen import attend_by_varlen
from mhsa_lib.fused.written import attend_by_written_weights
from mhsa_lib.shapes import HeadOutputs, Keys, Queries, Values


class Row(NamedTuple):
    """A kernel: when it runs, why it does not serve a call ("" if it does), and itself."""

    name: str
    when: str
    against: Callable[[Call], str]
    attend: Callable[[Call], HeadOutputs]


def attend(
    q: Queries,
    k: Keys,
    v: Values,
    mask: Any,
    *,
    scale: float,
    dropout: float = 0.0,
    spend_q: bool = False,
    lengths: tuple[int, ...] | None = None,
) -> HeadOutputs:
    """z of every head, by the first row of ``TABLE`` that serves; arguments as in ``Call``.

    A query that sees nothing gets zeros. With ``lengths``, sequences lie end to end, in tensors
    (head, token, d_head), and of the mask its band counts.

    >>> import torch
    >>> from mhsa_lib import masks
    >>> q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    >>> z = attend(q, k, v, masks.sliding_window(2), scale=0.5)
    >>> dense = masks.sliding_window(2).dense(5, 5)
    >>> torch.allclose(z, attend(q, k, v, dense, scale=0.5), atol=1e-6)
    True
    """
    call = Call.of(
        q, k, v, mask, scale=scale, dropout=dropout, spend_q=spend_q, lengths=lengths
    )
    return run(call)


def run(call: Call) -> HeadOutputs:
    """What the first row gives that serves; the last one serves every call."""
    for row in TABLE:
        if not row.against(call):
            return row.attend(call)
    raise AssertionError("the last row serves everything")


def _each_end_to_end(call: Call) -> HeadOutputs:
    return sequences.attend_each_end_to_end(call, run)


def _each_sequence(call: Call) -> HeadOutputs:
    return sequences.attend_each_sequence(call, run)


TABLE = (
    # Recorded or transformed: it runs with other sizes later, or carries more than numbers.
    Row(
        "any length",
        "recorded by torch.compile, torch.export or torch.jit.trace",
        conditions.against_any_length,
        attend_at_any_length,
    ),
    Row(
        "definition",
        "transformed by torch.func, or in forward-mode differentiation",
        conditions.against_definition,
        attend_by_definition,
    ),
    # Sequences end to end, (head, token, d_head): what is left of a batch without its padding.
    Row(
        "varlen",
        "sequences end to end on CUDA, in 16 bits, without dropout, if torch has such a kernel",
        conditions.against_varlen,
        attend_by_varlen,
    ),
    Row(
        "sequences end to end",
        "any others: the table is asked again for each of them",
        conditions.against_end_to_end,
        _each_end_to_end,
    ),
    # No mask, or a band and nothing else: no boolean tensor is needed.
    Row(
        "nothing",
        "no query or no key, under a band or no mask: zeros",
        conditions.against_nothing,
        sequences.attend_to_nothing,
    ),
    Row(
        "keys first",
        "one query, no dropout, on a CPU, over keys of 4 MiB or more",
        conditions.against_keys_first,
        attend_keys_first,
    ),
    Row(
        "one query",
        "one query, no dropout, over fewer keys: SDPA, heads of a group as rows of one",
        conditions.against_one_query,
        attend_one_query,
    ),
    Row(
        "written weights",
        "any mask, bfloat16 on a CPU, 16 to 128 tokens (64 to 128 without gradients), no "
        "dropout, every query head with keys of its own",
        conditions.against_written_weights,
        attend_by_written_weights,
    ),
    Row(
        "tiles",
        "a CPU where oneDNN is chosen, no dropout; bfloat16 from 64 tokens; float32 from 256 "
        "tokens, without gradients only",
        conditions.against_tiles,
        attend_in_tiles,
    ),
    Row(
        "SDPA",
        "every query looks at every key",
        conditions.against_sdpa,
        attend_by_sdpa,
    ),
    Row(
        "causal SDPA",
        "causal, as many queries as keys; but not 256 to 1024 queries on a CPU that need "
        "neither gradients nor dropout: blocks of queries are faster there",
        conditions.against_causal_sdpa,
        attend_causally_by_sdpa,
    ),
    # More than a band: a boolean tensor, lengths, or a rule of which nothing is known.
    Row(
        "FlexAttention",
        "a rule, 128 queries or more, on CUDA, without dropout, from torch 2.7 on",
        conditions.against_flex,
        attend_by_flex,
    ),
    Row(
        "SDPA under a tensor",
        "a boolean tensor, or any rule that is not on a CPU",
        conditions.against_tensor,
        attend_under_a_tensor,
    ),
    Row(
        "each sequence",
        "a batch with its lengths: the table is asked again for each sequence, cut to its own",
        conditions.against_each_sequence,
        _each_sequence,
    ),
    Row(
        "blocks of queries",
        "every other rule, asked about 256 queries at a time, or 64 where 256 to 1024 queries "
        "need neither gradients nor dropout",
        conditions.against_blocks,
        attend_in_blocks,
    ),
)
"""The order of choice: the first row that serves a call runs."""
