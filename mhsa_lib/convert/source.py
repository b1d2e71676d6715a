"""A module of another library as a conversion reads it: its class, then each parameter once.

What the forward of the source does with the parameters is compared afterwards
(``verification``). Refused here is what such a comparison cannot see: another class with inputs
of its own, hooks, parameters that are shared, quantised or left over, dropout of another kind
or mode, and an attention function of somebody's own.
"""

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import copying
from mhsa_lib.attention import MultiHeadAttention
from mhsa_lib.stages import maps_of

_HINT = (
    "pass an object that is the whole attention, not one in it nor the block or the model "
    "around it (compiled: its ._orig_mod), with its own plain parts (adapters: model = "
    "peft_model.merge_and_unload(), then take it there)"
)


def full_names(pairs: str) -> tuple[str, ...]:
    """Return the attentions of transformers for pairs of a module's end and a model's name.

    >>> full_names("clap_text:Clap")
    ('transformers.models.clap.modeling_clap_text.ClapAttention',)
    """
    return tuple(
        f"transformers.models.{end.removesuffix('_text')}.modeling_{end}.{name}Attention"
        for end, name in (pair.split(":") for pair in pairs.split())
    )


class Source:
    """A foreign attention of one of ``classes``, its parameters taken out by name, each once.

    ``name`` is the conversion, for messages; parameters whose names begin with one of
    ``outside`` belong to the block around the attention. Raises ``TypeError`` for another
    class, or a subclass that does anything else, and ``ValueError`` for what was added.

    >>> source = Source(nn.Linear(2, 3), ["torch.nn.modules.linear.Linear"], "from_linear")
    >>> [tuple(parameter.shape) for parameter in source.linear("")]
    [(3, 2), (3,)]
    >>> source.nothing_left()
    """

    def __init__(
        self, module: Any, classes: Collection[str], name: str, outside: tuple[str, ...] = ()
    ) -> None:
        self.module, self.action = module, f"has no conversion by convert.{name}"
        kind = module if isinstance(module, type) else type(module)
        mro = {f"{base.__module__}.{base.__qualname__}": base for base in type(module).__mro__}
        known = [b for n, b in mro.items() if n in classes and copying.behaves_as(kind, b)]
        if not known:
            names = [name.rpartition(".")[2] for name in classes]
            some = " or ".join(names[:2]) + (f" or {len(names) - 2} more" if names[2:] else "")
            raise TypeError(
                f"{kind.__module__}.{kind.__qualname__} {self.action}; only {some} is known "
                f"there: {_HINT}."
            )
        self.name = known[0].__name__
        modules = {
            path: part
            for path, part in module.named_modules(remove_duplicate=False)
            if not f"{path}.".startswith(outside)
        }
        copying.check_unchanged(modules, self.action)
        for path, part in modules.items():
            # Only the rate of a plain dropout can be carried over.
            name = type(part).__name__
            if "Dropout" in name and type(part) is not nn.Dropout:
                raise ValueError(f"{path}={name} {self.action}: make it an nn.Dropout.")
        self.parameters: dict[str, Any] = {
            key: parameter
            for key, parameter in module.named_parameters()
            if not key.startswith(outside)
        }
        # A function of somebody's own may depend on the length or on what is cached, and one
        # for half precision on a GPU is not what runs in the comparison.
        config = getattr(getattr(module, "self", module), "config", None)
        function = getattr(config, "_attn_implementation", None)
        if function not in {None, "eager", "sdpa"}:
            raise ValueError(
                f"_attn_implementation={function!r} is not an attention of PyTorch, which is "
                f"compared; set config._attn_implementation='eager' if it computes the same."
            )

    def take(self, name: str) -> Any:
        """Return a parameter by its name; ``ValueError`` where it is not to be found."""
        if name not in self.parameters:
            path = name.rpartition(".")[0]
            found = [key for key in self.parameters if key.startswith(path)]
            raise ValueError(
                f"{self.name} has no parameter {name} but {found or 'none there'}, so it "
                f"{self.action}; parametrizations and wrappers must be removed: {_HINT}."
            )
        return self.parameters.pop(name)

    def linear(self, path: str) -> tuple[Tensor, Tensor | None]:
        """Return the weight of a linear map, and its bias if it has one."""
        weight = self.take(f"{path}.weight".removeprefix("."))
        return weight, self.parameters.pop(f"{path}.bias".removeprefix("."), None)

    def nothing_left(self) -> None:
        """Raise ``ValueError`` if a parameter was not taken: it may act on other inputs."""
        if self.parameters:
            raise ValueError(
                f"{min(self.parameters)} has no place in what {self.name} is converted to, so "
                f"it {self.action}; remove it or merge it first: {_HINT}."
            )


def fill(attention: MultiHeadAttention, weights: Sequence[Any], biases: Sequence[Any]) -> None:
    """Copy into W_Q, W_K, W_V and W_O, in this order."""
    for (name, to), weight, bias in zip(
        maps_of(attention).items(), weights, biases, strict=True
    ):
        copying.copy_linear(to, weight, bias, name)


def write(to: nn.Parameter, *parts: Tensor) -> None:
    """Copy our parameters, their rows one after another, into one of another library.

    It learns if any of them does, and is written in place, because an optimizer may hold it.

    >>> to = nn.Linear(2, 3).weight
    >>> write(to, torch.zeros(1, 2), torch.ones(2, 2))
    >>> to.tolist(), to.requires_grad
    ([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]], False)
    """
    to.data.copy_(torch.cat([part.detach() for part in parts]))
    to.requires_grad_(any(part.requires_grad for part in parts))
