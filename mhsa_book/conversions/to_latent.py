"""Plain attention as latent attention: keys and values of all heads compressed into one latent.

The best matrix of a given rank is the truncated singular value decomposition: Eckart and Young,
Psychometrika 1, 1936.
"""

from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import copying
from mhsa_lib.stages import maps_of
from mhsa_lib.variants.latent import LatentAttention


def mha_to_latent(attention: Any, d_latent: int) -> tuple[LatentAttention, float]:
    """Keys and values through one latent: the nearest of that rank to W_K and W_V together.

    The singular value decomposition of [W_K W_V] (d_model × 2 · n_heads · d_head), cut after
    ``d_latent`` directions, gives W_DKV and [W_UK W_UV]; there is no norm and no rotary column.
    Returns the attention and what was lost: ‖[W_K W_V] - W_DKV [W_UK W_UV]‖ / ‖[W_K W_V]‖
    in the Frobenius norm, 0 from the rank of [W_K W_V] on.

    A bias of K does nothing and is left out. A bias of V moves into that of W_O as b_V · W_O,
    which is the same for every query that sees a key and without dropout. What is made of W_K
    and W_V learns if one of them does. Raises ``TypeError`` for another attention and
    ``ValueError`` for one with a stage that is not its own, or with something added to it.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    >>> whole, lost = mha_to_latent(mha, d_latent=12)
    >>> torch.allclose(whole(x), mha(x), atol=1e-5), lost < 1e-6
    (True, True)
    >>> 0 < mha_to_latent(mha, d_latent=8)[1] < 1
    True
    """
    why, repair = "has no conversion to a latent", "pass an attention with the standard stages"
    copying.check_stages(attention, why, repair, copying.UNSHARED)
    check_one_width(attention, why, repair)
    W_Q, W_K, W_V, W_O = maps_of(attention).values()
    latent = LatentAttention(
        attention.d_model,
        attention.n_heads,
        d_latent,
        0,
        d_head=attention.d_head,
        bias=any(linear.bias is not None for linear in (W_Q, W_V, W_O)),
        dropout=attention.attend.dropout.p,
        norm=nn.Identity,
    ).to(W_O.weight)
    latent.attend.scale = attention.attend.scale
    latent.project.W_DKV.register_parameter("bias", None)  # none is moved there
    both = torch.cat([W_K.weight, W_V.weight]).detach().cpu().double()
    up, size, down = torch.linalg.svd(both, full_matrices=False)
    n = min(d_latent, len(size))
    with torch.no_grad():
        for parameter in latent.parameters():
            parameter.zero_()
        latent.project.W_DKV.weight[:n] = down[:n].to(W_O.weight)
        W_UK, W_UV = (up * size)[:, :n].to(W_O.weight).chunk(2)
        latent.split.W_UK.weight[:, :n] = W_UK
        latent.split.W_UV.weight[:, :n] = W_UV
    for W in (latent.project.W_DKV, latent.split.W_UK, latent.split.W_UV):
        W.requires_grad_(W_K.weight.requires_grad or W_V.weight.requires_grad)
    copying.copy_linear(latent.project.W_Q, W_Q.weight, W_Q.bias)
    copying.copy_linear(latent.W_O, W_O.weight, _moved(W_V, W_O))
    lost = (size[n:].norm() / size.norm()).item() if size.any() else 0.0
    return latent.train(attention.training), lost


def _moved(W_V: nn.Linear, W_O: nn.Linear) -> Tensor | None:
    """The bias of W_O with that of W_V in it; it learns if one of them does."""
    if W_V.bias is None:
        return W_O.bias
    moved = W_O.weight.detach() @ W_V.bias.detach()
    if W_O.bias is None:
        return copying.like(W_V.bias, moved)
    learns = W_V.bias.requires_grad or W_O.bias.requires_grad
    return (moved + W_O.bias.detach()).requires_grad_(learns)


def check_one_width(attention: Any, action: str, fix: str) -> None:
    """Raise ``ValueError`` unless queries and keys are made of tokens of the same width.

    >>> from mhsa_lib import MultiHeadAttention
    >>> check_one_width(MultiHeadAttention(12, 3, d_context=5), "has no latent", "keep it")
    Traceback (most recent call last):
    ...
    ValueError: d_context=5 differs from d_model=12, which has no latent: keep it.
    """
    if attention.d_context != attention.d_model:
        raise ValueError(
            f"d_context={attention.d_context} differs from d_model={attention.d_model}, "
            f"which {action}: {fix}."
        )
