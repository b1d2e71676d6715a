"""However it is called, the fused module is the five stages, at every length."""

import copy
import pickle

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from mhsa_lib import masks
from tests.mhsa_lib.fused.pairs import LENGTHS, both, passes, rows, same


def called(a, n):
    return passes(a, n)


def without_gradients(a, n):
    with torch.no_grad():
        return passes(a, n)


def in_inference_mode(a, n):
    with torch.inference_mode():
        return passes(a, n)


def copied(a, n):
    with torch.no_grad():
        passes(a, n)
        return passes(copy.deepcopy(a), n)


def pickled(a, n):
    with torch.no_grad():
        passes(a, n)
        return passes(pickle.loads(pickle.dumps(a)), n)


def with_other_weights(a, n):
    x, _ = rows(n)
    with torch.no_grad():  # each weight is gone before the next is made, perhaps in its place
        return [
            functional_call(a, {"W_O.weight": s * a.W_O.weight}, (x,)) for s in (1.0, 2.0, 3.0)
        ]


def gradients(a, n):
    x, _ = rows(n)
    x.requires_grad_()
    return torch.autograd.grad(a(x, mask=masks.causal).square().sum(), [x, a.W_O.weight])


def batched_gradients(a, n):
    x, t = rows(n)
    x.requires_grad_()
    y = a(x)
    return torch.autograd.grad(y, [x], torch.stack([y.detach(), t]), is_grads_batched=True)


def func_grad(a, n):
    x, _ = rows(n)
    return [torch.func.grad(lambda x: a(x, mask=masks.causal).square().sum())(x)]


def func_vmap(a, n):
    x, t = rows(n)
    return [torch.func.vmap(a)(x), torch.func.vmap(a)(torch.stack([x, t]))]


def func_jvp(a, n):
    x, t = rows(n)
    with torch.no_grad():
        return torch.func.jvp(lambda x: a(x, mask=masks.sliding_window(3)), (x,), (t,))


def func_jacrev(a, n):
    x, _ = rows(n)
    return [torch.func.jacrev(lambda x: a(x).sum(dim=(0, 1))[:2])(x)]


def func_jacfwd(a, n):
    x, t = rows(n)
    return [torch.func.jacfwd(lambda s: a(x + s * t).sum(dim=0))(torch.tensor(0.5))]


def func_hessian(a, n):
    x, t = rows(n)
    return [torch.func.hessian(lambda s: a(x + s * t).square().sum())(torch.tensor(0.5))]


def gradients_of_each_sample(a, n):
    x, _ = rows(n)

    def loss(weight, x):
        return functional_call(a, {"W_O.weight": weight}, (x,)).square().sum()

    return [torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(a.W_O.weight, x)]


def forward_mode(a, n):
    x, t = rows(n)
    with torch.no_grad(), forward_ad.dual_level():
        y = a(forward_ad.make_dual(x, t), mask=masks.causal)
        return [forward_ad.unpack_dual(y).tangent]


def second_derivatives(a, n):
    """A gradient penalty, and the product of the Hessian with a vector."""
    x, t = rows(n)
    x.requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):
        (g,) = torch.autograd.grad(a(x).square().sum(), x, create_graph=True)
        penalty = torch.autograd.grad(g.square().sum(), [x, a.W_O.weight], retain_graph=True)
        return *penalty, *torch.autograd.grad(g, x, t)


def recomputed(a, n):
    x, _ = rows(n)
    x.requires_grad_()
    found = []
    for reentrant in (True, False):
        y = checkpoint(a, x, None, masks.causal, use_reentrant=reentrant)
        found += torch.autograd.grad(y.square().sum(), [x]) if not reentrant else [y]
    return found


def in_double(a, n):
    return [y.float() for y in passes_in(a.double(), n, torch.float64)]


def in_double_under_autocast(a, n):
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        found = passes_in(a.double(), n, torch.float64)
    assert all(y.dtype is torch.float64 for y in found)
    return [y.float() for y in found]


def passes_in(a, n, dtype):
    x, t = rows(n)
    return [a(x.to(dtype), mask=masks.causal), a(x.to(dtype), t.to(dtype))]


WAYS = [
    called,
    without_gradients,
    in_inference_mode,
    copied,
    pickled,
    with_other_weights,
    gradients,
    batched_gradients,
    func_grad,
    func_vmap,
    func_jvp,
    func_jacrev,
    func_jacfwd,
    func_hessian,
    gradients_of_each_sample,
    forward_mode,
    second_derivatives,
    recomputed,
    in_double,
    in_double_under_autocast,
]


@pytest.mark.nohook
@pytest.mark.filterwarnings(
    "ignore:.torch.jit.script. is deprecated"
)  # by PyTorch, for tangents
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_five_stages_in_every_way_to_call_it(way, n):
    fused, attention = both()
    same(way(fused, n), way(attention, n))


def test_a_second_derivative_that_pytorch_lacks_is_an_error():
    x = torch.randn(2, 200, 12, requires_grad=True)
    y = both()[0](x)
    (g,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"flash_attention.*backward is not implemented"):
        g.sum().backward()
