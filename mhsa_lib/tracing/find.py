"""Find the attention that a tool is meant for: the only one of ours in a model."""

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
    paths = stages_of(model)
    outermost: list[str] = []
    for path in paths:
        # A module is registered before its parts, so a stage of a stage comes after it. The
        # model itself has the path "", and everything is inside it.
        if not any(other == "" or path.startswith(f"{other}.") for other in outermost):
            outermost.append(path)
    if not outermost:
        repair = "trace_ops(model, x) shows what any module does, "
        repair += "mhsa_lib.convert turns known ones into stages"
        if hasattr(model, "to_attention"):
            repair = "model.to_attention() gives it in five stages"
        raise ValueError(f"{type(model).__name__} holds no stages of mhsa_lib; {repair}.")
    if len(outermost) > 1:
        raise ValueError(
            f"{type(model).__name__} holds {len(outermost)} attentions; choose one of "
            f"{', '.join(outermost)}, for example trace({_spelled(model, outermost[0])})."
        )
    return paths[outermost[0]]


def _spelled(model: nn.Module, path: str) -> str:
    """Return a part of the model as one writes it in Python, ``model.layers[0].attention``."""
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
