"""The map of every pair: the page mixes heads as the library's branches do."""

import pytest
import torch
from traitlets import TraitError

from mhsa_book import examples
from mhsa_book.widgets import ComposeLab
from mhsa_lib.tracing import trace
from mhsa_lib.variants import ComposedAttention
from mhsa_lib.variants.composed import (
    Branch,
    Compose,
    Gate,
    LowRank,
    Static,
    five_branches,
)
from tests.mhsa_book.widgets.conftest import node

PIECE = "compose_lab/composing"
STRENGTHS = "static", "by_query", "by_key", "gates"


def strengths(lab):
    return {name: getattr(lab, name) for name in STRENGTHS}


def random_lab(seed: int) -> ComposeLab:
    """Any number of heads, tokens and ranks that the figure shows, at any strengths."""
    torch.manual_seed(seed)
    n_heads, n = 2 + seed % 3, 1 + seed % 8
    compose = five_branches(12, n_heads, 1 + seed % min(n_heads, 3), "post").double()
    for parameter in compose.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    weights = torch.randn(n_heads, n, n).double().softmax(-1)
    chosen = dict(zip(STRENGTHS, torch.rand(4).tolist(), strict=True))
    x = torch.randn(n, 12).double()
    return ComposeLab(compose, weights, x, [str(i) for i in range(n)], **chosen)


def as_double(rows):
    return torch.tensor(rows, dtype=torch.float64)


def test_the_page_composes_every_pair_as_the_branches_do():
    labs = [random_lab(seed) for seed in range(40)]
    found = node(
        PIECE, *[("composedOf", lab.weights, lab.maps, strengths(lab)) for lab in labs]
    )
    for lab, composed in zip(labs, found, strict=True):
        torch.testing.assert_close(as_double(composed), lab.composed, atol=1e-12, rtol=0)


def test_all_parts_are_the_layer_and_none_is_plain_attention():
    x = examples.random_tokens().double()
    for seed in range(5):
        torch.manual_seed(seed)
        layer = ComposedAttention(12, 3).double()
        for parameter in layer.attend.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        with torch.no_grad(), trace(layer) as wires:
            layer(x)
        lab = ComposeLab(layer.attend.post, wires["weights"], x)
        torch.testing.assert_close(lab.composed, wires["composed_weights"])
        none = dict.fromkeys(STRENGTHS, 0)
        whole, plain = node(
            PIECE,
            ("composedOf", lab.weights, lab.maps, strengths(lab)),
            ("composedOf", lab.weights, lab.maps, none),
        )
        torch.testing.assert_close(as_double(whole), wires["composed_weights"])
        assert plain == lab.weights


def test_the_map_of_a_pair_is_what_the_chapter_reads_off():
    lab = ComposeLab()
    for q, k in ((5, 1), (2, 0), (4, 4)):
        (found,) = node(PIECE, ("mapOf", lab.maps, strengths(lab), q, k))
        read = []
        for head in range(3):  # a 1 for one head at a time
            one = torch.zeros(3, 6, 6, dtype=torch.float64)
            one[head] = 1
            read.append(ComposeLab(weights=None, maps=lab.maps))
            read[-1].weights = one.tolist()
        rows = torch.stack([each.composed[:, q, k] for each in read])
        torch.testing.assert_close(as_double(found), rows)


def test_sums_and_negative_weights_are_counted():
    lab = ComposeLab()
    composed = lab.composed
    sums, count = node(
        PIECE,
        ("sumsOf", composed[2].tolist()),
        ("countNegative", lab.weights, composed.tolist()),
    )
    torch.testing.assert_close(as_double(sums), composed[2].sum(dim=-1))
    assert count == {"negative": int((composed < 0).sum()), "all": 63}


def test_the_first_weight_turns_negative_at_0_02():
    """Chapter 24 asks for it."""
    counts = [
        int((ComposeLab(**dict.fromkeys(STRENGTHS, s)).composed < 0).sum())
        for s in (0, 0.01, 0.02, 0.05)
    ]
    assert counts == [0, 0, 1, 1]


def test_a_branch_that_is_left_out_adds_nothing():
    weights, x = torch.full((3, 6, 6), 1 / 6), torch.zeros(6, 12)
    assert ComposeLab(Compose(), weights, x).composed.allclose(weights.double())
    static = Static(3)
    static.W_b.data = torch.eye(3)
    assert ComposeLab(Compose(static), weights, x).composed.allclose(2 * weights.double())


class Other(Branch):
    """A branch of another kind."""

    def forward(self, tokens):
        return None


WEIGHTS, X = torch.full((3, 6, 6), 1 / 6), torch.zeros(6, 12)
REFUSED = {
    "one alone": (lambda: ComposeLab(Compose()), "come together; pass all, or none"),
    "another length": (lambda: ComposeLab(Compose(), WEIGHTS, X[:4]), r"\(head, query, key\)"),
    "two of a kind": (
        lambda: ComposeLab(Compose(Static(3), Static(3)), WEIGHTS, X),
        "Static is a branch too many or of another kind",
    ),
    "another branch": (lambda: ComposeLab(Compose(Other()), WEIGHTS, X), "Other is a branch"),
    "too few words": (
        lambda: ComposeLab(Compose(), WEIGHTS, X, ["a"]),
        "x has 6 tokens but there are 1 words; name each",
    ),
    "too many heads": (
        lambda: ComposeLab(Compose(), torch.zeros(5, 6, 6), X),
        "5 heads are more than the figure can show, 4",
    ),
    "not a number": (lambda: ComposeLab(Compose(), WEIGHTS * torch.nan, X), "NaN or infinity"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    make, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        make()


def test_a_pair_a_strength_or_a_map_that_is_not_there_is_refused():
    lab = ComposeLab()
    for name, value in {"query": 6, "key": -1, "static": 1.5, "gates": -0.1}.items():
        with pytest.raises(TraitError):
            setattr(lab, name, value)
    for maps in ({}, lab.maps | {"W_b": [[1.0]]}):
        with pytest.raises(TraitError, match="other names or sizes"):
            lab.maps = maps
    with pytest.raises(TraitError, match="nan; put a finite number"):
        lab.maps = lab.maps | {"W_b": [[torch.nan] * 3] * 3}


def test_low_rank_and_gates_of_one_side_are_taken_as_they_are_made():
    low, gate = LowRank(12, 3, 2, "post", "key"), Gate(12, 3, "post", "key")
    x = torch.randn(6, 12)
    maps = ComposeLab(Compose(low, gate), WEIGHTS, x).maps
    w1, w2 = low({"key": x})
    for name, numbers in {"key_w1": w1, "key_w2": w2, "key_gate": gate({"key": x})}.items():
        torch.testing.assert_close(torch.tensor(maps[name]), numbers.detach())
