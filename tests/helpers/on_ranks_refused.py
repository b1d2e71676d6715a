"""What two ranks are refused."""

from copy import deepcopy

import torch
from torch.distributed.device_mesh import init_device_mesh

from mhsa_book.parallel import comparison
from mhsa_lib import LatentAttention, MultiHeadAttention
from mhsa_lib.parallel import exchange_heads
from mhsa_lib.parallel.tensor_parallel import parallelize
from mhsa_lib.variants import MultiQueryAttention
from tests.helpers.sharded import drawn, fused


def refusals(mesh):
    """What cannot be sharded is refused, and left as it was."""
    found = {}
    attentions = {
        "n_heads": MultiHeadAttention(12, 3),
        "n_kv_heads": MultiQueryAttention(12, 4),
        "fused": fused(MultiHeadAttention(12, 3)),
        "twice": parallelize(MultiHeadAttention(12, 4), mesh),
    }
    for name, attention in attentions.items():
        before, x = deepcopy(attention), torch.randn(6, 12)
        found[name] = refused(attention, mesh)
        same = comparison.far(attention(x), before(x)) == 0
        found[name] += " kept" if same and str(attention) == str(before) else " CHANGED"
    square = init_device_mesh("cpu", (1, 2))
    found["mesh"] = refused(MultiHeadAttention(12, 4), square)
    found["latent heads"] = refused(LatentAttention(12, 3, d_latent=4, d_rope=2), mesh)
    norm = torch.nn.utils.parametrizations.weight_norm
    mixed = LatentAttention(12, 4, d_latent=4, d_rope=2)
    norm(mixed.split.W_UK)
    found["latent part"] = refused(mixed, mesh)
    for name, attention, where in (
        ("tokens, heads", MultiHeadAttention(12, 3), mesh),
        ("tokens, keys", MultiQueryAttention(12, 4), mesh),
        ("tokens, positions", drawn("rotary")[0], mesh),
        ("tokens, latent", drawn("latent")[0], mesh),
        ("tokens, fused", drawn("fused")[0], mesh),
        ("tokens, mesh", MultiHeadAttention(12, 4), square),
    ):
        found[name] = refused(attention, where, exchange_heads)
    uneven = exchange_heads(MultiHeadAttention(12, 4), mesh)
    block = torch.zeros(3 - mesh.get_rank(), 12)
    found["tokens, uneven"] = refused(block, mesh, lambda x, _: uneven(x))
    return found


def refused(attention, mesh, divide=parallelize):
    try:
        divide(attention, mesh)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}" if divide is not parallelize else str(error)
    return "NOT REFUSED"
