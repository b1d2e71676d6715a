"""A module of another library as a conversion reads it: its class, then each parameter once.

A state dict has no behaviour, so a conversion is a map of names. What the forward of the source
does with the parameters is compared afterwards (``verification``). Here is refused what such a
comparison cannot see: another class with inputs of its own, hooks, parameters that are shared,
quantised, or left over, and dropout of another kind or mode.
"""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import copying

MODELS = "transformers.models."
HINT = (
    "pass the whole attention module, not one in it nor the block or the model around it, with "
    "its own plain parts (adapters: model = peft_model.merge_and_unload(), then take it there)"
)
"""The repair where a conversion refuses a module of another library."""

_DTYPES = torch.float16, torch.bfloat16, torch.float32, torch.float64
_IMPLEMENTATIONS = {None, "eager", "sdpa", "flex_attention"}
_IMPLEMENTATIONS |= {f"flash_attention_{n}" for n in (2, 3, 4)}
_IMPLEMENTATIONS |= {
    f"kernels-community/{k}" for k in ("flash-attn2", "vllm-flash-attn3", "flash-attn4")
}


class Source:
    """A foreign attention whose parameters are taken out by name, each once.

    Parameters
    ----------
    module : what is converted
    classes : full names of the classes whose inputs are known
    name : the conversion, for messages
    outside : how names of parameters begin that belong to the block around the attention

    Raises
    ------
    TypeError : for a module of another class, or of a subclass that does anything else
    ValueError : for what was added to it or to a part of it

    Examples
    --------
    >>> source = Source(nn.Linear(2, 3), ["torch.nn.modules.linear.Linear"], "from_linear")
    >>> [tuple(parameter.shape) for parameter in source.linear("")]
    [(3, 2), (3,)]
    >>> source.nothing_left()
    """

    def __init__(
        self,
        module: Any,
        classes: Collection[str],
        name: str,
        outside: tuple[str, ...] = (),
    ) -> None:
        self.module, self.action = module, f"has no conversion by convert.{name}"
        self.name = self._known_class(classes)
        modules = {
            path: part
            for path, part in module.named_modules(remove_duplicate=False)
            if not f"{path}.".startswith(outside or ("\0",))
        }
        for path, part in modules.items():
            where = path or self.name
            if change := copying.added(part):
                raise ValueError(f"{where} {change[0]}, which {self.action}: {change[1]}.")
            # Only the rate of a plain dropout can be carried over.
            if isinstance(part, nn.modules.dropout._DropoutNd) and type(part) is not nn.Dropout:
                kind = type(part).__name__
                raise ValueError(f"{where}={kind} {self.action}: make it an nn.Dropout.")
        copying.check_parameters(modules)
        self.parameters: dict[str, Any] = {
            f"{path}.{key}".removeprefix("."): parameter
            for path, part in modules.items()
            for key, parameter in part._parameters.items()
            if parameter is not None
        }
        for key, parameter in self.parameters.items():
            if parameter.dtype not in _DTYPES:
                raise ValueError(
                    f"{key} is {parameter.dtype}, which {self.action}: dequantise it first; "
                    f"weights of 16, 32 or 64 bit floats are converted."
                )

    def _known_class(self, classes: Collection[str]) -> str:
        """The name of the class among ``classes`` that the module is an object of."""
        module, short = self.module, [c.rpartition(".")[2] for c in classes]
        more = [f"{len(short) - 2} more"] if len(short) > 2 else []
        names = " or ".join(short[:2] + more)
        fix = HINT
        for base in type(module).__mro__:
            if f"{base.__module__}.{base.__qualname__}" in classes:
                if copying.behaves_as(type(module), base):
                    return base.__name__
                fix = f"it changes what {base.__name__} does; {HINT}"
        kind = type(module).__name__
        if isinstance(module, type):
            kind, fix = f"the class {module.__name__}", "pass an object of it"
        elif hasattr(module, "_orig_mod"):
            fix = "pass what was given to torch.compile, its ._orig_mod"
        elif kind in short:
            kind = f"{kind} of {type(module).__module__}"
        raise TypeError(f"{kind} {self.action}; only {names} is known there: {fix}.")

    def take(self, name: str) -> Any:
        """A parameter by its name; ``ValueError`` where it is not to be found."""
        if name not in self.parameters:
            path = name.rpartition(".")[0]
            found = [key for key in self.parameters if key.startswith(path)]
            raise ValueError(
                f"{self.name} has no parameter {name} but {found or 'none there'}, so it "
                f"{self.action}; parametrizations and wrappers must be removed: {HINT}."
            )
        return self.parameters.pop(name)

    def linear(self, path: str, *, bias: bool = True) -> tuple[Tensor, Tensor | None]:
        """Weight of a linear map, and its bias if it has one and may have one."""
        name = f"{path}.bias".removeprefix(".")
        weight = self.take(f"{path}.weight".removeprefix("."))
        return weight, self.parameters.pop(name, None) if bias else None

    def nothing_left(self) -> None:
        """Raise ``ValueError`` if a parameter was not taken: its effect would be lost."""
        if self.parameters:
            name = min(self.parameters)
            raise ValueError(
                f"{name} has no place in what {self.name} is converted to, so its effect would "
                f"be lost and it {self.action}; remove it or merge it first: {HINT}."
            )


def check_implementation(config: Any) -> None:
    """Raise ``ValueError`` unless a configuration names an attention of transformers.

    A function of somebody's own may depend on the length or on what is cached, which a
    comparison of one short pass does not see.

    >>> import types
    >>> check_implementation(types.SimpleNamespace(_attn_implementation="mine"))
    Traceback (most recent call last):
    ...
    ValueError: _attn_implementation='mine' is not an attention of transformers; set ...
    """
    name = getattr(config, "_attn_implementation", None)
    models = sys.modules.get("transformers.modeling_utils")
    function = getattr(models, "ALL_ATTENTION_FUNCTIONS", {}).get(name)
    # functools.wraps copies names, not code, so the file of the code says who wrote it.
    code = getattr(function, "__code__", None)
    own = function is None or (code and "transformers" in Path(code.co_filename).parts)
    if name not in _IMPLEMENTATIONS or not own:
        raise ValueError(
            f"_attn_implementation={name!r} is not an attention of transformers; set "
            f"config._attn_implementation='eager' if it computes the same."
        )


def transposed(parameter: Tensor, widths: Sequence[int]) -> list[Any]:
    """Of a weight (input, output) the columns for each map, as rows: GPT-2's ``Conv1D``.

    >>> [tuple(W.shape) for W in transposed(torch.zeros(2, 6), [4, 2])]
    [(4, 2), (2, 2)]
    """
    return [copying.like(parameter, part.T) for part in parameter.split(list(widths), dim=1)]
