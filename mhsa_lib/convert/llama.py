"""Weights of Llama and its kin in our five stages: shared keys, rotary positions, norms, sinks.

Source: Touvron et al., "Llama 2", arXiv 2307.09288; Grattafiori et al., "The Llama 3 Herd of
Models", section 3.2, arXiv 2407.21783; Qwen Team, "Qwen3", section 2, arXiv 2505.09388; Gemma
Team, "Gemma 2", arXiv 2408.00118, and "Gemma 3", arXiv 2503.19786; Abdin et al., "Phi-3", arXiv
2404.14219; OLMo Team, "2 OLMo 2 Furious", arXiv 2501.00656; OpenAI, "gpt-oss", 2508.10925.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from mhsa_lib.accept import kinds, parameters
from mhsa_lib.convert import source as convert_source
from mhsa_lib.convert.llama_stages import CappedAttend, GemmaNorm, NormedProject, SinkAttend
from mhsa_lib.convert.source import MODELS
from mhsa_lib.rope.rotary import HALVES, RotarySplit
from mhsa_lib.stages import Project
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention

_MAPS: kinds.Kinds = {path: (nn.Linear,) for path in ("q_proj", "k_proj", "v_proj", "o_proj")}


def _normed(norm: str) -> kinds.Kinds:
    return {**_MAPS, "q_norm": (MODELS + norm,), "k_norm": (MODELS + norm,)}


KNOWN: dict[str, kinds.Kinds] = {
    "llama.modeling_llama.LlamaAttention": _MAPS,
    "mistral.modeling_mistral.MistralAttention": _MAPS,
    "qwen2.modeling_qwen2.Qwen2Attention": _MAPS,
    "qwen3.modeling_qwen3.Qwen3Attention": _normed("qwen3.modeling_qwen3.Qwen3RMSNorm"),
    "gemma.modeling_gemma.GemmaAttention": _MAPS,
    "gemma2.modeling_gemma2.Gemma2Attention": _MAPS,
    "gemma3.modeling_gemma3.Gemma3Attention": _normed("gemma3.modeling_gemma3.Gemma3RMSNorm"),
    "phi3.modeling_phi3.Phi3Attention": {"qkv_proj": (nn.Linear,), "o_proj": (nn.Linear,)},
    "olmo2.modeling_olmo2.Olmo2Attention": _normed("olmo2.modeling_olmo2.Olmo2RMSNorm"),
    "gpt_oss.modeling_gpt_oss.GptOssAttention": _MAPS,
}
"""Classes that are converted, by their name below ``transformers.models``, and their parts."""

_LEAVES_OUT = {
    "cap": {"sdpa"},
    "sinks": {"sdpa", "flash_attention_2", "kernels-community/flash-attn2"},
}


def from_llama(source: Any) -> GroupedQueryAttention:
    """From a Hugging Face ``LlamaAttention``, or one of its relatives:

    ===================  ==================================================================
    Llama, Mistral       rotary positions as the stage ``split``
    Qwen2, Qwen3         biases; norms of every head, in ``split``
    Gemma                a ``d_head`` of its own
    Gemma2               scores under a cap: ``llama_stages.CappedAttend``
    Gemma3               norms of every head; positions of the kind of its layer
    Phi3                 one packed map; ``rope.PartialRotary`` where a part of a head turns
    Olmo2                norms of all heads together: ``llama_stages.NormedProject``
    GptOss               sinks: ``llama_stages.SinkAttend``, whose weights sum to less than 1
    ===================  ==================================================================

    ``convert.from_llama(m)(x, mask=masks.causal)`` equals ``m(x, …)[0]`` with positions from 0
    and the model's causal mask; a layer with ``m.sliding_window`` needs
    ``masks.sliding_window(m.sliding_window)``. A layer with a cap or sinks that is set to the
    attention that leaves it out ("sdpa" both, flash attention 2 sinks) is refused, as is one
    registered under a name of somebody's own (``ValueError``).

    Pairs of rotary columns are the two halves of a head, frequencies plain or scaled as the
    configuration says: linear, proportional, dynamic, llama3, yarn and longrope
    (``mhsa_lib.rope.scaling``). Dynamic and longrope ones depend on the length of the text:
    equal is one pass, and decoding as long as kept keys need not turn again; the call in which
    they would is refused (``ValueError``).

    Not converted: other classes (``TypeError``), parts that are not those of the class, such as
    adapters, or anything added to them (``ValueError``; merge adapters first).
    """
    name = convert_source.checked(source, KNOWN, "has no conversion by convert.from_llama")
    weights, biases = _projections(source)
    (d_heads, d_model), d_kv_heads = weights[0].shape, weights[1].shape[0]
    d_head, bias = source.head_dim, any(given is not None for given in biases)
    n_heads, n_kv_heads = d_heads // d_head, d_kv_heads // d_head
    norms = {
        norm: _norm(getattr(source, norm))
        for norm in ("q_norm", "k_norm")
        if hasattr(source, norm)
    }
    layer_type = getattr(source, "layer_type", None)
    if getattr(source, "is_sliding", False):  # before transformers 5, all that Gemma 3 says
        layer_type = "sliding_attention"
    rotary = convert_source.rotary(
        source.config,
        d_head,
        HALVES,
        layer_type=layer_type,
        partial=name == "Phi3Attention",
    )
    project, of_heads = Project(d_model, d_heads, d_kv_heads, bias=bias), norms
    if name == "Olmo2Attention":
        project = NormedProject(d_model, d_heads, d_kv_heads, bias=bias, **norms)
        of_heads = {}
    attention = GroupedQueryAttention(
        d_model,
        n_heads,
        n_kv_heads,
        d_head=d_head,
        bias=source.o_proj.bias is not None,
        project=project,
        split=RotarySplit(n_heads, rotary, n_kv_heads, **of_heads),
        attend=_attend(source, name, n_heads),
    ).to(weights[0])
    output = source.o_proj
    parameters.fill(attention, [*weights, output.weight], [*biases, output.bias])
    for norm, ours in norms.items():
        parameters.write(ours.weight, getattr(source, norm).weight)
    if isinstance(attention.attend, SinkAttend):
        parameters.write(attention.attend.sinks, source.sinks)
    return attention.train(source.training)


def _projections(source: Any) -> tuple[Sequence[Tensor], Sequence[Tensor | None]]:
    """Weights and biases of the three maps, cut out of one where they are packed."""
    if not hasattr(source, "qkv_proj"):
        maps = source.q_proj, source.k_proj, source.v_proj
        return [W.weight for W in maps], [W.bias for W in maps]
    packed, d_kv_heads = source.qkv_proj, source.num_key_value_heads * source.head_dim
    widths = [packed.out_features - 2 * d_kv_heads, d_kv_heads, d_kv_heads]
    return parameters.cut(packed.weight, widths), parameters.cut(packed.bias, widths)


def _norm(given: Any) -> Any:
    """The same norm, of the width of theirs; Gemma's differs."""
    if type(given).__name__ == "Gemma3RMSNorm":
        return GemmaNorm(len(given.weight), given.eps)
    return nn.RMSNorm(len(given.weight), eps=given.variance_epsilon)


def _attend(source: Any, name: str, n_heads: int) -> GroupedAttend:
    scale, dropout = float(source.scaling), float(source.attention_dropout)
    # Gemma 3 keeps the name of the cap and does not use it.
    cap = source.attn_logit_softcapping if name == "Gemma2Attention" else None
    if cap is None and name != "GptOssAttention":
        return GroupedAttend(scale, dropout)
    part, way = "sinks" if cap is None else "cap", source.config._attn_implementation
    if way in _LEAVES_OUT[part]:
        raise ValueError(
            f"{name} is set to {way!r}, which leaves out its {part}; set "
            f"config._attn_implementation='eager' first."
        )
    if cap is None:
        return SinkAttend(scale, n_heads, dropout)
    return CappedAttend(scale, float(cap), dropout)
