"""The loss that spreads tokens over heads: what it rewards, and where it is kept."""

import copy
import io
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from mhsa_book.measure import loads
from mhsa_lib import masks, trace
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import balance_loss, paper_balance, released_balance
from tests.helpers.drawn import rand
from tests.mhsa_lib.variants.mixture.layers import attention


@pytest.mark.parametrize("n_active", [1, 2, 4])
def test_even_use_costs_least_and_one_head_for_all_costs_most(n_active):
    even = torch.full((4, 4), 0.25)
    circulant = torch.tensor([[(i - j) % 4 < n_active for i in range(4)] for j in range(4)])
    first = torch.tensor([[1.0, 0, 0, 0]] * 4)
    assert paper_balance(even, circulant).item() == pytest.approx(n_active / 4)
    assert released_balance(even, circulant).item() == pytest.approx(n_active)
    assert paper_balance(first, first.bool()).item() == 1
    assert released_balance(first, first.bool()).item() == 4


def test_following_the_balance_loss_spreads_the_tokens():
    torch.manual_seed(0)
    layer, x = MixtureOfHeadAttention(12, 6, 1, 1), torch.randn(200, 12)
    x[:, 0] = 1.0
    with torch.no_grad():
        layer.route.router.W_R.weight[0, 0] = 1.0
    optimizer = torch.optim.Adam(layer.route.parameters(), 0.05)
    seen = []
    for _ in range(100):
        with trace(layer) as wires:
            layer(x)
        seen.append(loads(wires["gates"])[1:].max().item())
        optimizer.zero_grad()
        balance_loss(layer).backward()
        optimizer.step()
    assert seen[0] > 0.9
    assert seen[-1] < 0.4


def test_only_training_leaves_a_balance_loss_and_it_is_of_the_last_pass():
    layer, x = attention(), rand(2, 5, 12)
    train, evaluated = layer(x), layer.eval()(x)
    assert torch.equal(train, evaluated)
    assert layer.route.balance_loss is None
    layer.train()(x)
    first = balance_loss(layer)
    layer(10 * x)
    assert balance_loss(layer) != first


@pytest.mark.parametrize("part", ["concat", "W_O", ""])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_call_that_fails_behind_the_router_leaves_the_balance_loss(part, error):
    layer, x = attention(), rand(2, 5, 12)

    def fail(*_):
        raise error("behind the router")

    for earlier in (False, True):
        if earlier:
            layer(x)
        before = layer.route.balance_loss
        handle = layer.get_submodule(part).register_forward_hook(fail)
        with pytest.raises(error, match="behind the router"):
            layer(10 * x)
        handle.remove()
        assert (before is not None) == earlier
        assert layer.route.balance_loss is before


def test_the_balance_loss_of_a_model_is_the_mean_over_its_layers():
    layers = nn.Sequential(attention(), nn.LayerNorm(12).double(), attention(n_active=3))
    layers(rand(2, 5, 12))
    each = [layer.route.balance_loss for layer in (layers[0], layers[2])]
    assert_close(balance_loss(layers), (each[0] + each[1]) / 2)


def test_copies_and_files_hold_no_balance_loss():
    layer, x = attention(), rand(5, 12)
    names = set(layer.state_dict())
    layer(x)
    assert set(layer.state_dict()) == names
    twin = copy.deepcopy(layer)
    assert twin.route.balance_loss is None
    assert torch.equal(twin(x), layer(x))
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).route.balance_loss is None
    assert layer.route.balance_loss is not None


def learned(layer, run, x):
    """Gradients of a task and of balance, computed with or without a checkpoint."""
    layer.zero_grad()
    y = run(layer, x)
    (y.square().mean() + balance_loss(layer)).backward()
    return {name: p.grad for name, p in layer.named_parameters()}


def test_a_checkpoint_without_a_graph_has_no_balance_loss_and_the_other_kind_has():
    layer, x = attention(), rand(2, 5, 12).requires_grad_()
    expected = learned(layer, lambda module, x: module(x), x)
    found = learned(layer, partial(checkpoint, use_reentrant=False), x)
    assert_close(found, expected, rtol=0, atol=0)
    assert expected["route.router.W_R.weight"].abs().max() > 1e-3
    with pytest.raises(ValueError, match=r"recorded no gradients.*use_reentrant=False"):
        learned(layer, partial(checkpoint, use_reentrant=True), x)


def test_balance_may_be_read_where_nothing_is_to_learn():
    layer, x = attention(), rand(2, 5, 12)
    with torch.no_grad():
        layer(x)
        number = balance_loss(layer)
    layer(x)
    assert torch.equal(balance_loss(layer), number)
    layer.requires_grad_(False)(x)
    assert torch.equal(balance_loss(layer), number)


@pytest.mark.nohook
def test_a_compiled_pass_in_training_mode_leaves_its_balance_loss():
    layer, x = attention(), rand(2, 5, 12)
    layer(x)
    expected = torch.autograd.grad(balance_loss(layer), layer.route.router.W_R.weight)[0]
    torch.compiler.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    layer.route.balance_loss = None
    compiled(x, mask=masks.causal)
    found = torch.autograd.grad(balance_loss(layer), layer.route.router.W_R.weight)[0]
    assert_close(found, expected)
