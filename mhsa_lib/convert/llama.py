"""Weights of Llama and its kin in our five stages: shared keys, rotary positions, norms, sinks.

Source: Touvron et al., "Llama 2", arXiv 2307.09288; Grattafiori et al., "The Llama 3 Herd of
Models", section 3.2, arXiv 2407.21783; Qwen Team, "Qwen3", section 2, arXiv 2505.09388; Gemma
Team, "Gemma 2", arXiv 2408.00118, and "Gemma 3", arXiv 2503.19786; Abdin et al., "Phi-3", arXiv
2404.14219; OLMo Team, "2 OLMo 2 Furious", arXiv 2501.00656; OpenAI, "gpt-oss", 2508.10925.
"""

from typing import Any

from torch import nn

from mhsa_lib import copying
from mhsa_lib.convert.rope_config import rotary, run_with_rotation
from mhsa_lib.convert.source import Source, fill, full_names, write
from mhsa_lib.convert.verification import compare, converted
from mhsa_lib.llama_stages import CappedAttend, GemmaNorm, NormedProject, SinkAttend
from mhsa_lib.rope.rotary import HALVES, RotarySplit
from mhsa_lib.stages import Project
from mhsa_lib.variants.grouped import GroupedAttend, GroupedQueryAttention

CLASSES = full_names(
    "llama:Llama mistral:Mistral qwen2:Qwen2 qwen3:Qwen3 gemma:Gemma gemma2:Gemma2 "
    "gemma3:Gemma3 phi3:Phi3 olmo2:Olmo2 gpt_oss:GptOss"
)


def from_llama(source: Any, *, verify: bool = True) -> GroupedQueryAttention:
    """Convert a Hugging Face ``LlamaAttention``, or a relative (``mhsa_lib.llama_stages``):

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
    and the mask that its model makes. That is ``masks.causal``, or ``masks.sliding_window(w)``
    in a layer with a window: w is ``m.sliding_window`` where the attention has it (Qwen2,
    Gemma2, Gemma3, GptOss: None in layers without a window), and ``m.config.sliding_window`` in
    Mistral and Phi3, for all layers alike. Gemma 3 with ``config.use_bidirectional_attention``
    attends in both directions: no mask in its full layers, and ``|query - key| < w`` in the
    others, which is ``masks.custom(lambda q, k: (q - k).abs() < w)``.

    Frequencies are plain or scaled as the configuration says: linear, llama3 or yarn
    (``mhsa_lib.rope.scaling``). Scalings that depend on the length of the text, dynamic and
    longrope, are refused: cached keys would have to be rotated again as it grows.

    Raises as ``mhsa_lib.convert`` says, and ``ValueError`` for a layer with a cap or sinks that
    is set to "sdpa", which leaves both out, or any that is set to a kernel for a GPU: call
    ``model.set_attn_implementation("eager")`` first.
    """
    read = Source(source, CLASSES, "from_llama")
    return converted(read, _build, run_with_rotation, inputs=("causal",), verify=verify)


def _build(source: Source) -> GroupedQueryAttention:
    m, d_head = source.module, source.module.head_dim
    if hasattr(m, "qkv_proj"):
        d_kv_heads = m.num_key_value_heads * d_head
        widths = [m.qkv_proj.out_features - 2 * d_kv_heads, d_kv_heads, d_kv_heads]
        packed = source.linear("qkv_proj")
        weights, biases = (copying.split_rows(part, widths) for part in packed)
    else:
        maps = [source.linear(f"{name}_proj") for name in "qkv"]
        weights, biases = ([*parts] for parts in zip(*maps, strict=True))
    (d_heads, d_model), d_kv_heads = weights[0].shape, weights[1].shape[0]
    n_heads, n_kv_heads = d_heads // d_head, d_kv_heads // d_head
    norms = {name: _norm(m, name) for name in ("q_norm", "k_norm") if hasattr(m, name)}
    rotation = rotary(m.config, d_head, HALVES, layer_type=getattr(m, "layer_type", None))
    project, of_heads = Project(d_model, d_heads, d_kv_heads), norms
    if source.name == "Olmo2Attention":
        project, of_heads = NormedProject(d_model, d_heads, d_kv_heads, **norms), {}
    output, b_O = source.linear("o_proj")
    attention = GroupedQueryAttention(
        d_model,
        n_heads,
        n_kv_heads,
        d_head=d_head,
        project=project,
        split=RotarySplit(n_heads, rotation, n_kv_heads, **of_heads),
        attend=_attend(source, n_heads),
    )
    fill(attention, [*weights, output], [*biases, b_O])
    for name, norm in norms.items():
        copying.copy_parameter(norm, "weight", source.take(f"{name}.weight"))
    if isinstance(attention.attend, SinkAttend):
        copying.copy_parameter(attention.attend, "sinks", source.take("sinks"))
    return attention


def _norm(source: Any, name: str) -> Any:
    """Return the same norm, of the width of theirs; Gemma's has the gain 1 + weight."""
    given = getattr(source, name)
    if type(given).__name__ == "Gemma3RMSNorm":
        return GemmaNorm(len(given.weight), given.eps)
    return nn.RMSNorm(len(given.weight), eps=given.variance_epsilon)


def _attend(source: Source, n_heads: int) -> GroupedAttend:
    m, name = source.module, source.name
    scale, dropout = float(m.scaling), float(m.attention_dropout)
    # Gemma 3 keeps the name of the cap and does not use it.
    cap = m.attn_logit_softcapping if name == "Gemma2Attention" else None
    if cap is not None:
        return CappedAttend(scale, float(cap), dropout)
    if name == "GptOssAttention":
        return SinkAttend(scale, n_heads, dropout)
    return GroupedAttend(scale, dropout)


def to_llama(attention: GroupedQueryAttention, into: Any, *, verify: bool = True) -> Any:
    """Copy our weights into a Hugging Face attention of the same form, and return that.

    The way back of ``from_llama``, for the same classes: what was learned, edited or pruned
    here can be saved and used without this library. ``into`` keeps its dtype, device and mode;
    its parameters learn if ours do (a packed one, if any of ours does).

    Raises as ``mhsa_lib.convert`` says, and ``ValueError`` where ``into`` cannot express ours:
    stages, sizes, positions, scale and dropout must be those that its configuration describes.
    Then nothing is copied.
    """
    form, name = from_llama(into, verify=False), type(into).__name__
    allowed: copying.Classes = {path: (type(m),) for path, m in form.named_modules()}
    fix = "put that stage back as from_llama makes it, or keep the attention here"
    copying.check_modules(attention, allowed, f"has no place in {name}", fix)
    ours, theirs = _settings(attention), _settings(form)
    for setting in (*theirs, *dict(attention.named_parameters())):
        if ours.get(setting) != theirs.get(setting):
            raise ValueError(
                f"{setting} is {ours.get(setting)}, but {theirs.get(setting)} in {name}; make "
                f"one from a configuration that says the same, as "
                f"LlamaConfig(num_attention_heads=…, head_dim=…) does."
            )
    if verify:
        filled = _fill_back(copying.copied(into), attention)
        rounded = copying.copied(attention).to(filled.o_proj.weight)
        compare(filled, rounded, run_with_rotation, ("causal",))
    return _fill_back(into, attention)


def _settings(attention: GroupedQueryAttention) -> dict[str, Any]:
    """Return sizes, positions, scale and rates by their paths, and the shapes of parameters."""
    settings = {
        f"{path}.{name}".removeprefix("."): value
        for path, module in attention.named_modules()
        for name, value in vars(module).items()
        if name != "training" and not name.startswith("_")
    }
    return settings | {name: tuple(p.shape) for name, p in attention.named_parameters()}


def _fill_back(into: Any, attention: GroupedQueryAttention) -> Any:
    project = attention.project
    maps = {"q_proj": [project.W_Q], "k_proj": [project.W_K], "v_proj": [project.W_V]}
    if hasattr(into, "qkv_proj"):
        maps = {"qkv_proj": [project.W_Q, project.W_K, project.W_V]}
    for path, parts in {**maps, "o_proj": [attention.W_O]}.items():
        to = into.get_submodule(path)
        write(to.weight, *[W.weight for W in parts])
        if to.bias is not None:
            write(to.bias, *[W.bias for W in parts])
    # Norms and sinks have the same names there.
    for stage in (project, attention.split, attention.attend):
        for name, parameter in stage.named_parameters():
            if not name.startswith("W_"):
                write(into.get_parameter(name), parameter)
    return into
