"""However it is used, the fused module is the five stages: a table of ways, at every length."""

import copy
import pickle
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import parametrize
from torch.utils.checkpoint import checkpoint

from mhsa_lib import FusedMultiHeadAttention, masks
from mhsa_lib.fused import linear_by
from tests.helpers.drawn import filled

LENGTHS = [0, 1, 5, 255, 256, 257]
LIBRARIES = ["torch", "onednn"]


def both(**options):
    """The fused module, packed, and the five stages with the same weights."""
    torch.manual_seed(0)
    fused = filled(FusedMultiHeadAttention(12, 3, bias=True, **options), std=0.3)
    return fused.pack(), fused.to_attention()


def same(found, wanted):
    """Within a small part of the largest number."""
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        if other.numel():
            assert (one - other).abs().max() <= 2e-5 * other.abs().max().clamp(min=1.0)


def passes(a, n):
    """Self-attention under three masks, and cross-attention."""
    torch.manual_seed(n)
    x, context = torch.randn(2, n, 12), torch.randn(2, 7, a.d_context)
    given = [None, masks.causal, masks.padding([n, n // 2])] if a.d_context == 12 else []
    return [a(x, mask=mask) for mask in given] + [a(x, context)]


# --- what is put around the maps, or before and after them -----------------------------------


def maps(a):
    """(module, name) of every linear map."""
    if isinstance(a, FusedMultiHeadAttention):
        return [(a, name) for name, _ in a.named_children()]
    return [(a.project, "W_Q"), (a.project, "W_K"), (a.project, "W_V"), (a, "W_O")]


class Adapted(nn.Module):
    """As adapters do it: the map, and something more."""

    def __init__(self, W):
        super().__init__()
        self.W, self.in_features = W, W.in_features

    @property
    def weight(self):
        return self.W.weight

    def forward(self, x):
        return self.W(x) + 1.0


class Doubled(nn.Module):
    def forward(self, weight):
        return 2.0 * weight


def hooked(owner, name):
    getattr(owner, name).register_forward_hook(lambda module, args, y: 2.0 * y + 1.0)


def hooked_before(owner, name):
    getattr(owner, name).register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))


def wrapped(owner, name):
    setattr(owner, name, Adapted(getattr(owner, name)))


def parametrized(owner, name):
    W = getattr(owner, name)
    parametrize.register_parametrization(W, "weight", Doubled())


def normed(owner, name):
    """By the old weight_norm, whose weight is made anew before each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        W = nn.utils.weight_norm(getattr(owner, name))
    W.weight_g.data.mul_(2.0)


def another_forward(owner, name):
    W = getattr(owner, name)
    W.forward = lambda x: F.linear(x, W.weight) - 1.0


CHANGES = [hooked, hooked_before, wrapped, parametrized, normed, another_forward]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("d_context", [None, 9])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_done_to_a_map_is_done_at_every_length(change, d_context, n, grad, library):
    fused, attention = both(d_context=d_context)
    for a in (fused, attention):
        for owner, name in maps(a):
            change(owner, name)
    with linear_by(library), torch.set_grad_enabled(grad):
        same(passes(fused, n), passes(attention, n))


@pytest.mark.parametrize("n", LENGTHS)
@torch.no_grad()
def test_a_hook_of_all_modules_is_heard_at_every_length(n):
    fused, attention = both()

    def twice(module, args, y):
        return 2.0 * y if isinstance(module, nn.Linear) else None

    handle = nn.modules.module.register_module_forward_hook(twice)
    try:
        same(passes(fused, n), passes(attention, n))
    finally:
        handle.remove()


def test_a_backward_hook_hears_of_cross_attention():
    fused, heard = both()[0], []
    fused.W_QKV.register_full_backward_hook(lambda *_: heard.append(1))
    x, context = (torch.randn(2, n, 12, requires_grad=True) for n in (3, 4))
    fused(x, context).sum().backward()
    assert heard


def test_a_wrapper_without_a_weight_works_but_is_not_packed():
    fused, _ = both()
    expected = fused(x := torch.randn(2, 3, 12)) + 1.0
    fused.W_O = nn.Sequential(fused.W_O)
    fused.W_O.register_forward_hook(lambda module, args, y: y + 1.0)
    torch.testing.assert_close(fused(x), expected)
    assert fused.cache(1, 4).k.dtype is torch.float32
    with pytest.raises(TypeError, match="W_O is a Sequential, which cannot be packed; merge"):
        fused.pack()


# --- ways to call it -------------------------------------------------------------------------


def rows(n):
    torch.manual_seed(n)
    return torch.randn(2, n, 12), torch.randn(2, n, 12)


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
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_five_stages_in_every_way_to_call_it(way, n, library):
    fused, attention = both()
    with linear_by(library):
        same(way(fused, n), way(attention, n))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_second_derivative_that_pytorch_lacks_is_an_error(library):
    x = torch.randn(2, 200, 12, requires_grad=True)
    with linear_by(library):
        y = both()[0](x)
        (g,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match=r"flash_attention.*backward is not implemented"):
            g.sum().backward()


# --- checkpoints under dropout ---------------------------------------------------------------

MASKS = [
    None,
    masks.causal,
    masks.sliding_window(9),
    masks.padding([300, 200]),
    masks.key_padding([300, 200]),
    masks.custom(lambda query, key: query >= key),
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("n", [100, 300])
@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_what_is_computed_again_drops_the_same_weights(mask, n, dtype, library):
    fused = both(dropout=0.3)[0].to(dtype).train()
    x = torch.randn(2, n, 12).to(dtype)
    with linear_by(library):
        torch.manual_seed(1)
        with torch.no_grad():
            first = fused(x, mask=mask)
        torch.manual_seed(1)
        again = fused(x.requires_grad_(), mask=mask)
    assert (first - again).abs().max() <= (1e-5 if dtype is torch.float32 else 0.1)


# --- whatever is the default -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_any_default_dtype(dtype):
    torch.set_default_dtype(dtype)
    try:
        fused = FusedMultiHeadAttention(12, 3).pack()
        for n in (1, 5, 257):
            x = torch.randn(2, n, 12)
            for grad in (False, True):
                with torch.set_grad_enabled(grad):
                    y, expected = fused(x, mask=masks.causal), fused.to_attention()
                    torch.testing.assert_close(
                        y, expected(x, mask=masks.causal), atol=2e-2, rtol=2e-2
                    )
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_default_device_is_not_where_the_pass_is(n):
    fused, attention = both()
    x, _ = rows(n)
    for dtype in (torch.float32, torch.bfloat16):
        fused, attention, x = fused.to(dtype), attention.to(dtype), x.to(dtype)
        with torch.device("meta"):
            y = fused(x, mask=masks.causal)
        torch.testing.assert_close(y, attention(x, mask=masks.causal), atol=0.1, rtol=0.1)
        torch.testing.assert_close(fused(x, mask=masks.causal), y)


def test_it_is_made_and_run_on_the_meta_device():
    with torch.device("meta"):
        fused = FusedMultiHeadAttention(12, 3, bias=True).pack()
        for n in (0, 1, 257):
            assert fused(torch.empty(2, n, 12), mask=masks.causal).is_meta


# --- nothing there, nothing to see -----------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 5, 12), (2, 0, 5, 12), (0, 300, 12), (2, 0, 0, 12)])
@pytest.mark.parametrize("grad", [False, True])
def test_leading_axes_of_nobody(shape, grad):
    none = torch.zeros(0, dtype=torch.long)
    given = [None, masks.causal, masks.sliding_window(3)]
    given += [masks.padding(none), masks.key_padding(none)] if len(shape) == 3 else []
    fused, attention = both()
    x = torch.randn(shape, requires_grad=grad)
    for mask in given:
        with torch.set_grad_enabled(grad):
            assert fused(x, mask=mask).shape == attention(x, mask=mask).shape == shape


@pytest.mark.parametrize("n", [1, 5, 300])
@pytest.mark.parametrize(
    "mask", [masks.key_padding([0, 0]), masks.causal & ~masks.causal], ids=["padded", "never"]
)
def test_a_context_that_nobody_sees_gets_gradients_of_zero(mask, n):
    fused, attention = both()
    found = []
    for a in (fused, attention):
        context = torch.randn(2, 4, 12, requires_grad=True)
        a(torch.randn(2, n, 12), context, mask).sum().backward()
        found.append(context.grad)
    assert all(torch.equal(grad, torch.zeros(2, 4, 12)) for grad in found)
    assert fused.W_QKV.weight.grad is not None
