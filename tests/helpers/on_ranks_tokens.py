"""What two ranks do that share a text by its tokens."""

import torch

from mhsa_book.parallel import comparison
from mhsa_lib import masks
from mhsa_lib.parallel import exchange_heads
from tests.helpers.sharded import BY_TOKENS, drawn


def by_tokens(mesh):
    """A block of the text on every rank: differences, what is sent, masks, and a step."""
    found = {}
    rank, ranks = mesh.get_rank(), mesh.size()
    for kind in BY_TOKENS:
        whole, x = drawn(kind)
        other, _ = drawn(kind, seed=rank)
        there = comparison.compare(
            whole, exchange_heads(other, mesh), x, cut=comparison.BY_TOKENS
        )
        padded = masks.causal & masks.key_padding([6, 4])
        apart = torch.rand(2, whole.n_heads, 6, 6, generator=torch.manual_seed(0)) < 0.7
        blocks = [t.chunk(ranks, dim=-2)[rank] for t in (x, x.flip(-2))]
        masked = [
            comparison.far(
                other(*blocks, mask=rule), whole(x, x.flip(-2), rule).chunk(ranks, -2)[rank]
            )
            for rule in (padded, apart)
        ]
        names = {op.name for ops in there.said.values() for op in ops}
        sent = [op.bytes for op in there.said["forward"]]
        found[kind] = [there.differences, masked, sorted(names), sent]
    return found
