"""Seven rules for a row of scores: the page and Python agree."""

import pytest
import torch
from traitlets import TraitError

from mhsa_book.widgets import ScoresLab
from mhsa_book.widgets.scores_lab.rules import HIGHEST, RULES, TAU
from mhsa_lib import functional
from mhsa_lib.stages import Attend
from tests.mhsa_book.widgets.conftest import node

PIECE = "scores_lab/rules"
ROW = "scores", "values", "removed", "factor", "part", "sink", "gate"


def random_lab(seed: int) -> ScoresLab:
    """Any row that a reader can make, with keys removed, all of them now and then."""
    torch.manual_seed(seed)
    n = 2 + seed % 19
    uniform = torch.rand(4).tolist()
    return ScoresLab(
        (2 * torch.rand(n).double() - 1) * HIGHEST,
        ((2 * torch.rand(n) - 1) * HIGHEST).tolist(),
        removed=[k for k in range(n) if torch.rand(()) < (seed % 4) / 3],
        factor=[0.1, 1.0, 2.0, 10.0][seed % 4 if seed < 30 else seed // 4 % 4],
        part=uniform[0],
        sink=14 * uniform[1] - 4,
        gate=uniform[2],
    )


LABS = [random_lab(seed) for seed in range(80)]


def row_of(lab):
    return {name: getattr(lab, name) for name in ROW}


def there(lab):
    return torch.tensor([k not in lab.removed for k in range(len(lab.scores))])


def as_double(row):
    return torch.tensor(row, dtype=torch.float64)


def test_the_page_weighs_as_python_does():
    found = node(PIECE, *[("weightsByRule", row_of(lab)) for lab in LABS])
    for lab, by_rule in zip(LABS, found, strict=True):
        assert list(by_rule) == list(RULES)
        for rule, row in lab.by_rule.items():
            torch.testing.assert_close(as_double(by_rule[rule]), row, atol=1e-12, rtol=0)


def test_the_page_hands_over_what_python_does():
    for lab in LABS[:20]:
        calls = [
            ("handedOver", rule, row.tolist(), row_of(lab)) for rule, row in lab.by_rule.items()
        ]
        assert node(PIECE, *calls) == pytest.approx(list(lab.handed.values()), abs=1e-12)


def vectors(lab, width=16):
    """A query and keys of mean square 1 whose scaled products are the scores."""
    scores = as_double(lab.scores)
    cosines = scores / HIGHEST
    q, k = torch.zeros(1, 1, width).double(), torch.zeros(1, len(scores), width).double()
    q[..., 0] = width**0.5
    k[..., 0] = cosines * width**0.5
    k[..., 1] = (1 - cosines**2).sqrt() * width**0.5
    return q, k


def test_the_clip_acts_on_both_matrices_and_only_above_tau():
    for lab in LABS:
        q, k = vectors(lab)
        loud, mask = q * lab.factor, there(lab)
        if not mask.any():
            continue
        largest = functional.score(loud, k, 0.25)[0, 0][mask].max()
        root = (TAU / largest).sqrt() if largest > TAU else 1.0
        clipped = Attend(scale=0.25).attention_weights(loud * root, k * root, mask)[0, 0]
        torch.testing.assert_close(clipped, lab.by_rule["clip"], atol=1e-9, rtol=0)
        assert (functional.score(loud * root, k * root, 0.25)[0, 0][mask] <= TAU + 1e-9).all()


def test_a_sink_is_the_gate_that_the_chapter_finds_behind_the_kernel():
    for lab in LABS:
        loud, mask = lab.factor * as_double(lab.scores), there(lab)
        if mask.any():
            opened = (loud[mask].logsumexp(0) - lab.sink).sigmoid()
            torch.testing.assert_close(lab.by_rule["sink"], opened * lab.by_rule["softmax"])
        assert float(lab.by_rule["sink"].sum()) <= 1


def test_which_rules_leave_other_keys_alone():
    before, after = ScoresLab(), ScoresLab(removed=[5])
    both = [True] * 5 + [False]
    calls = [
        ("moved", before.by_rule[rule].tolist(), after.by_rule[rule].tolist(), both)
        for rule in RULES
    ]
    told = dict(zip(RULES, node(PIECE, *calls), strict=True))
    assert told == dict.fromkeys(RULES, True) | {"sigmoid": False}


def test_at_0_51_nothing_is_left_on_the_nineteen_others():
    """Chapter 25 asks for it."""
    scores = [0.0] * 20
    scores[7] = 3.0
    left = {}
    for part in (0, 0.5, 0.51, 0.52, 1):
        row = ScoresLab(scores, part=part).by_rule["minus"]
        left[part] = float(row.sum() - row[7])
        assert float(row.sum()) == pytest.approx(1 - part)
    assert [round(each, 3) for each in left.values()] == [0.486, 0.011, 0.002, -0.008, -0.464]


def test_a_head_of_normed_queries_does_not_hear_the_factor():
    quiet, loud = ScoresLab(factor=1), ScoresLab(factor=10)
    sharper = [rule for rule in RULES if loud.by_rule[rule].max() > quiet.by_rule[rule].max()]
    assert sharper == ["softmax", "clip", "sigmoid", "minus", "sink", "gate"]
    assert torch.equal(loud.by_rule["norm"], quiet.by_rule["norm"])


def test_which_heads_can_be_silent():
    none = ScoresLab([-4.0] * 6, sink=4, gate=0).handed
    silent = [rule for rule, handed in none.items() if abs(handed) < 0.02]
    assert silent == ["sigmoid", "sink", "gate"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: ScoresLab([1.0]),
        lambda: ScoresLab([1.0] * 21),
        lambda: ScoresLab([1.0, 2.0], values=[1.0]),
        lambda: ScoresLab([1.0, 2.0], tokens=["a", "b", "c"]),
    ],
)
def test_a_row_that_does_not_fit_is_refused(make):
    with pytest.raises(ValueError, match="give each key one of each, for 2 to 20 keys"):
        make()


def test_a_number_outside_its_range_is_refused():
    lab = ScoresLab()
    for name, value in {
        "factor": 0,
        "part": 1.5,
        "sink": 11,
        "gate": -1,
        "key": 6,
        "removed": [6],
        "scores": [5.0] * 6,
        "values": [1.0] * 5,
    }.items():
        with pytest.raises(TraitError):
            setattr(lab, name, value)
    with pytest.raises(TraitError, match="use the factor for larger scores"):
        ScoresLab([9.0, 0.0])
