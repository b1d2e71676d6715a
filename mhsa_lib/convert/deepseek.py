"""Into latent attention: DeepSeek's weights as they are, anyone's keys and values compressed.

Source: DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv 2405.04434, and "DeepSeek-V3", arXiv
2412.19437. The best matrix of a given rank is the truncated singular value decomposition:
Eckart and Young, Psychometrika 1, 1936.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib.accept import carry, known
from mhsa_lib.convert import source as convert_source
from mhsa_lib.convert.source import MODELS
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED
from mhsa_lib.variants.latent import LatentAttention

_MAPS = "q_proj", "q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"


def _parts(norm: str) -> known.Kinds:
    norms = dict.fromkeys(("q_a_layernorm", "kv_a_layernorm"), (MODELS + norm,))
    return {**dict.fromkeys(_MAPS, (nn.Linear,)), **norms}


KNOWN: dict[str, known.Kinds] = {
    f"deepseek_{v}.modeling_deepseek_{v}.Deepseek{v.upper()}Attention": _parts(
        f"deepseek_{v}.modeling_deepseek_{v}.Deepseek{v.upper()}RMSNorm"
    )
    for v in ("v2", "v3")
}
"""Classes that are converted, by their name below ``transformers.models``, and their parts."""


def from_deepseek(source: Any) -> LatentAttention:
    """From a Hugging Face ``DeepseekV2Attention`` or ``DeepseekV3Attention``.

    ``from_deepseek(m)(x, mask=masks.causal)`` equals ``m(x, …)[0]`` with positions from 0 and
    the model's causal mask. Pairs of rotary columns are neighbours, or the halves where V3's
    configuration says ``rope_interleave=False``. Their frequencies are stretched as the
    configuration says, by YaRN in every published checkpoint; its factor in the softmax
    (``mscale_all_dim``) comes along in ``attend.scale``, which is ``m.scaling``. For a
    stretch that depends on the length of the text see ``from_llama``.

    Not converted: other classes, such as those that a checkpoint brings along
    (``TypeError``); parts that are not those of the class or have a bias that V2 and V3 have
    no place for, and latents wider than the model (``ValueError``; merge adapters first).
    """
    name = convert_source.checked(source, KNOWN, "has no conversion by from_deepseek")
    for path in ("q_b_proj", "kv_b_proj"):
        _no_bias(source, path)
    halves = name == "DeepseekV3Attention" and not source.config.rope_interleave
    compressed = source.q_lora_rank is not None
    first = source.q_a_proj if compressed else source.q_proj
    biased = first, source.kv_a_proj_with_mqa, source.o_proj
    latent = LatentAttention(
        source.o_proj.out_features,
        source.num_heads,
        source.kv_lora_rank,
        source.qk_rope_head_dim,
        d_q_latent=source.q_lora_rank,
        d_head=source.v_head_dim,
        d_nope=source.qk_nope_head_dim,
        bias=any(linear.bias is not None for linear in biased),
        dropout=source.attention_dropout,
        rotary=partial(
            convert_source.rotary, source.config, pairing=HALVES if halves else INTERLEAVED
        ),
    ).to(source.o_proj.weight)
    latent.attend.scale = source.scaling
    project, split, W_Q = latent.project, latent.split, latent.project.W_Q
    maps = {project.W_DKV: source.kv_a_proj_with_mqa, latent.W_O: source.o_proj}
    norms = {project.norm: source.kv_a_layernorm}
    if compressed:
        maps |= {W_Q.W_DQ: source.q_a_proj, W_Q.W_UQ: source.q_b_proj}
        norms |= {W_Q.norm: source.q_a_layernorm}
    else:
        maps |= {W_Q: source.q_proj}
    for ours, theirs in maps.items():
        carry.copy(ours, theirs.weight, theirs.bias)
    for norm, given in norms.items():
        norm.eps = given.variance_epsilon
        carry.write(norm.weight, given.weight)
    widths = [source.qk_nope_head_dim, source.v_head_dim]
    both = source.kv_b_proj.weight
    heads = both.detach().unflatten(0, (source.num_heads, sum(widths))).split(widths, dim=1)
    for ours, weight in zip((split.W_UK, split.W_UV), heads, strict=True):
        carry.copy(ours, carry.like(both, weight.flatten(0, 1)), None)
    return latent.train(source.training)


def _no_bias(source: Any, path: str) -> None:
    """Two maps of V2 and V3 have none, nor have ours."""
    if getattr(getattr(source, path, None), "bias", None) is not None:
        raise ValueError(
            f"{path} has a bias, which latent attention has no place for; set it to None if it "
            f"is zero."
        )


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
    carry.copy(latent.project.W_Q, W_Q.weight, W_Q.bias)
    carry.copy(latent.W_O, W_O.weight, _moved(W_V, W_O))
    lost = (size[n:].norm() / size.norm()).item() if size.any() else 0.0
    return latent.train(attention.training), lost


def _moved(W_V: nn.Linear, W_O: nn.Linear) -> Tensor | None:
    """The bias of W_O with that of W_V in it; it learns if one of them does."""
    if W_V.bias is None:
        return W_O.bias
    moved = W_O.weight.detach() @ W_V.bias.detach()
    if W_O.bias is None:
        return carry.like(W_V.bias, moved)
    learns = W_V.bias.requires_grad or W_O.bias.requires_grad
    return (moved + W_O.bias.detach()).requires_grad_(learns)
