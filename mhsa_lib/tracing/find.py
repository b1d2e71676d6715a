"""Find the attention that a tool is meant for."""

from torch import nn

from mhsa_lib.stages import Stage, stages_of


def the_attention(model: nn.Module) -> Stage:
    """Return the only attention of ours in a model.

    Raises ``ValueError`` if the model has none, or several; then with the paths of all.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha = MultiHeadAttention(12, 3)
    >>> the_attention(nn.Sequential(nn.LayerNorm(12), mha)) is mha
    True
    """
    stages = stages_of(model)
    if "" in stages:  # the model itself, and everything is inside it
        return stages[""]
    outermost = [p for p in stages if not any(p.startswith(f"{other}.") for other in stages)]
    name = type(model).__name__
    if not outermost:
        raise ValueError(
            f"{name} holds no stages of mhsa_lib; to_attention() of a fused one and "
            f"mhsa_lib.convert give them, trace_ops(model, x) shows what any module does."
        )
    if len(outermost) > 1:
        raise ValueError(
            f"{name} holds {len(outermost)} attentions; choose one of {', '.join(outermost)}, "
            f"for example trace(model.get_submodule({outermost[0]!r}))."
        )
    return stages[outermost[0]]
