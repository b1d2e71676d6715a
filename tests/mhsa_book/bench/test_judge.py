"""Right first: who is wrong, absent or broken is listed, and never timed."""

import sys
import time

import pytest
import torch
import torch.nn.functional as F

from mhsa_book.bench import decoding, judge, problem, rivals
from mhsa_book.bench.judge import Effort
from mhsa_book.bench.problem import Loaded, Problem, load
from mhsa_book.bench.registry import DECODERS, PASSES, RAW_IN_BFLOAT16
from mhsa_book.equivalence.peers import NotApplicableError
from mhsa_book.results.cells import Cell
from mhsa_book.results.records import AGAIN, OURS, STAGES, UNIT, Entry
from tests.mhsa_book.bench.small_cells import CELLS

ONE = Effort(rounds=1, seconds=0.0)
FEW = {UNIT, AGAIN, OURS}


@pytest.fixture(scope="module", autouse=True)
def unprofiled():
    """Whoever loses is profiled, for seconds: that is held in `test_profiles`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge.profiles, "milliseconds", lambda entrant: {})
        yield


@pytest.fixture(scope="module", params=CELLS, ids=repr)
def race(request):
    return judge.run(request.param, {}, ONE)


def rival(core):
    """Return a builder of raw with another core."""

    def build(given):
        module = rivals.Packed(given.cell)
        module.core = core
        return Loaded(module, module, load(given.attention, module.maps))

    return build


def run(cell, *known, **extra):
    """A race among raw, ours, those who are named, and the new ones."""
    names = {name.replace("_", " "): build for name, build in extra.items()}
    with pytest.MonkeyPatch.context() as patch:
        for table in ("PASSES", "DECODERS"):
            few = {n: b for n, b in getattr(judge, table).items() if n in FEW | {*known}}
            patch.setattr(judge, table, few)
        return judge.run(cell, {}, ONE, extra=names)


def test_everybody_is_listed_with_a_ratio_or_a_reason(race):
    decode = race.cell.mode == "decode"
    wanted = set(DECODERS if decode else PASSES)
    wanted |= {RAW_IN_BFLOAT16} if race.cell.precision == "bfloat16" else set()
    assert {entry.name for entry in race.entries} == wanted
    for entry in race.entries:
        assert (entry.ratio is None) == bool(entry.reason), entry
        assert entry.ratio is None or entry.error is not None


def test_ours_raw_and_the_explicit_softmax_are_right_in_every_cell(race):
    for name in (UNIT, AGAIN, OURS, "explicit softmax"):
        entry = race.entry(name)
        assert not entry.reason, entry
        precision = "float32" if name in (UNIT, AGAIN) else race.cell.precision
        assert entry.error <= problem.OURS[precision]
        if race.cell.mode == "training":
            assert entry.gradient_error <= problem.GRADIENT[precision]


def test_raw_is_the_unit_and_neither_ours_nor_its_twin_is_a_peer(race):
    assert race.entry(UNIT).ratio == (1.0, 1.0, 1.0)
    assert race.best_peer not in (AGAIN, OURS, STAGES)
    assert race.cell.precision == "float32" or race.best_peer != UNIT
    assert race.entry(race.best_peer).ratio is not None


def test_an_inverted_mask_is_wrong_and_not_timed():
    def inverted(q, k, v):
        ahead = torch.ones(8, 8, dtype=torch.bool).triu(1)
        ahead[-1, -1] = True  # as the class did: a row may not be empty
        return F.scaled_dot_product_attention(q, k, v, ahead)

    found = run(CELLS[1], inverted=rival(inverted))
    entry = found.entry("inverted")
    assert entry.error > 0.1
    assert entry.reason.startswith("wrong: output off by")
    assert entry.ratio is None
    assert found.best_peer != "inverted"


def test_a_wrong_gradient_is_wrong_though_the_output_is_right():
    def detached(q, k, v):
        return F.scaled_dot_product_attention(q, k.detach(), v)

    entry = run(CELLS[4], detached=rival(detached)).entry("detached")
    assert entry.error < 1e-5
    assert entry.reason.startswith("wrong: gradient off by")
    assert entry.ratio is None


@pytest.mark.parametrize(
    "core",
    [lambda q, k, v: v * float("nan"), lambda q, k, v: v[:, :, :4]],
    ids=["NaN", "shape"],
)
def test_nan_or_another_shape_is_wrong(core):
    entry = run(CELLS[0], odd=rival(core)).entry("odd")
    assert entry.reason.startswith("wrong: output off by inf")


def test_one_that_breaks_is_listed_with_its_error_and_no_path():
    def broken(given):
        raise OSError("no such file: /home/somebody/secret/weights.bin")

    entry = run(CELLS[0], broken=broken).entry("broken")
    assert entry.reason == "not run here: OSError: no such file: weights.bin"


def test_one_that_is_right_but_hopelessly_slow_is_not_timed():
    def asleep(q, k, v):
        time.sleep(1.05)
        return F.scaled_dot_product_attention(q, k, v)

    entry = run(CELLS[0], asleep=rival(asleep)).entry("asleep")
    assert entry.reason == "not timed: a call takes over 20 times as long as raw"
    assert (entry.ratio, entry.rounds) == (None, 0)
    assert entry.error < 1e-5


def test_one_that_cannot_express_the_cell_says_why():
    def unable(given):
        raise NotApplicableError("always causal")

    assert run(CELLS[0], unable=unable).entry("unable").reason == "not run here: always causal"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("torchtune", "torchtune"),
        ("litgpt", "litgpt"),
        ("x_transformers", "x-transformers"),
        ("transformers", "BERT SDPA"),
    ],
)
def test_a_library_that_is_absent_is_listed_as_not_run_here(monkeypatch, package, name):
    for module in [m for m in sys.modules if m.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    entry = run(Cell(1, 4, 8, 2, "causal"), name).entry(name)
    assert entry.reason == f"not run here: {package} is not installed"


def test_raw_has_to_be_right(monkeypatch):
    monkeypatch.setitem(judge.PASSES, UNIT, rival(lambda q, k, v: v))
    with pytest.raises(RuntimeError, match="raw itself is wrong"):
        judge.run(CELLS[0], {}, ONE)


def test_a_decoder_that_forgets_the_newest_token_is_wrong():
    class Forgets(decoding.RawCache):
        def look(self, q, k, v):
            return super().look(q, k[:, :, :-1], v[:, :, :-1])

    def build(past):
        module = Forgets(past)
        return decoding.Decoder(module, module.reset)

    entry = run(CELLS[-1], forgets=build).entry("forgets")
    assert entry.reason.startswith("wrong: output off by")


@pytest.mark.parametrize(("precision", "best"), [("float32", UNIT), ("bfloat16", "slow")])
def test_the_best_peer_is_neither_ours_nor_the_unit_of_another_precision(precision, best):
    medians = {UNIT: 1.0, AGAIN: 0.9, OURS: 0.5, STAGES: 0.6, "slow": 1.5}
    entries = {name: Entry(name, (t, t, t)) for name, t in medians.items()}
    entries["wrong"] = Entry("wrong", reason="wrong: output off by 1")
    assert judge._best(Cell(2, 8, 16, 2, precision=precision), entries) == best


@pytest.mark.parametrize("name", [name for name in PASSES if "nn.MHA" in name])
def test_the_mode_is_the_implementations_own_and_not_its_names(name):
    given = Problem(Cell(1, 8, 32, 4))
    loaded = PASSES[name](given)
    judge._judged("by another name", loaded, given, "float32")
    assert loaded.module.training is (name != "nn.MHA, fast path")
