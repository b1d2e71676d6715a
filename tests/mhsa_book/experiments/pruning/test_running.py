"""A run in miniature: every unit once, resumed, the same again, and stored whole."""

import json
from concurrent.futures import Future

import pytest

from mhsa_book.experiments import units
from mhsa_book.experiments.pruning import __main__ as command
from mhsa_book.experiments.pruning import budget, gates, longer, running, work
from mhsa_book.experiments.pruning.__main__ import planned
from mhsa_book.experiments.pruning.again import again
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.predictions import PREDICTIONS, QUESTIONS
from mhsa_book.experiments.translation import heads_of, learning
from mhsa_book.results import fine_tuning, pruning
from mhsa_book.results.claims import ALPHA
from mhsa_book.results.holm import seeds_needed
from tests.mhsa_book.experiments.pruning.small import TINY

pytestmark = pytest.mark.nohook  # training takes thrice as long with every shape checked

COMMIT = "a" * 40
ROW = fine_tuning.Longer("greedy", 8, 9, {3: [0.1, 0.5]})


class Here:
    """Does units at once and in this process, which starts no other."""

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, work, *arguments):
        done = Future()
        done.set_result(work(*arguments))
        return done


@pytest.fixture(scope="module", autouse=True)
def here():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "ProcessPoolExecutor", Here)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory, here):
    folder = tmp_path_factory.mktemp("tiny")
    return running.run(TINY, COMMIT, folder), folder


def test_every_level_every_way_and_every_draw_is_there(whole):
    found, _ = whole
    model = found.models[102]
    assert found.predictions_commit == COMMIT
    assert [*model.cuts] == ["12", "4"]
    assert {*model.cuts["4"]} | {pruning.CHANCE} == {*pruning.CUTS}
    assert [len(draws) for draws in model.drawn_cuts.values()] == [2, 2]
    assert [*model.scratch] == ["12", "4"]
    assert {*model.times} == {"12", "4", "closed"}
    assert all(
        sorted(order) == [*range(24)] for order in [*model.drawn, *model.orders.values()]
    )
    assert set(found.machine["seconds of a part"]) == {*budget.SECONDS}


def test_what_is_done_is_not_done_again(whole):
    found, folder = whole
    rounds = []

    def progress(units, total, desc):
        rounds.append(total)
        return units

    assert running.run(TINY, COMMIT, folder, progress=progress) == found
    assert rounds == [0] * 5


def test_a_seed_again_gives_the_stored_numbers_bit_for_bit(whole):
    found, _ = whole
    assert again(found, 102, 4).endswith("differ by at most 0; 0 is the same.")


def test_what_is_not_stored_is_not_run_again(whole):
    with pytest.raises(ValueError, match=r"seed=0 at 4 heads is not stored; .* \[102\]"):
        again(whole[0], 0, 4)


def test_what_is_chosen_is_chosen_on_other_seeds_by_its_rule():
    plan = Plan(tuned_on=(100, 101), lambdas=(1, 2, 3), rates=(1, 2), scratch_rates=(1, 2))
    n_open = {1: (18, 16), 2: (13, 9), 3: (5, 4)}
    tried = {
        ("gates", seed, weight): {"open": [0] * n}
        for weight, both in n_open.items()
        for seed, n in zip((100, 101), both, strict=True)
    }
    worse = {("rate", 100, 1): [0.1, 0.3], ("rate", 101, 1): [0.3, 0.3]}
    better = {("rate", 100, 2): [0.2, 0.2], ("rate", 101, 2): [0.2, 0.2]}
    scratch = {("scratch rate", 100, 1): [0.1], ("scratch rate", 100, 2): [0.2]}
    tried |= {key: {"losses": found} for key, found in (worse | better | scratch).items()}
    found = running.chosen(plan, tried)
    assert found == {"lambda": [1, 2, 2, 3], "rate": 2, "scratch rate": 1}
    assert not {key[1] for key in running.tuning_keys(plan)} & {*plan.seeds}


def test_a_seed_that_is_tuned_on_is_not_reported():
    with pytest.raises(ValueError, match=r"seeds \[3\] are tuned on and reported"):
        Plan(tuned_on=(3, 100))


def test_gates_are_trained_with_the_model_and_a_large_weight_moves_them():
    model, seeds = learning.untrained(seed=0), {"seed": 1, "n_steps": 12}
    strong = gates.train(model, 5.0, learning_rate=1e-3, **seeds)
    weak = gates.train(model, 0.0, learning_rate=1e-3, **seeds)
    highest, lowest = (max(gates.gates_of(m).values()) for m in (strong, weak))
    assert 3.0 - highest > 0.4  # twelve steps at a rate of their own
    assert lowest > highest
    before, after = (m.state_dict()["unembed.weight"] for m in (model, strong))
    assert 0 < (before - after).abs().max() < 0.012


def test_cuts_keep_the_first_heads_of_every_order(whole, monkeypatch):
    _, folder = whole
    kept = []

    def watched(model, keep):
        kept.append([heads_of(learning.untrained(0)).index(head) for head in keep])
        return original(model, keep)

    original = work.removed
    monkeypatch.setattr(work, "removed", watched)
    weight = running.chosen(TINY, _tried(folder))["lambda"][1]
    work.cut(TINY, folder, 102, 4, weight, 0.002)
    ranked = json.loads((folder / "orders 102.json").read_text(encoding="utf-8"))
    orders = [*ranked["orders"].values(), *ranked["random"]]
    assert kept[1:] == [order[:4] for order in orders]


def test_longer_keeps_the_first_heads_of_a_way_and_makes_so_many_steps(whole, monkeypatch):
    found, folder = whole
    seen = []

    def watched(model, seed, n_steps, rate, draw):
        seen.append((len(heads_of(model)), seed, n_steps, rate))
        return original(model, seed, n_steps, rate, draw)

    original = work.tuned
    monkeypatch.setattr(work, "tuned", watched)
    rows = longer.run(TINY, found, folder)
    rate = found.tuning["chosen"]["rate"]
    assert seen == [(24, 102, 1, rate), (4, 102, 5, rate), (4, 102, 5, rate)]
    assert [(row.way, row.level, row.n_steps) for row in rows] == [*longer.asked(TINY)]
    assert [*rows[0].losses] == [102]
    assert rows[1].loss()[102] != rows[2].loss()[102]
    drawn = [heads_of(learning.untrained(0))[head] for head in found.models[102].drawn[0][:4]]
    few = work.removed(work.trained(folder, 102), drawn)
    batches = work.again(work.batches(102, 5))
    expected = work.losses(original(few, 102, 5, rate, batches), TINY.n_tested)
    assert rows[2].losses[102] == expected


def _tried(folder):
    keys = running.tuning_keys(TINY)
    names = {key: units.kept_as(folder, key) for key in keys}
    return {key: json.loads(file.read_text(encoding="utf-8")) for key, file in names.items()}


# --- before the run --------------------------------------------------------------------------


def test_the_seeds_can_tell_every_planned_comparison_apart():
    assert len(Plan().seeds) >= seeds_needed(len(QUESTIONS), ALPHA)
    assert {question.level for question in QUESTIONS} == {Plan().compared_at}


def test_the_plan_says_what_is_expected_what_it_takes_and_what_is_left_out():
    text = " ".join(planned(Plan()).split())
    assert all(prediction in text for prediction in PREDICTIONS)
    assert all(part in text for part in budget.LEFT_OUT)
    assert budget.minutes(Plan()) / 2 < budget.LIMIT


def test_one_command_runs_under_the_commits_of_predictions_and_plan_and_stores(
    whole, tmp_path, monkeypatch, capsys
):
    found, asked = whole[0], []
    monkeypatch.setattr(command, "predictions_commit", lambda file: f"{file.stem:a<40}")
    monkeypatch.setattr(running, "run", lambda *args, **_: asked.append(args) or found)
    monkeypatch.setattr(pruning, "save", lambda run: asked.append(run))
    monkeypatch.setattr(command, "report", lambda run: f"told of {len(run.models)} models")
    command.main(["--folder", str(tmp_path)])
    (plan, commit, folder), stored = asked
    assert (plan, commit) == (Plan(), f"{'predictions':a<40}")
    assert folder.name == "pruning-predictionsa-planaaaaaaaa"
    assert stored == found
    assert capsys.readouterr().out == "told of 1 models\n"
    monkeypatch.setattr(pruning, "kept", lambda: found)
    monkeypatch.setattr(longer, "run", lambda *args, **_: asked.append(args) or (ROW,))
    monkeypatch.setattr(fine_tuning, "save", lambda rows: asked.append(rows))
    command.main(["--longer", "--folder", str(tmp_path)])
    assert asked[2:] == [(Plan(), found, folder), (ROW,)]
    assert capsys.readouterr().out == "greedy, 8 heads, 9 steps: [0.5]\n"
    command.main(["--plan"])
    assert "40 minutes on two cores, of 45" in capsys.readouterr().out
