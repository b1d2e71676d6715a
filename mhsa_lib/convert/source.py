"""A module of another library as a conversion reads it: its class, then each parameter once.

A conversion is a map of names. What the forward of the source does with the parameters is
compared afterwards (``verification``). Refused here is what such a comparison cannot see:
another class with inputs of its own, hooks, parameters that are shared, quantised, or left
over, dropout of another kind or mode, and an attention function of somebody's own.
"""

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor, nn

from mhsa_lib import _torch_private, copying

MODELS = "transformers.models."
_HINT = (
    "pass the whole attention module, not one in it nor the block or the model around it, with "
    "its own plain parts (adapters: model = peft_model.merge_and_unload(), then take it there)"
)
_DTYPES = torch.float16, torch.bfloat16, torch.float32, torch.float64
# Kernels for half precision on a GPU, which ``verification`` replaces by "eager".
KERNELS = {"flex_attention", *(f"flash_attention_{n}" for n in (2, 3, 4))}
KERNELS |= {f"kernels-community/{k}-attn{n}" for k, n in [("flash", 2), ("flash", 4)]}
KERNELS |= {"kernels-community/vllm-flash-attn3"}


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
        self, module: Any, classes: Collection[str], name: str, outside: tuple[str, ...] = ()
    ) -> None:
        self.module, self.action = module, f"has no conversion by convert.{name}"
        self.name = self._known_class(classes)
        modules = {
            path: part
            for path, part in module.named_modules(remove_duplicate=False)
            if not f"{path}.".startswith(outside)
        }
        for path, part in modules.items():
            copying.check_unchanged(part, path or self.name, self.action)
            # Only the rate of a plain dropout can be carried over.
            kind = type(part).__name__
            if "Dropout" in kind and type(part) is not nn.Dropout:
                raise ValueError(f"{path}={kind} {self.action}: make it an nn.Dropout.")
        copying.check_parameters(modules)
        self.parameters: dict[str, Any] = {
            key: parameter
            for key, parameter in module.named_parameters()
            if not key.startswith(outside)
        }
        for key, parameter in self.parameters.items():
            if parameter.dtype not in _DTYPES:
                raise ValueError(
                    f"{key} is {parameter.dtype}, which {self.action}: dequantise it first; "
                    f"weights of 16, 32 or 64 bit floats are converted."
                )
        # A function of somebody's own may depend on the length or on what is cached.
        config = getattr(getattr(module, "self", module), "config", None)
        function = getattr(config, "_attn_implementation", None)
        if function not in {None, "eager", "sdpa", *KERNELS}:
            raise ValueError(
                f"_attn_implementation={function!r} is not an attention of transformers; set "
                f"config._attn_implementation='eager' if it computes the same."
            )

    def _known_class(self, classes: Collection[str]) -> str:
        """Return the name of the class among ``classes`` that the module is an object of."""
        kind = type(self.module)
        for base in kind.__mro__:
            full = f"{base.__module__}.{base.__qualname__}"
            if full in classes and copying.behaves_as(kind, base):
                return base.__name__
        short = [name.rpartition(".")[2] for name in classes]
        names = " or ".join(short[:2]) + (f" or {len(short) - 2} more" if short[2:] else "")
        name, fix = kind.__name__, _HINT
        name += f" of {kind.__module__}" if name in short else ""
        if isinstance(self.module, type):
            name, fix = f"the class {self.module.__name__}", "pass an object of it"
        elif _torch_private.is_compiled(self.module):
            fix = "pass what was given to torch.compile, its ._orig_mod"
        raise TypeError(f"{name} {self.action}; only {names} is known there: {fix}.")

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

    def linear(self, path: str, *, bias: bool = True) -> tuple[Tensor, Tensor | None]:
        """Return the weight of a linear map, and its bias if it has one and may have one."""
        name = f"{path}.bias".removeprefix(".")
        weight = self.take(f"{path}.weight".removeprefix("."))
        return weight, self.parameters.pop(name, None) if bias else None

    def nothing_left(self) -> None:
        """Raise ``ValueError`` if a parameter was not taken: it may act on other inputs."""
        if self.parameters:
            name = min(self.parameters)
            raise ValueError(
                f"{name} has no place in what {self.name} is converted to, so its effect would "
                f"be lost and it {self.action}; remove it or merge it first: {_HINT}."
            )
