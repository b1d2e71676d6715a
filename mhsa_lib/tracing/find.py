"""Find the attentions that a tool is meant for."""

from torch import nn

from mhsa_lib.stages import Stage, stages_of


def find_attentions(model: nn.Module) -> dict[str, Stage]:
    """Return the attentions of ours in a model by their paths; "" is the model itself.

    They are the stages that are inside no other. One that is registered at several paths has
    the first. Raises ``ValueError`` if there is none.

    >>> from mhsa_lib import MultiHeadAttention
    >>> list(find_attentions(nn.Sequential(nn.LayerNorm(12), MultiHeadAttention(12, 3))))
    ['1']
    """
    outermost: dict[str, Stage] = {}
    for path, stage in stages_of(model).items():  # what holds others comes before them
        if not any(not other or path.startswith(f"{other}.") for other in outermost):
            outermost[path] = stage
    if not outermost:
        raise ValueError(
            f"{type(model).__name__} holds no stages of mhsa_lib; to_attention() of a fused "
            f"one and mhsa_lib.convert give them, trace_ops(model, x) shows what any does."
        )
    return outermost
