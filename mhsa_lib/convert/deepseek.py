"""DeepSeek's attention as latent attention, its weights as they are.

Source: DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv 2405.04434, and "DeepSeek-V3", arXiv
2412.19437.
"""

from functools import partial
from typing import Any

from mhsa_lib import copying
from mhsa_lib.convert.rope_config import rotary, run_with_rotation
from mhsa_lib.convert.source import Source, full_names
from mhsa_lib.convert.verification import converted
from mhsa_lib.rope.rotary import HALVES, INTERLEAVED
from mhsa_lib.variants.latent import LatentAttention

CLASSES = full_names("deepseek_v2:DeepseekV2 deepseek_v3:DeepseekV3")


def from_deepseek(source: Any, *, verify: bool = True) -> LatentAttention:
    """Convert a Hugging Face ``DeepseekV2Attention`` or ``DeepseekV3Attention``.

    ``from_deepseek(m)(x, mask=masks.causal)`` equals ``m(x, …)[0]`` with positions from 0 and
    the model's causal mask. Pairs of rotary features are neighbours, or the halves where V3's
    configuration says ``rope_interleave=False``. Their frequencies are scaled as in
    ``from_llama``, by YaRN in every published checkpoint; its factor in the softmax
    (``mscale_all_dim``) comes along in ``attend.scale``, which is ``m.scaling``.

    Raises as ``mhsa_lib.convert`` says, and ``ValueError`` for latents wider than the model.
    """
    read = Source(source, CLASSES, "from_deepseek")
    return converted(read, _build, run_with_rotation, inputs=("causal",), verify=verify)


def _build(source: Source) -> LatentAttention:
    m = source.module
    # V2 pairs neighbours whatever its configuration says.
    halves = source.name == "DeepseekV3Attention" and not m.config.rope_interleave
    pairing = HALVES if halves else INTERLEAVED
    ours = LatentAttention(
        m.o_proj.out_features,
        m.num_heads,
        m.kv_lora_rank,
        m.qk_rope_head_dim,
        d_q_latent=m.q_lora_rank,
        d_head=m.v_head_dim,
        d_nope=m.qk_nope_head_dim,
        dropout=m.attention_dropout,
        rotary=partial(rotary, m.config, pairing=pairing),
    )
    ours.attend.scale = m.scaling
    W_Q, split = ours.project.W_Q, ours.split
    linears = {"kv_a_proj_with_mqa": ours.project.W_DKV, "o_proj": ours.W_O}
    norms = {"kv_a_layernorm": ours.project.norm}
    if m.q_lora_rank is None:
        linears["q_proj"] = W_Q
    else:
        linears["q_a_proj"], norms["q_a_layernorm"] = W_Q.W_DQ, W_Q.norm
        copying.copy_linear(W_Q.W_UQ, source.take("q_b_proj.weight"), None)
    for path, linear in linears.items():
        copying.copy_linear(linear, *source.linear(path))
    for path, norm in norms.items():
        norm.eps = m.get_submodule(path).variance_epsilon
        copying.copy_parameter(norm, "weight", source.take(f"{path}.weight"))
    # The rows of kv_b_proj alternate: of each head first its key, then its value.
    both = source.take("kv_b_proj.weight")
    widths = [m.qk_nope_head_dim, m.v_head_dim]
    heads = both.detach().unflatten(0, (m.num_heads, sum(widths))).split(widths, dim=1)
    for linear, weight in zip((split.W_UK, split.W_UV), heads, strict=True):
        copying.copy_linear(linear, copying.like(both, weight.flatten(0, 1)), None)
    return ours
