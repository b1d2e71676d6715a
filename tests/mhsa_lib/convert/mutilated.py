"""What people do to a module: some of it is converted rightly, the rest has to be refused."""

import copy
import functools
from collections.abc import Callable
from types import MethodType

import torch
from accelerate.hooks import ModelHook, add_hook_to_module
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, prune, spectral_norm, weight_norm


def maps(source: nn.Module) -> list[nn.Module]:
    """The linear maps of an attention, Conv1D included, as they are called."""
    weights = {m: getattr(m, "weight", None) for m in source.modules()}
    return [m for m, weight in weights.items() if weight is not None and weight.ndim == 2]


class Twice(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return 2 * weight


def hooked(source):
    maps(source)[0].register_forward_hook(lambda module, args, output: 2 * output)
    return source


def hooked_before(source):
    source.register_forward_pre_hook(lambda module, args: None)
    return source


def hooked_backward(source):
    maps(source)[-1].register_full_backward_hook(lambda module, before, after: None)
    return source


def hooked_parameter(source):
    maps(source)[0].weight.register_hook(lambda gradient: 0 * gradient)
    return source


def with_another_forward(source):
    kind = type("Louder", (type(source),), {"forward": lambda self, *a, **o: None})
    source.__class__ = kind
    return source


def with_an_own_forward(source):
    W = maps(source)[0]
    W.forward = MethodType(lambda self, x: 2 * type(self).forward(self, x), W)
    return source


def with_a_wrapped_forward(source):
    """As a decorator does it, which hands on the name of what it replaces."""
    W = maps(source)[-1]
    kind = type(W)

    @functools.wraps(kind.forward)
    def forward(self, x):
        return kind.forward(self, x) / 2

    W.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return source


def noisy_in_training(source):
    """What only training shows, without a layer of dropout."""
    W = maps(source)[-1]
    kind = type(W)

    def forward(self, x):
        y = kind.forward(self, x)
        return y + torch.randn_like(y) if self.training else y

    W.__class__ = type(kind.__name__, (kind,), {"forward": forward})
    return source


def with_other_dropout(source):
    places = [n for n, m in source.named_modules() if type(m) is nn.Dropout]
    places = [n for n in places if not n.startswith(("output", "resid"))]
    if not places:
        return None
    owner, _, name = places[0].rpartition(".")
    setattr(source.get_submodule(owner), name, nn.AlphaDropout(0.2))
    return source


def with_a_hook_of_accelerate(source):
    add_hook_to_module(maps(source)[0], ModelHook())
    return source


def with_a_child(source):
    source.router = nn.Linear(2, 2)
    return source


def with_a_parameter(source):
    source.temperature = nn.Parameter(torch.ones(()))
    return source


def parametrized(source):
    parametrize.register_parametrization(maps(source)[0], "weight", Twice())
    return source


def normed(source):
    weight_norm(maps(source)[0])
    return source


def normed_as_today(source):
    parametrizations.weight_norm(maps(source)[0])
    return source


def spectrally_normed(source):
    spectral_norm(maps(source)[0])
    return source


def pruned(source):
    prune.l1_unstructured(maps(source)[0], "weight", amount=0.5)
    return source


def with_another_map(source):
    W = maps(source)[0]
    W.__class__ = type("Loud", (type(W),), {"forward": lambda self, x: 2 * x})
    return source


def with_tied_maps(source):
    first, *others = maps(source)
    second = next((W for W in others if W.weight.shape == first.weight.shape), None)
    if second is None:
        return None
    second.weight = first.weight
    return source


def without_a_key_bias(source):
    return _without(source, 1)


def without_a_value_bias(source):
    return _without(source, 2)


def _without(source, place):
    found = [W for W in maps(source) if isinstance(W, nn.Linear) and W.bias is not None]
    if len(found) <= place or isinstance(source, nn.MultiheadAttention):
        return None
    found[place].bias = None
    return source


def frozen(source):
    return source.requires_grad_(False)


def in_half_precision(source):
    return source.to(torch.bfloat16)


def in_double_precision(source):
    return source.double()


def in_training(source):
    return source.train()


def a_copy(source):
    return copy.deepcopy(source)


def shown_otherwise(source):
    kind = type(source)
    source.__class__ = type("Mine", (kind,), {"extra_repr": lambda self: "mine"})
    return source


WAYS: dict[Callable, tuple[str, ...]] = {
    **dict.fromkeys(
        [
            hooked,
            hooked_before,
            hooked_backward,
            hooked_parameter,
            with_another_forward,
            with_an_own_forward,
            with_a_wrapped_forward,
            with_a_hook_of_accelerate,
            with_a_parameter,
            parametrized,
            normed,
            normed_as_today,
            spectrally_normed,
            pruned,
            with_another_map,
            noisy_in_training,
            with_other_dropout,
            with_tied_maps,
        ],
        ("refused",),
    ),
    with_a_child: ("refused",),
    **dict.fromkeys(
        [
            without_a_key_bias,
            without_a_value_bias,
            frozen,
            in_half_precision,
            in_double_precision,
            in_training,
            a_copy,
            shown_otherwise,
        ],
        ("equal",),
    ),
}
"""Each, and what may come of it; a source that it cannot be done to gives None."""

OF_MAPS = {with_another_map, with_a_wrapped_forward, noisy_in_training}
"""Those that change what a linear map does when it is called."""
