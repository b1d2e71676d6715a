"""Which attention of a model is meant: the only one of ours, or an error with the paths."""

from torch import nn

from mhsa_lib.stages import Stage, stages_of


def the_attention(model: nn.Module) -> Stage:
    """The only attention of ours in a model; ``ValueError`` if it has none, or several.

    >>> from mhsa_lib import MultiHeadAttention
    >>> mha = MultiHeadAttention(12, 3)
    >>> the_attention(nn.Sequential(nn.LayerNorm(12), mha)) is mha
    True
    """
    paths = stages_of(model)
    outermost = {
        path: stage
        for path, stage in paths.items()
        if not any(path != other and _inside(path, other) for other in paths)
    }
    if not outermost:
        repair = "trace_ops(model, x) shows what any module does, "
        repair += "mhsa_lib.convert turns known ones into stages"
        if hasattr(model, "to_attention"):
            repair = "model.to_attention() gives it in five stages"
        raise ValueError(f"{type(model).__name__} holds no stages of mhsa_lib; {repair}.")
    if len(outermost) > 1:
        first = _spelled(model, next(iter(outermost)))
        raise ValueError(
            f"{type(model).__name__} holds {len(outermost)} attentions; choose one of "
            f"{', '.join(outermost)}, for example trace({first})."
        )
    return next(iter(outermost.values()))


def _spelled(model: nn.Module, path: str) -> str:
    """A part of the model as one writes it in Python, ``model.layers[0].attention``."""
    text, part = "model", model
    for name in path.split("."):
        if isinstance(part, nn.ModuleDict):
            text += f"[{name!r}]"
        elif isinstance(part, nn.ModuleList | nn.Sequential) and name.isdigit():
            text += f"[{name}]"
        elif name.isidentifier():
            text += f".{name}"
        else:
            return f"model.get_submodule({path!r})"
        part = part.get_submodule(name)
    return text


def _inside(path: str, other: str) -> bool:
    return other == "" or path.startswith(other + ".")
