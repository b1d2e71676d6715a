"""Each stage on its own: what goes in, what comes out, what the outputs are called."""

import copy
import pickle
from typing import get_args, get_type_hints

import pytest
import torch
from jaxtyping import Float
from torch import Tensor
from torch.testing import assert_close

from mhsa_lib import masks, shapes
from mhsa_lib.stages import Attend, Concat, Project, Split, Stage, Wire
from tests.helpers.drawn import rand

LatentRows = Float[Tensor, "*batch key d_latent"]


def test_wires_are_named_in_the_order_they_are_returned():
    assert list(Project(4, 4, 4).wires) == ["q", "k", "v"]
    assert list(Split(2).wires) == ["q_heads", "k_heads", "v_heads"]
    assert list(Attend(1.0).wires) == ["z"]
    assert list(Concat().wires) == ["concat"]


def library_stages(kind: type = Stage) -> list[type]:
    found = [kind]
    for child in kind.__subclasses__():
        found += library_stages(child)
    return [stage for stage in found if stage.__module__.startswith("mhsa_")]


def test_a_forward_returns_what_its_wires_say():
    checked = set()
    for stage in library_stages():
        returned = get_type_hints(stage.forward).get("return")
        aliases = get_args(returned) if len(stage.wires) > 1 else (returned,)
        if stage.wires and aliases and all(hasattr(alias, "dim_str") for alias in aliases):
            assert list(aliases) == list(stage.wires.values()), stage
            checked.add(stage)
    assert {Project, Split, Attend, Concat} < checked
    assert len(checked) > 15


def test_your_own_stage_needs_names_and_shapes_only():
    class Latent(Stage):
        wires = {"latent": LatentRows}

        def forward(self, x):
            return x

    assert shapes.axes(Latent().wires["latent"]) == ("*batch", "key", "d_latent")


@pytest.mark.bothways
@pytest.mark.parametrize(
    ("wires", "words"),
    [
        (("z",), r"Mine.wires is \('z',\); write a dict that gives each output, in order, its"),
        ({"z": Tensor}, r"Mine.wires is {'z': .*Tensor.*}; write a dict .* alias of mhsa_lib"),
        ({"z": None}, "Mine.wires is {'z': None}; write a dict"),
    ],
)
def test_wires_in_another_form_are_refused_at_the_definition(wires, words):
    with pytest.raises(TypeError, match=words):
        type("Mine", (Stage,), {"wires": wires})


@pytest.mark.bothways
def test_outputs_that_are_not_as_many_as_the_wires():
    with pytest.raises(ValueError, match="Split returned 1 values, but has 3 wires: q_heads"):
        Split(3).named(torch.zeros(5, 12))


def test_a_label_is_that_of_one_stage():
    wide = Attend(1.0).label(z=shapes.WideHeadOutputs)
    assert wide.wires == {"z": shapes.WideHeadOutputs}
    assert Attend(1.0).wires == {"z": shapes.HeadOutputs}
    assert copy.deepcopy(wide).wires == wide.wires
    again = pickle.loads(pickle.dumps(wide))
    assert shapes.axes(again.wires["z"]) == shapes.axes(shapes.WideHeadOutputs)


@pytest.mark.bothways
def test_a_label_that_is_no_shape_or_of_no_output_is_refused():
    with pytest.raises(TypeError, match=r"Attend.wires is {'z': .*Tensor"):
        Attend(1.0).label(z=Tensor)
    with pytest.raises(ValueError, match="Attend returned 1 values, but has 2 wires: z, y"):
        Attend(1.0).label(y=shapes.Tokens).named(rand(3, 5, 4))


def test_one_step_of_attend_is_replaced_and_the_wires_follow():
    class Flipped(Attend):
        def score(self, q, k):
            return -super().score(q, k)

    class Sigmoid(Attend):
        def normalise(self, scores, mask):
            return scores.sigmoid() if mask is None else scores.sigmoid() * mask

    q, k, v = rand(3, 5, 4), rand(3, 5, 4), rand(3, 5, 6)
    scores, allowed = q @ k.mT / 2, masks.causal.dense(5, 5)
    flipped, sigmoid = Flipped(0.5), Sigmoid(0.5)
    kept = _kept(flipped)
    lowest = (-scores).masked_fill(~allowed, float("-inf"))
    assert_close(flipped(q, k, v, masks.causal), lowest.softmax(dim=-1) @ v)
    assert_close(kept["scores"], -scores)
    kept = _kept(sigmoid)
    assert_close(sigmoid(q, k, v, masks.causal), (scores.sigmoid() * allowed) @ v)
    assert_close(kept["scores"], scores)
    assert_close(kept["weights"], scores.sigmoid() * allowed)


def test_a_wire_is_an_identity_with_a_name():
    value = rand(2, 3, 5, 5)
    wire = Wire("weights", shapes.Weights)
    assert wire(value) is value
    assert wire.wires == {"weights": shapes.Weights}


def test_projecting_is_x_times_the_transpose_of_each_weight():
    project = Project(6, 8, 4, bias=True).double()
    x, context = rand(2, 5, 6), rand(2, 7, 6)
    q, k, v = project(x, context)
    assert_close(q, x @ project.W_Q.weight.T + project.W_Q.bias)
    assert_close(k, context @ project.W_K.weight.T + project.W_K.bias)
    assert_close(v, context @ project.W_V.weight.T + project.W_V.bias)


def test_without_bias_there_are_three_parameters():
    assert len(list(Project(6, 8, 4).parameters())) == 3
    assert len(list(Project(6, 8, 4, bias=True).parameters())) == 6


def test_splitting_cuts_q_k_and_v_the_same_way():
    q, k, v = rand(2, 5, 12), rand(2, 7, 12), rand(2, 7, 12)
    q_heads, k_heads, v_heads = Split(3)(q, k, v)
    assert_close(q_heads[:, 1], q[..., 4:8])
    assert_close(k_heads[:, 1], k[..., 4:8])
    assert_close(v_heads[:, 1], v[..., 4:8])


def test_attending_is_softmax_of_scaled_scores_times_v():
    q, k, v = rand(3, 5, 4), rand(3, 7, 4), rand(3, 7, 4)
    by_hand = torch.softmax(q @ k.mT / 2, dim=-1) @ v
    assert_close(Attend(scale=0.5)(q, k, v), by_hand)


def test_attending_obeys_a_predicate_and_its_tensor_alike():
    q, k, v = rand(2, 3, 5, 4), rand(2, 3, 7, 4), rand(2, 3, 7, 4)
    predicate = masks.causal & masks.key_padding([7, 4])
    by_predicate = Attend(0.5)(q, k, v, predicate)
    assert torch.equal(by_predicate, Attend(0.5)(q, k, v, predicate.dense(5, 7)))
    assert not torch.allclose(by_predicate, Attend(0.5)(q, k, v))


def test_concat_undoes_split():
    rows = rand(2, 5, 12)
    heads, _, _ = Split(3)(rows, rows, rows)
    assert torch.equal(Concat()(heads), rows)


def _kept(attend: Attend) -> dict[str, Tensor]:
    kept = {}
    for wire in (attend.scores, attend.weights):
        wire.register_forward_hook(lambda m, args, out: kept.update(m.named(out)))
    return kept


def test_weights_are_before_dropout():
    attend = Attend(scale=0.5, dropout=0.5).train()
    kept = _kept(attend)
    q, k, v = rand(3, 5, 4), rand(3, 7, 4), rand(3, 7, 4)
    z = attend(q, k, v)
    assert_close(kept["weights"].sum(dim=-1), torch.ones(3, 5).double())
    assert not torch.allclose(z, kept["weights"] @ v)


def test_dropout_acts_on_the_weights_and_is_off_in_eval():
    attend, ones = Attend(scale=0.5, dropout=0.5), torch.ones(64, 8, 4)
    assert (attend.train()(ones, ones, ones) != 1.0).any()
    assert_close(attend.eval()(ones, ones, ones), ones)


def test_dropout_keeps_the_mean():
    attend, ones = Attend(scale=0.5, dropout=0.5).train(), torch.ones(400, 8, 8)
    assert attend(ones, ones, ones).mean().item() == pytest.approx(1.0, abs=0.05)


def test_the_wires_inside_attend_are_scores_and_weights():
    attend = Attend(scale=0.5)
    kept = _kept(attend)
    q, k, v = rand(3, 5, 4), rand(3, 7, 4), rand(3, 7, 4)
    attend(q, k, v)
    assert_close(kept["scores"], q @ k.mT / 2)
    assert_close(kept["weights"], torch.softmax(kept["scores"], dim=-1))


def test_a_stage_prints_what_it_was_built_with():
    assert repr(Split(3)) == "Split(n_heads=3)"
    assert repr(Wire("scores", shapes.Scores)) == "Wire(scores)"
    assert "scale=0.3536" in repr(Attend(8**-0.5))
