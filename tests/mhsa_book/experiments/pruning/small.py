"""A plan that takes seconds, and made-up numbers of a whole run."""

from dataclasses import asdict

from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.predictions import PREDICTIONS
from mhsa_book.experiments.translation import heads_of, learning
from mhsa_book.experiments.translation.worth import ASKED
from mhsa_book.results.pruning import CHANCE, CLOSED, CUTS, Model, Pruning

TINY = Plan(
    seeds=(102,),
    tuned_on=(100,),
    levels=(12, 4),
    compared_at=4,
    lambdas=(0.1, 9.0),
    rates=(0.002,),
    scratch_rates=(0.005,),
    n_steps=2,
    n_gate_steps=2,
    n_tuning_steps=1,
    n_draws=2,
    n_ranked=8,
    n_tested=32,
)

HEADS = tuple(map(repr, heads_of(learning.untrained(seed=0))))
WAYS = [way for way in CUTS if way != CHANCE]


def loss(way, level, seed, when):
    """Each way loses more than the one before it, and more with fewer heads."""
    return (1 + CUTS.index(way)) / level + seed / 1000 + (when == "before")


def model(seed, plan):
    """Heads 0 to 3 have roles; greedy keeps the first heads, importance the last."""
    forth, back = list(range(24)), list(reversed(range(24)))
    both = {
        str(level): {
            way: [[loss(way, level, seed, when)] * 5 for when in ("before", "after")]
            for way in CUTS
        }
        for level in plan.levels
    }
    return Model(
        whole=[0.001 * i for i in range(5)],
        roles=dict(zip((*ASKED[:4], "alignment"), (0, 1, 2, 3, 3), strict=True)),
        orders={"importance": back, "greedy": forth, "confidence": back},
        drawn=[forth, back],
        log_alpha={
            str(level): [3.0 if i < level else -3.0 for i in range(24)] for level in plan.levels
        },
        gated={str(level): [0.1] * 5 for level in plan.levels},
        cuts={level: {way: found[way] for way in WAYS} for level, found in both.items()},
        drawn_cuts={
            level: [found[CHANCE], [[2 * x for x in losses] for losses in found[CHANCE]]]
            for level, found in both.items()
        },
        scratch={str(level): [0.01 + seed / 1e4] * 5 for level in plan.levels},
        times={**{str(level): level / 24 for level in plan.levels}, CLOSED: 1.0},
    )


def made_up(plan=None):
    plan = Plan() if plan is None else plan
    settings = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(plan).items()}
    return Pruning(
        predictions=PREDICTIONS,
        predictions_commit="0" * 40,
        date="2026-01-31",
        settings=settings,
        tuning={},
        machine={},
        heads=HEADS,
        tasks=ASKED,
        models={seed: model(seed, plan) for seed in plan.seeds},
    )
