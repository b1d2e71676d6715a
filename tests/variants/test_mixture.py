"""Mixture of heads: the authors' numbers, what is chosen, balance, costs, bad input."""

import copy
import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from mhsa_lib import MultiHeadAttention, edit, masks, trace
from mhsa_lib.cache.remembering import remember
from mhsa_lib.costs import variant_costs
from mhsa_lib.trace.difference import Difference
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import Route, balance_loss, check_routing, loads
from mhsa_lib.variants.parts.routing import (
    QueryNormRouter,
    TokenRouter,
    hard_scaling,
    paper_balance,
    paper_scaling,
    released_balance,
    released_scaling,
)
from tests.helpers.drawn import filled, rand
from tests.variants.stored import numbers, stored_cases

CASES = stored_cases("mixture")
ROUTED = [name for name, case in CASES.items() if case["settings"]["routed_head"]]
WHOLE = [name for name in ROUTED if not name.startswith("vit_router")]
ROUTERS = {"wg_0.weight": "W_H.weight", "wg_1.weight": "W_S.weight", "wg.weight": "W_R.weight"}
PAPER = {"scaling": paper_scaling, "balance": paper_balance}
TUNED = {"router": QueryNormRouter, "scaling": hard_scaling}


def attention(d_model=12, n_heads=6, n_shared=2, n_active=2, **options):
    torch.manual_seed(0)
    return filled(
        MixtureOfHeadAttention(d_model, n_heads, n_shared, n_active, **options).double()
    )


def of_the_authors(name, **parts):
    """Their layer in our stages."""
    settings, stored = CASES[name]["settings"], CASES[name]["weights"]
    weights = {key: numbers(values) for key, values in stored.items()}
    layer = MixtureOfHeadAttention(
        settings["dim"],
        settings["num_heads"],
        settings["shared_head"],
        settings["routed_head"],
        d_head=settings["head_dim"],
        bias="qkv.bias" in weights,
        W_O=nn.Linear(*reversed(weights["proj.weight"].shape)),
        **parts,
    ).double()
    ours = {f"route.router.{to}": weights[by] for by, to in ROUTERS.items() if by in weights}
    ours |= {f"W_O.{kind}": weights[f"proj.{kind}"] for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        if f"qkv.{kind}" in weights:
            thirds = zip("QKV", weights[f"qkv.{kind}"].chunk(3), strict=True)
            ours |= {f"project.W_{letter}.{kind}": third for letter, third in thirds}
    missing, unknown = layer.load_state_dict(ours, strict=False)
    assert not unknown
    assert all(key.startswith("project.") for key in missing)
    assert not missing or "qkv.weight" not in weights
    return layer


def differ(ours, stored):
    return (ours - numbers(stored)).abs().max().item()


# --- the authors' code -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", WHOLE)
def test_every_wire_agrees_with_the_authors_code(name, mode):
    outputs, layer = CASES[name]["outputs"], of_the_authors(name).train(mode)
    with trace(layer) as wires:
        y = layer(numbers(CASES[name]["inputs"]["x"]))
    assert differ(y, outputs["y"]) < 1e-10
    assert differ(wires["gates"], outputs["gates"]) < 1e-10
    assert differ(wires["routed"], outputs["routing_probabilities"]) < 1e-10
    n_shared = layer.n_shared
    assert differ((wires["gates"] > 0)[..., n_shared:].double(), outputs["selected"]) == 0
    if "alpha_times_2" in outputs:
        assert differ(2 * wires["alphas"], outputs["alpha_times_2"]) < 1e-10
    if "head_outputs" in outputs:
        assert differ(wires["z"].transpose(1, 2), outputs["head_outputs"]) < 1e-10
        assert differ(wires["weights"], outputs["scores_softmax"]) < 1e-10


@pytest.mark.parametrize("name", [name for name in ROUTED if name not in WHOLE])
def test_the_gates_agree_with_the_authors_vision_code(name):
    """Its attention is another one, so its head outputs are given."""
    inputs, outputs = CASES[name]["inputs"], CASES[name]["outputs"]
    layer = of_the_authors(name).train()
    z = numbers(inputs["head_outputs"]).transpose(1, 2)
    with edit(layer, "z", lambda _: z), trace(layer) as wires:
        y = layer(numbers(inputs["x"]))
    assert differ(y, outputs["y"]) < 1e-10
    assert differ(wires["gates"], outputs["gates"]) < 1e-10
    assert differ(balance_loss(layer), outputs["load_balancing_loss"]) < 1e-10


@pytest.mark.parametrize("name", WHOLE)
def test_the_balance_losses_are_those_of_the_authors_code_and_of_the_paper(name):
    outputs, x = CASES[name]["outputs"], numbers(CASES[name]["inputs"]["x"])
    released, paper = of_the_authors(name).train(), of_the_authors(name, **PAPER).train()
    released(x)
    paper(x)
    assert differ(balance_loss(released), outputs["load_balancing_loss"]) < 1e-10
    P, f = numbers(outputs["me"]), numbers(outputs["ce"])
    assert differ(balance_loss(paper), (P @ f).item()) < 1e-10


def test_there_are_cases_with_no_one_and_several_shared_heads():
    assert {CASES[name]["settings"]["shared_head"] for name in WHOLE} == {0, 1, 2}


@pytest.mark.parametrize("name", WHOLE)
def test_the_gates_of_the_paper_are_its_equations_token_by_token(name):
    layer = of_the_authors(name, **PAPER)
    x = numbers(CASES[name]["inputs"]["x"])
    with trace(layer) as wires:
        layer(x)
    router, n_shared = layer.route.router, layer.n_shared
    zeros = x.new_zeros(n_shared, 12)
    for token, gates in zip(x.flatten(0, 1), wires["gates"].flatten(0, 1), strict=True):
        alphas = (router.W_H.weight @ token).exp() if n_shared else torch.tensor([0.0, 1.0])
        alphas = alphas / alphas.sum()
        shared = ((router.W_S.weight if n_shared > 1 else zeros) @ token).exp()
        logits = (router.W_R.weight @ token).tolist()
        total = sum(numbers(logits).exp())
        expected = [alphas[0] * share / shared.sum() for share in shared]
        for logit in logits:
            better = sum(other > logit for other in logits)
            share = numbers(logit).exp() / total
            expected.append(alphas[1] * share * (better < layer.n_active))
        assert_close(gates, torch.stack(expected))


def test_the_router_of_the_tuned_model_takes_the_longest_queries():
    layer, x = attention(n_heads=6, n_shared=3, n_active=1, **TUNED), rand(4, 12)
    with trace(layer) as wires:
        layer(x)
    for token in range(4):
        lengths = [sum(q * q for q in head[token].tolist()) ** 0.5 for head in wires["q_heads"]]
        mean = sum(lengths[3:]) / 3
        spread = (sum((length - mean) ** 2 for length in lengths[3:]) / 2) ** 0.5
        longest = 3 + max(range(3), key=lambda i: lengths[3 + i])
        assert wires["gates"][token].tolist() == [
            float(h < 3 or h == longest) for h in range(6)
        ]
        assert_close(wires["routed"][token], (numbers(lengths[3:]) / spread).softmax(0))


def test_queries_of_equal_length_are_no_reason_for_a_nan():
    layer = attention(n_shared=5, n_active=1, **TUNED)
    for router in (layer.route.router, QueryNormRouter(12, 3, 3)):
        for shares in router(rand(4, 12), torch.ones(6, 4, 2).double()):
            assert shares.isfinite().all()
    layer(torch.zeros(4, 12).double()).sum().backward()
    assert layer.project.W_Q.weight.grad.isfinite().all()


# --- what it is ------------------------------------------------------------------------------


@given(
    n_shared=st.integers(0, 3),
    n_routed=st.integers(1, 4),
    share=st.floats(0, 1),
    paper=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_a_token_uses_all_shared_heads_and_n_active_others(
    n_shared, n_routed, share, paper, seed
):
    torch.manual_seed(seed)
    n_active = 1 + round(share * (n_routed - 1))
    parts = PAPER if paper else {}
    layer = attention(8, n_shared + n_routed, n_shared, n_active, d_head=2, **parts)
    with trace(layer) as wires:
        layer(rand(2, 5, 8))
    gates = wires["gates"]
    assert ((gates > 0).sum(dim=-1) == n_shared + n_active).all()
    assert (gates[..., :n_shared] > 0).all()
    total = gates.sum(dim=-1)
    if paper:
        assert (total <= 1 + 1e-12).all()
    else:
        groups = wires["alphas"] * wires["alphas"].shape[-1]
        sizes = torch.tensor([n_shared, n_active]) if n_shared else torch.tensor([n_active])
        assert_close(total, groups @ sizes.double())


def test_gates_multiply_the_heads_of_their_own_token():
    layer, x = attention(), rand(2, 5, 12)
    with trace(layer) as wires:
        layer(x)
    for token in range(5):
        for head in range(6):
            z = wires["z"][:, head, token]
            assert_close(
                wires["gated"][:, head, token], wires["gates"][:, token, head, None] * z
            )


def test_a_head_that_no_token_chose_has_no_say():
    layer, x = attention(n_shared=1, n_active=1), rand(7, 12)
    with trace(layer) as wires:
        y = layer(x)
    unused = (wires["gates"] == 0).T[..., None]
    with edit(layer, "z", lambda z: z.masked_fill(unused, 1e6)):
        assert_close(layer(x), y)


def test_a_new_router_starts_with_gates_near_one_and_chooses_differently_per_token():
    torch.manual_seed(0)
    layer, x = MixtureOfHeadAttention(64, 8, 2, 3), torch.randn(200, 64)
    with trace(layer) as wires:
        layer(x)
    counting = wires["gates"][wires["gates"] > 0]
    assert counting.mean().item() == pytest.approx(1, abs=0.01)
    assert (counting - 1).abs().max() < 0.7
    stds = [layer.route.router.get_submodule(name).weight.std() for name in ("W_R", "W_S")]
    assert all(0.015 < std < 0.025 for std in stds)
    assert ((loads(wires["gates"])[2:] > 0.1) & (loads(wires["gates"])[2:] < 0.9)).all()


def test_with_one_active_head_the_released_gates_teach_the_router_nothing():
    """Its share of the chosen is 1 whatever the logits are; the loss of balance is left."""
    gradients = {}
    for scaling in (released_scaling, paper_scaling):
        layer = attention(n_active=1, scaling=scaling)
        layer(rand(9, 12)).square().sum().backward()
        gradients[scaling] = layer.route.router.W_R.weight.grad.abs().max().item()
    assert gradients[released_scaling] < 1e-12 < 1e-6 < gradients[paper_scaling]
    layer.zero_grad()
    layer(rand(9, 12))
    balance_loss(layer).backward()
    assert layer.route.router.W_R.weight.grad.abs().max() > 1e-6


def test_a_choice_of_one_has_no_parameters():
    def learned(n_shared, n_active):
        return [name for name, _ in TokenRouter(12, n_shared, n_active).named_parameters()]

    assert learned(0, 4) == ["W_R.weight"]
    assert learned(1, 3) == ["W_H.weight", "W_R.weight"]
    assert learned(3, 1) == ["W_H.weight", "W_S.weight"]
    assert not list(QueryNormRouter(12, 2, 2).parameters())


def test_one_line_of_the_forward_pass_differs():
    assert Difference(attention()).changed_lines == [
        "z = self.concat(self.route(x, q, z))  # <- the idea"
    ]


# --- balance ---------------------------------------------------------------------------------


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


# --- what it costs ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_shared", [0, 1, 2, 5])
@pytest.mark.parametrize("d_head", [None, 5])
def test_costs_are_those_of_a_pass_for_any_number_of_active_heads(n_shared, d_head):
    formula = variant_costs.mixture(24, 6, n_shared, n=7, d_head=d_head)
    for n_active in range(1, 7 - n_shared):
        layer = MixtureOfHeadAttention(24, 6, n_shared, n_active, d_head=d_head)
        learned = sum(parameter.numel() for parameter in layer.parameters())
        assert sum(formula.parameters.values()) == learned
        for name, parameter in layer.named_parameters():
            assert formula.parameters[name.split(".")[-2]] == parameter.numel()
        with trace(layer) as wires, remember(layer) as cache:
            layer(torch.randn(7, 24))
        counted = {name: step.flops for name, step in wires.steps.items() if step.flops}
        assert counted == {name: flops for name, flops in formula.flops.items() if flops}
        assert {name: wire.numel() // 7 for name, wire in cache.items()} == formula.cached


def test_the_router_costs_d_model_times_two_more_than_the_heads():
    plain = variant_costs.grouped(1152, 16, 16, n=1).parameters
    routed = variant_costs.mixture(1152, 16, 4, n=1).parameters
    assert sum(routed.values()) - sum(plain.values()) == 1152 * (16 + 2)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (
            (4, 4, 1),
            "n_shared=4 of n_heads=4 leaves zero routed heads; "
            "use n_shared=3 or fewer, or MultiHeadAttention.",
        ),
        (
            (4, 9, 1),
            "n_shared=9 of n_heads=4 leaves zero routed heads; "
            "use n_shared=3 or fewer, or MultiHeadAttention.",
        ),
        (
            (4, 1, 5),
            "n_active=5 is more than the 3 routed heads, n_heads=4 less n_shared=1; "
            "use n_active=3 or fewer.",
        ),
        ((4, 1, 0), "n_active=0 is not a size; it must be at least 1."),
        ((4, -1, 1), "n_shared=-1 is not a number of heads; it must be at least 0."),
        ((0, 0, 1), "n_heads=0 is not a size; it must be at least 1."),
        (
            (8, 1, 1),
            "n_heads=8 does not divide d_model=12; try d_model=8 or d_model=16, or set d_head.",
        ),
    ],
)
def test_numbers_of_heads_that_cannot_be(sizes, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        MixtureOfHeadAttention(12, *sizes)
    assert str(error.value) == words


@pytest.mark.nohook
@pytest.mark.parametrize("n_shared", [1.5, 0.0, None, True, False, "1"])
def test_a_number_of_shared_heads_that_is_no_number(n_shared):
    """The shape hook would refuse the type before us."""
    words = f"n_shared={n_shared!r} is not a whole number; pass an int."
    with pytest.raises(TypeError) as error:
        MixtureOfHeadAttention(12, 4, n_shared, 1)
    assert str(error.value) == words


@pytest.mark.bothways
def test_a_router_that_sends_everything_to_one_head():
    gates = torch.zeros(2, 8, 4)
    gates[..., [0, 2]] = 1.0
    words = (
        "all 16 tokens are sent to the same 1 of 3 routed heads; "
        "their loads are 0.00, 1.00, 0.00. Add balance_loss(model) to the loss, 0.01 "
        "times in the paper, or start the router again with smaller weights."
    )
    with pytest.raises(ValueError) as error:  # noqa: PT011  the whole message is compared
        check_routing(gates, n_shared=1)
    assert str(error.value) == words
    gates[1, 7, [2, 3]] = torch.tensor([0.0, 1.0])
    check_routing(gates, n_shared=1)


@pytest.mark.bothways
def test_one_token_or_all_heads_active_say_nothing_about_a_router():
    check_routing(torch.tensor([[1.0, 0.0, 1.0]]), n_shared=1)
    check_routing(torch.ones(5, 3), n_shared=1)
    layer = attention()
    with trace(layer) as wires:
        layer(rand(2, 50, 12))
    check_routing(wires["gates"], layer.n_shared)


@pytest.mark.bothways
def test_a_balance_loss_where_there_is_none():
    layers = nn.Sequential(attention(), attention()).eval()
    with pytest.raises(
        ValueError, match="2 of 2 routed layers have no balance loss; call mode"
    ):
        balance_loss(layers)
    with pytest.raises(ValueError, match="MultiHeadAttention holds no MixtureOfHeadAttention"):
        balance_loss(MultiHeadAttention(12, 3))
    assert isinstance(layers[0].route, Route)


@pytest.mark.bothways
def test_a_wrong_width_is_refused_before_anything_is_routed():
    with pytest.raises(ValueError, match=r"x is 8 wide, shape \(2, 5, 8\), but d_model=12"):
        attention()(rand(2, 5, 8))
