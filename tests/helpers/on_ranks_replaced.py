"""What two ranks learn after other code has replaced or thawed their parameters."""

from copy import deepcopy

from mhsa_book.parallel import comparison
from mhsa_lib import kv_cache, masks
from mhsa_lib.parallel import exchange_heads
from mhsa_lib.parallel.tensor_parallel import parallelize
from tests.helpers.sharded import LATENT, drawn


def assigned(attention):
    attention.load_state_dict(
        {n: t.clone() for n, t in attention.state_dict().items()}, assign=True
    )
    return attention


def thawed(attention):
    return attention.requires_grad_(True)


WAYS = {"deepcopy": deepcopy, "assigned": assigned, "thawed": thawed}
DIVIDED = {
    **{kind: (parallelize, comparison.BY_HEADS) for kind in LATENT},
    **{kind: (exchange_heads, comparison.BY_TOKENS) for kind in ("mha", "gqa")},
}


def replaced(mesh):
    """Gradients against one process, with parameters that are not those of the beginning."""
    found = {}
    for kind, (divide, cut) in DIVIDED.items():
        for name, way in WAYS.items():
            whole, x = drawn(kind)
            here = drawn(kind)[0].requires_grad_(name != "thawed")
            rank = comparison.compare(whole, way(divide(here, mesh)), x, cut=cut)
            found[f"{kind}, {name}"] = rank.differences
    return found


def cached(mesh):
    """What a cache around exchanged heads is told."""
    whole, x = drawn("mha")
    divided = exchange_heads(whole, mesh)
    block = x.chunk(mesh.size(), dim=-2)[mesh.get_local_rank()]
    try:
        with kv_cache(divided):
            divided(block, mask=masks.causal)
            divided(block, mask=masks.causal)
    except ValueError as error:
        return str(error)
    return "NOT REFUSED"
