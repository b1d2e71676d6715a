"""The scale laboratory: the numbers of PyTorch and its autograd."""

import math

import pytest
import torch
from traitlets import TraitError

from mhsa_book import measure
from mhsa_book.widgets import ScaleLab
from mhsa_book.widgets.scale_lab import TOKENS, WIDEST, normals
from tests.mhsa_book.widgets.conftest import node

SCALES = ScaleLab.scale.values


def assert_near(numbers, wanted, atol=1e-5):
    found = torch.tensor(numbers, dtype=wanted.dtype)
    torch.testing.assert_close(found, wanted, atol=atol, rtol=0)


# --- the mathematics -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 7, 9999])
def test_the_page_and_python_draw_the_same_numbers(seed):
    (found,) = node("scale_lab/random_vectors", ("normals", seed, 3000))
    assert_near(found, normals(seed, 3000), 1e-9)


def test_the_numbers_are_normal_independent_and_different_for_every_seed():
    many = torch.stack([normals(seed, TOKENS * WIDEST) for seed in range(20)])
    assert many.mean(dim=1).abs().max() < 4 / TOKENS / WIDEST**0.5 * TOKENS**0.5
    assert (many.var(dim=1) - 1).abs().max() < 0.03
    assert ((many**4).mean() - 3).abs() < 0.1
    assert (torch.corrcoef(many) - torch.eye(20)).abs().max() < 0.02
    neighbours = torch.corrcoef(torch.stack([many[:, :-1].flatten(), many[:, 1:].flatten()]))
    assert neighbours[0, 1].abs() < 0.01


@pytest.mark.parametrize("scale", SCALES)
def test_scores_and_weights_are_those_of_pytorch(scale):
    for seed, d_head, temperature in [(0, 1, 0.5), (3, 5, 3.0), (8, 64, 40.0)]:
        lab = ScaleLab(seed=seed, d_head=d_head, scale=scale, temperature=temperature)
        (vectors,) = node("scale_lab/random_vectors", ("randomVectors", seed))
        (a,) = node("scale_lab/saturation", ("factor", scale, d_head, temperature))
        ((dots,),) = node("scale_lab/random_vectors", ("products", vectors, [d_head]))
        dots = torch.tensor(dots, dtype=torch.float64)
        assert_near((dots * a).tolist(), lab.scores)
        (weights,) = node("scale_lab/saturation", ("weighed", dots.tolist(), a))
        assert_near(weights, lab.weights)


def random_rows(n=30):
    for seed in range(n):
        torch.manual_seed(seed)
        size = int(torch.randint(1, 20, ()))
        yield torch.randn(size, dtype=torch.float64) * 10 ** torch.rand(()).mul(3).sub(1)


def test_entropy_and_gradient_are_those_of_measure_and_autograd():
    scores = list(random_rows())
    rows = [torch.softmax(s, dim=0) for s in scores]
    found = node("scale_lab/saturation", *[("measured", row.tolist()) for row in rows])
    for s, row, numbers in zip(scores, rows, found, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda t: torch.softmax(t, dim=0), s)
        assert numbers["gradient"] == pytest.approx(jacobian.abs().sum().item(), abs=1e-5)
        bits = measure.entropy(row[None]).item() / math.log(2)
        assert numbers["bits"] == pytest.approx(bits, abs=1e-5)
        assert numbers["share"] == pytest.approx(
            bits / max(math.log2(len(row)), 1e-9), abs=1e-5
        )
        assert numbers["largest"] == pytest.approx(row.max().item(), abs=1e-12)


def test_variances_are_those_of_pytorch():
    vectors = {"queries": torch.randn(9, 7).tolist(), "keys": torch.randn(11, 7).tolist()}
    queries, keys = (torch.tensor(vectors[name]) for name in ("queries", "keys"))
    for d_head in (1, 4, 7):
        single = queries[:, None, :d_head] * keys[None, :, :d_head]
        one, dots = node(
            "scale_lab/saturation",
            ("componentVariance", vectors, d_head),
            ("variance", single.sum(dim=-1).tolist()),
        )
        assert one == pytest.approx(single.var(correction=0).item(), abs=1e-5)
        assert dots == pytest.approx(single.sum(dim=-1).var(correction=0).item(), rel=1e-5)


def test_the_histogram_counts_what_torch_counts():
    scores = torch.randn(30, 30, dtype=torch.float64) * 3
    (found,) = node("scale_lab/saturation", ("histogram", scores.tolist(), 4, 16))
    assert found == torch.histogram(scores, 16, range=(-4.0, 4.0)).hist.int().tolist()


# --- the Python class ------------------------------------------------------------------------


def test_the_finding_holds_for_the_numbers_that_are_drawn():
    for seed in range(3):
        found = {
            (scale, d_head): ScaleLab(seed=seed, scale=scale, d_head=d_head)
            for scale in ("1", "1/sqrt(d_head)", "1/d_head")
            for d_head in (16, 1024)
        }
        entropy = {
            k: measure.entropy(lab.weights).mean() / math.log(TOKENS)
            for k, lab in found.items()
        }
        assert entropy["1", 1024] < 0.05 < 0.2 < entropy["1", 16]
        assert abs(entropy["1/sqrt(d_head)", 1024] - entropy["1/sqrt(d_head)", 16]) < 0.03
        assert entropy["1/d_head", 1024] > 0.999


def test_a_temperature_of_the_root_is_the_usual_scale():
    warm = ScaleLab(d_head=64, scale="1/temperature", temperature=8)
    assert torch.equal(warm.scores, ScaleLab(d_head=64, scale="1/sqrt(d_head)").scores)


def test_the_alternative_text_says_what_the_picture_shows():
    lab = ScaleLab(d_head=256, scale="1")
    assert f"the largest is {lab.weights[0].max():.2f}" in lab.alt
    assert "d_head 256, scale 1" in lab.alt


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"d_head": 0}, "not be less than 1"),
        ({"d_head": 2000}, "not be greater than 1024"),
        ({"scale": "2"}, "any of"),
        ({"temperature": 0.0}, "temperature=0.0 must lie between 0.01 and 10000"),
        ({"temperature": float("nan")}, "temperature=nan must lie"),
        ({"temperature": float("inf")}, "temperature=inf must lie"),
    ],
)
def test_values_outside_their_dials_are_refused(state, words):
    with pytest.raises(TraitError, match=words):
        ScaleLab(**state)
