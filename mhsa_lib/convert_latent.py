"""Into latent attention: DeepSeek's weights as they are, anyone's keys and values compressed.

Source: DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv 2405.04434, and "DeepSeek-V3", arXiv
2412.19437. The best matrix of a given rank is the truncated singular value decomposition:
Eckart and Young, Psychometrika 1, 1936.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import carried, known
from mhsa_lib.rope import HALVES, INTERLEAVED, Rotary
from mhsa_lib.variants.latent import LatentAttention, LatentQuery

KNOWN = ("DeepseekV2Attention", "DeepseekV3Attention")
"""Classes that are converted."""


def from_deepseek(source: Any) -> LatentAttention:
    """From a Hugging Face ``DeepseekV2Attention`` or ``DeepseekV3Attention``.

    ``from_deepseek(m)(x, mask=masks.causal)`` equals ``m(x, …)[0]`` with positions from 0 and
    the model's causal mask. Pairs of rotary columns are neighbours, or the halves where V3's
    configuration says ``rope_interleave=False``. Not converted: the frequencies and the scale
    of a stretched context, YaRN's for example (``ValueError``).
    """
    kind = type(source).__name__
    if kind not in KNOWN:
        raise TypeError(
            f"from_deepseek takes {KNOWN[0]} or {KNOWN[1]}, not {kind}; pass the attention "
            f"module itself, not the block or the model around it."
        )
    config, rope = source.config, source.config.rope_parameters
    if rope.get("rope_type", "default") != "default":
        raise ValueError(
            f"rope_type={rope['rope_type']!r} stretches the context, with other frequencies "
            f"and another scale; only 'default' is converted."
        )
    pairing = INTERLEAVED if getattr(config, "rope_interleave", True) else HALVES
    latent = LatentAttention(
        config.hidden_size,
        source.num_heads,
        source.kv_lora_rank,
        source.qk_rope_head_dim,
        d_q_latent=source.q_lora_rank,
        d_head=source.v_head_dim,
        d_nope=source.qk_nope_head_dim,
        bias=config.attention_bias,
        dropout=source.attention_dropout,
        rotary=partial(Rotary, base=rope["rope_theta"], pairing=pairing),
        norm=partial(nn.RMSNorm, eps=source.kv_a_layernorm.variance_epsilon),
    ).to(source.o_proj.weight)
    project, split, W_Q = latent.project, latent.split, latent.project.W_Q
    maps = {
        project.W_DKV: source.kv_a_proj_with_mqa,
        project.norm: source.kv_a_layernorm,
        latent.W_O: source.o_proj,
    }
    if isinstance(W_Q, LatentQuery):
        maps |= {W_Q.W_DQ: source.q_a_proj, W_Q.norm: source.q_a_layernorm}
        maps |= {W_Q.W_UQ: source.q_b_proj}
    else:
        maps |= {W_Q: source.q_proj}
    for ours, theirs in maps.items():
        given = theirs.state_dict()
        if getattr(ours, "bias", None) is not None and theirs.bias is None:
            given["bias"] = torch.zeros_like(ours.bias)
        ours.load_state_dict(given)
    widths = [source.qk_nope_head_dim, source.v_head_dim]
    heads = source.kv_b_proj.weight.detach().unflatten(0, (source.num_heads, sum(widths)))
    for ours, weight in zip((split.W_UK, split.W_UV), heads.split(widths, dim=1), strict=True):
        ours.load_state_dict({"weight": weight.flatten(0, 1)})
    return latent.train(source.training)


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
    known.plain(attention, why, repair, known.UNSHARED)
    known.one_width(attention, why, repair)
    project, W_O = attention.project, attention.W_O
    W_Q, W_K, W_V = project.W_Q, project.W_K, project.W_V
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
    carried.copy(latent.project.W_Q, W_Q.weight, W_Q.bias)
    carried.copy(latent.W_O, W_O.weight, _moved(W_V, W_O))
    lost = size[n:].norm() / size.norm()
    return latent.train(attention.training), lost.item()


def _moved(W_V: nn.Linear, W_O: nn.Linear) -> Tensor | None:
    """The bias of W_O with that of W_V in it; it learns if one of them does."""
    if W_V.bias is None:
        return W_O.bias
    moved = W_O.weight.detach() @ W_V.bias.detach()
    if W_O.bias is None:
        return carried.like(W_V.bias, moved)
    learns = W_V.bias.requires_grad or W_O.bias.requires_grad
    return (moved + W_O.bias.detach()).requires_grad_(learns)
