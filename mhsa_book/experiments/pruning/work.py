"""The units of a run, each a function of its key: what they need of others lies in the folder.

A key holds everything that decides the result. Trained weights lie beside the numbers, under
the same name; the numbers are written last, so where they are the weights are whole.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from mhsa_book.examples import language
from mhsa_book.experiments.pruning import gates, orders, speed
from mhsa_book.experiments.pruning.cutting import DIGITS, again, batches, losses, tuned
from mhsa_book.experiments.pruning.plan import Plan
from mhsa_book.experiments.pruning.removal import counts, removed, shaped
from mhsa_book.experiments.pruning.roles import roles
from mhsa_book.experiments.translation import Head, heads_of, learning
from mhsa_book.experiments.units import kept_as
from mhsa_book.results.decimals import Number
from mhsa_book.results.pruning import (
    CHANCE,
    CLOSED,
    CONFIDENCE,
    GREEDY,
    IMPORTANCE,
    L0,
    L0_HEADS,
)
from mhsa_book.transformer import EncoderDecoder

RANKED_ON = 3
"""The seed of the pairs on which heads are ranked; training draws none below 2²⁰."""

Found = dict[str, Any]
Done = dict[Any, Found]


def worked(plan: Plan, folder: Path, key: tuple[Any, ...]) -> Found:
    """What one unit gives, as JSON keeps it."""
    part, *rest = key
    return PARTS[part](plan, folder, *rest)


def model(plan: Plan, folder: Path, seed: int) -> Found:
    """Train a translator as chapter 10 does."""
    made, curve = learning.train(seed, plan.n_steps)
    torch.save(made.state_dict(), _weights(folder, ("model", seed)))
    return {"whole": losses(made, plan.n_tested), "last": round(curve[-1], DIGITS)}


def gate(plan: Plan, folder: Path, seed: int, weight: Number) -> Found:
    """Train a translator on, with gates; ``weight`` is λ."""
    whole = trained(folder, seed)
    rate, n_steps = float(plan.gate_rate), plan.n_gate_steps
    found = gates.train(
        whole, float(weight), seed=GATE_SEEDS + seed, n_steps=n_steps, learning_rate=rate
    )
    torch.save(found.state_dict(), _weights(folder, ("gates", seed, weight)))
    log_alpha = [*gates.gates_of(found).values()]
    opened = _numbers(found, gates.opened(found))
    return {"log_alpha": log_alpha, "open": opened, "losses": losses(found, plan.n_tested)}


GATE_SEEDS = 2_000_000
"""Added to a seed for the batches and the draws of the gates."""


def order(plan: Plan, folder: Path, seed: int) -> Found:
    """Rank the heads of a translator, and name those with a role."""
    whole = trained(folder, seed)
    pairs = language.pairs(plan.n_ranked, seed=RANKED_ON)
    found = {
        IMPORTANCE: orders.best_first(orders.importance(whole, pairs)),
        GREEDY: orders.greedy(whole, pairs),
        CONFIDENCE: orders.best_first(orders.confidence(whole, pairs)),
    }
    chance = [orders.by_chance(whole, 1000 * seed + draw) for draw in range(plan.n_draws)]
    held = {role: _numbers(whole, [head])[0] for role, head in roles(whole, pairs).items()}
    ranked = {name: _numbers(whole, ranking) for name, ranking in found.items()}
    return {
        "orders": ranked,
        CHANCE: [_numbers(whole, drawn) for drawn in chance],
        "roles": held,
    }


def cut(plan: Plan, folder: Path, seed: int, level: int, weight: Number, rate: Number) -> Found:
    """Remove heads by every ranking, and fine-tune; losses before that, and after.

    The heads of L0 are those with the largest log_alpha, trained with the λ ``weight``.
    """
    whole, with_gates = trained(folder, seed), _gated(folder, seed, weight)
    heads, ranked = heads_of(whole), _read(folder, ("orders", seed))
    chosen = orders.best_first(gates.gates_of(with_gates))[:level]

    def both(model: EncoderDecoder) -> list[list[float]]:
        before = losses(model, plan.n_tested)
        draw = again(batches(seed, plan.n_tuning_steps))
        tuned(model, seed, plan.n_tuning_steps, float(rate), draw)
        return [before, losses(model, plan.n_tested)]

    def kept(ranking: Sequence[int]) -> list[list[float]]:
        return both(removed(whole, [heads[i] for i in ranking[:level]]))

    arms = {
        L0: both(gates.ungated(with_gates, chosen)),
        L0_HEADS: both(removed(whole, chosen)),
        **{name: kept(ranking) for name, ranking in ranked["orders"].items()},
    }
    return {"arms": arms, CHANCE: [kept(ranking) for ranking in ranked[CHANCE]]}


def scratch(
    plan: Plan, folder: Path, seed: int, level: int, weight: Number, rate: Number
) -> Found:
    """Train the shape that L0 left from scratch, for as many steps as L0 took in all."""
    ranking = orders.best_first(gates.gates_of(_gated(folder, seed, weight)))
    fresh = shaped(counts(ranking[:level]), seed)
    made = tuned(fresh, seed, plan.n_scratch_steps, float(rate))
    return {"after": losses(made, plan.n_tested)}


def rate(plan: Plan, folder: Path, seed: int, rate: Number) -> Found:
    """Fine-tune at one rate what an order by chance leaves at every level."""
    whole = trained(folder, seed)
    ranking = orders.by_chance(whole, 1000 * seed)
    models = [removed(whole, ranking[:level]) for level in plan.levels]
    steps = plan.n_tuning_steps
    found = [
        losses(tuned(few, seed, steps, float(rate), again(batches(seed, steps))), plan.n_tested)
        for few in models
    ]
    return {"losses": [each[-1] for each in found]}


def scratch_rate(plan: Plan, folder: Path, seed: int, rate: Number) -> Found:
    """Train at one rate, from scratch, the shape that an order by chance leaves."""
    ranking = orders.by_chance(trained(folder, seed), 1000 * seed)
    fresh = shaped(counts(ranking[: plan.compared_at]), seed)
    made = tuned(fresh, seed, plan.n_scratch_steps, float(rate))
    return {"losses": losses(made, plan.n_tested)[-1:]}


def time(plan: Plan, folder: Path, seed: int, *weights: Number) -> Found:
    """Time a forward pass at every level without the other heads, and with closed gates."""
    whole = trained(folder, seed)
    others: dict[str, EncoderDecoder] = {}
    for level, weight in zip(plan.levels, weights, strict=True):
        with_gates = _gated(folder, seed, weight)
        chosen = orders.best_first(gates.gates_of(with_gates))[:level]
        others[str(level)] = removed(whole, chosen)
    others[CLOSED] = with_gates
    return speed.ratios(whole, others)


def longer(
    plan: Plan, folder: Path, seed: int, way: str, level: int, n_steps: int, rate: Number
) -> Found:
    """Fine-tune what a way leaves for another number of steps; by chance is its first draw."""
    whole, ranked = trained(folder, seed), _read(folder, ("orders", seed))
    ranking = ranked[CHANCE][0] if way == CHANCE else ranked["orders"][way]
    heads = heads_of(whole)
    few = removed(whole, [heads[i] for i in ranking[:level]])
    tuned(few, seed, n_steps, float(rate), again(batches(seed, n_steps)))
    return {"after": losses(few, plan.n_tested)}


PARTS: Mapping[str, Callable[..., Found]] = {
    "model": model,
    "gates": gate,
    "orders": order,
    "cut": cut,
    "scratch": scratch,
    "rate": rate,
    "scratch rate": scratch_rate,
    "time": time,
    "longer": longer,
}


def trained(folder: Path, seed: int) -> EncoderDecoder:
    """The translator of a seed whose unit is done, frozen and in evaluation mode."""
    found = learning.untrained(seed).eval().requires_grad_(False)
    found.load_state_dict(torch.load(_weights(folder, ("model", seed)), weights_only=True))
    return found


def _gated(folder: Path, seed: int, weight: Number) -> EncoderDecoder:
    found = gates.gated(learning.untrained(seed)).eval().requires_grad_(False)
    found.load_state_dict(
        torch.load(_weights(folder, ("gates", seed, weight)), weights_only=True)
    )
    return found


def _weights(folder: Path, key: tuple[Any, ...]) -> Path:
    return kept_as(folder, key).with_suffix(".pt")


def _read(folder: Path, key: tuple[Any, ...]) -> Found:
    return json.loads(kept_as(folder, key).read_text(encoding="utf-8"))


def _numbers(model: EncoderDecoder, heads: Sequence[Head]) -> list[int]:
    """Places of heads among all of a model."""
    known = heads_of(model)
    return [known.index(head) for head in heads]
