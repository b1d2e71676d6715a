"""DeepSeek's attention as latent attention, its weights as they are.

Source: DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv 2405.04434, and "DeepSeek-V3", arXiv
2412.19437.
"""

from functools import partial
from typing import Any

from torch import nn

from mhsa_lib.accept import kinds, parameters
from mhsa_lib.convert import source as convert_source
from mhsa_lib.convert.source import MODELS
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED
from mhsa_lib.variants.latent import LatentAttention

_MAPS = "q_proj", "q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"


def _parts(norm: str) -> kinds.Kinds:
    norms = dict.fromkeys(("q_a_layernorm", "kv_a_layernorm"), (MODELS + norm,))
    return {**dict.fromkeys(_MAPS, (nn.Linear,)), **norms}


KNOWN: dict[str, kinds.Kinds] = {
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
    configuration says ``rope_interleave=False``. Their frequencies are scaled as the
    configuration says, by YaRN in every published checkpoint; its factor in the softmax
    (``mscale_all_dim``) comes along in ``attend.scale``, which is ``m.scaling``. For a
    scaling that depends on the length of the text see ``from_llama``.

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
        parameters.copy(ours, theirs.weight, theirs.bias)
    for norm, given in norms.items():
        norm.eps = given.variance_epsilon
        parameters.write(norm.weight, given.weight)
    widths = [source.qk_nope_head_dim, source.v_head_dim]
    both = source.kv_b_proj.weight
    heads = both.detach().unflatten(0, (source.num_heads, sum(widths))).split(widths, dim=1)
    for ours, weight in zip((split.W_UK, split.W_UV), heads, strict=True):
        parameters.copy(ours, parameters.like(both, weight.flatten(0, 1)), None)
    return latent.train(source.training)


def _no_bias(source: Any, path: str) -> None:
    """Two maps of V2 and V3 have none, nor have ours."""
    if getattr(getattr(source, path, None), "bias", None) is not None:
        raise ValueError(
            f"{path} has a bias, which latent attention has no place for; set it to None if it "
            f"is zero."
        )
