"""A mixture of heads computes what the authors' code and their equations give."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_lib import edit, trace
from mhsa_lib.variants import MixtureOfHeadAttention
from mhsa_lib.variants.mixture import balance_loss, paper_balance
from tests.mhsa_lib.variants.mixture.layers import PAPER
from tests.mhsa_lib.variants.stored import numbers, stored_cases

CASES = stored_cases("mixture")
ROUTED = [name for name, case in CASES.items() if case["settings"]["routed_head"]]
WHOLE = [name for name in ROUTED if not name.startswith("vit_router")]
ROUTERS = {"wg_0.weight": "W_H.weight", "wg_1.weight": "W_S.weight", "wg.weight": "W_R.weight"}


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
    layer = of_the_authors(name).train()
    with trace(layer) as wires:
        layer(x)
    assert differ(balance_loss(layer), outputs["load_balancing_loss"]) < 1e-10
    P, f = numbers(outputs["me"]), numbers(outputs["ce"])
    chosen = wires["gates"][..., layer.n_shared :] > 0
    assert differ(paper_balance(wires["routed"], chosen), (P @ f).item()) < 1e-10


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
