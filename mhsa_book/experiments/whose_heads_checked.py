"""Which predictions about the heads that name Mary came true, and some numbers once more.

The run asks eight texts at once by code of its own. Here a part of it is measured again with
what everybody can call, ``LanguageModel`` and ``edit``, one text at a time.
"""

from collections.abc import Sequence
from contextlib import ExitStack

import torch.nn.functional as F
from torch import Tensor

from mhsa_book.experiments import who_gets_the_drink as drink
from mhsa_book.experiments import who_steps_in as steps
from mhsa_book.experiments import whose_heads_name_mary as mary
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.models.switching import Head
from mhsa_book.results.who_gets_the_drink import Found as Lab1
from mhsa_book.results.who_gets_the_drink import head as read_name
from mhsa_book.results.who_steps_in import LEAD, Numbers, SteppedIn
from mhsa_book.results.whose_heads_name_mary import (
    MEAN,
    SOURCE,
    WAYS,
    ZERO,
    Found,
    mean_by_head,
)
from mhsa_lib.tracing import edit, trace

NAMES_OF = ("right", "giver first", "giver second")
"""Where the two names stand, as ``Found.watched`` calls these places."""


def verdicts(found: Found, lab_1: Lab1) -> tuple[bool, ...]:
    """Which of the predictions came true, in their order."""
    every = found.templates
    direct = {t: mean_by_head(found.watched[t]["direct"]) for t in every}
    weights = {t: found.watched[t]["weights"] for t in every}
    told = {r: mean_by_head(by) for r, by in found.told[mary.SCREENED].items()}
    rises = {t: mean_by_head(found.rises[t]) for t in every}
    order = ordered(found, lab_1)
    drawn = [name for name in found.orders if name.startswith("drawn")]
    return (
        all(_most(direct[t]) == "L23H3" for t in every),
        all(_most(weights[t]["right"]) == "L24H4" for t in every)
        and all(found.written("L24H4", t).mean < 0 for t in every),
        all(weights[t]["giver second"]["L23H3"] > 0.5 for t in every)
        and all(
            weights[t]["right"]["L23H0"]
            > 2 * sum(weights[t][place]["L23H0"] for place in NAMES_OF[1:])
            for t in every
        ),
        found.written("L23H1").low > 0
        and all(found.changed("L23H1", way).low > 0 for way in WAYS),
        _most({h: abs(n) for h, n in told["L23H0 q"].items()}) == "L20H0",
        _most({h: abs(n) for h, n in told["L20H0 v"].items()}) == "L17H4",
        order["what it writes"] > order["its weight on the names"],
        all(found.leads(t, mary.N_OFF).mean < 1 / 2 for t in every),
        all(found.leads(t, mary.N_OFF, MEAN, o).mean >= 0.9 for t in every for o in drawn),
        all(_most(rises[t]) == "L24H4" for t in every),
    )


def verdicts_on_reactions(reacted: SteppedIn, found: Found) -> tuple[bool, ...]:
    """Which of the predictions of ``who_steps_in`` came true, in their order."""
    every, one, all_three = reacted.templates, steps.MOVERS[0], " ".join(steps.MOVERS)

    def lost(template: str, off: str) -> float:
        return reacted.without(off, steps.MOVERS, template).mean

    return (
        all(_most(_others(reacted.off[t], one)) == "L24H4" for t in every),
        all(
            reacted.without(all_three, "L24H4", t).mean > reacted.without(one, "L24H4", t).mean
            for t in every
        ),
        all(lost(t, "L20H0") < -1 / 2 for t in every)
        and all(
            -reacted.without("L20H0", "L23H3", t).mean < found.written("L23H3", t).mean / 5
            for t in every
        ),
        all(lost(t, off) < 0 for t in every for off in ("L17H4", "L16H0")),
        all(_least(told_movers(reacted, t)) == "L20H0" for t in every),
        sorted(told_over_all(reacted), key=told_over_all(reacted).__getitem__)[1] == "L19H2",
        told_over_all(reacted)["L20H0"] < reacted.without("L20H0", steps.MOVERS).mean / 2,
        all(_most(mean_by_head(reacted.told[t]["L24H4"])) == "L23H3" for t in every),
    )


def told_movers(reacted: SteppedIn, template: str) -> dict[str, float]:
    """By how much the name movers, together, write more if a head tells their queries."""
    by = [mean_by_head(reacted.told[template][mover]) for mover in steps.MOVERS]
    return {sender: sum(each[sender] for each in by) for sender in by[0]}


def told_over_all(reacted: SteppedIn) -> dict[str, float]:
    """The same, as the mean over templates."""
    by = [told_movers(reacted, template) for template in reacted.templates]
    return {sender: sum(each[sender] for each in by) / len(by) for sender in by[0]}


def _others(of: dict[str, Numbers], off: str) -> dict[str, float]:
    """What every head gains, but those that are off and the lead."""
    return {h: n for h, n in mean_by_head(of[off]).items() if h not in (LEAD, *off.split())}


def ordered(
    found: Found, lab_1: Lab1, template: str = "store", at_least: float = 0.0
) -> dict[str, float]:
    """How far each measure orders the heads as the effect of lab note 1 does.

    Spearman's rank correlation with what a head changes when it is off alone, without signs;
    of all 270 heads, or of those that change the lead by ``at_least`` so much.
    """
    from scipy import stats

    seen = found.watched[template]
    heads = [head for head in lab_1.heads if abs(lab_1.alone(head).mean) >= at_least]
    effect = [abs(lab_1.alone(head).mean) for head in heads]
    direct = mean_by_head(seen["direct"])
    measures = {
        "its weight on the names": [
            sum(seen["weights"][place][head] for place in NAMES_OF) for head in heads
        ],
        "the length of its z": [seen["length"][head] for head in heads],
        "what it writes": [abs(direct[head]) for head in heads],
    }
    return {
        name: float(stats.spearmanr(values, effect).statistic)
        for name, values in measures.items()
    }


def again(
    lm: LanguageModel, found: Found, template: str, heads: Sequence[str], at: int = 0
) -> float:
    """Measure one prompt of a template again; the largest difference from what is stored.

    Of each head what it writes, what its absence changes in the three ways and, if it is told
    on in the run, what it tells.
    """
    _, pair, third = mary.pairs_of(template)[at]
    text, source = drink.prompt(template, pair), drink.prompt(template, pair, third)
    ids = [lm.id(f" {each}") for each in pair]

    def lead(logits: Tensor) -> float:
        return float(logits[-1, ids[0]] - logits[-1, ids[1]])

    whole = lead(lm.logits(text))
    right, wrong = (lm.contributions(text, f" {each}").heads for each in pair)
    differences = [abs(whole - found.watched[template]["lead"][at])]
    for name in heads:
        head = read_name(name)
        stored = found.watched[template]["direct"][name][at]
        differences.append(abs(float(right[head] - wrong[head]) - stored))
        for way in WAYS:
            over = [source] if way == SOURCE else drink.sources(template, drink.BOTH)
            how = {ZERO: "zero", MEAN: "mean", SOURCE: "resample"}[way]
            with lm.without([head], how, None if way == ZERO else over):
                changed = lead(lm.logits(text)) - whole
            differences.append(abs(changed - found.off[template][way][name][at]))
        for receiver, by in found.told[template].items():
            if name in by:
                place = -1 if mary.RECEIVERS[receiver] == "last" else _second(lm, text, pair[1])
                to = read_name(receiver.split()[0])
                logits = told_slowly(lm, source, text, head, to, receiver[-1], place)
                differences.append(abs(lead(logits) - whole - by[name][at]))
    return max(differences)


def reacted_again(lm: LanguageModel, reacted: SteppedIn, template: str, at: int = 0) -> float:
    """Measure one prompt of the second step again; the largest difference from what is stored.

    Of every set of heads that is off the lead and what the heads of layers 23 and 24 write.
    """
    _, pair, _ = mary.pairs_of(template)[at]
    text, over = drink.prompt(template, pair), drink.sources(template, drink.BOTH)
    written = [f"L{layer}H{head}" for layer in (23, 24) for head in range(9)]

    def measured() -> dict[str, float]:
        right, wrong = (lm.contributions(text, f" {each}") for each in pair)
        found = {
            h: float(right.heads[read_name(h)] - wrong.heads[read_name(h)]) for h in written
        }
        return found | {LEAD: right.logit - wrong.logit}

    whole, differences = measured(), list[float]()
    for off in steps.OFF:
        with lm.without([read_name(each) for each in off.split()], "mean", over):
            now = measured()
        stored = {
            h: v for h, v in reacted.off[template][off].items() if len(v) > 1 and h in now
        }
        differences += [abs(now[h] - whole[h] - v[at]) for h, v in stored.items()]
    return max(differences)


def told_slowly(
    lm: LanguageModel,
    source: str,
    target: str,
    sender: Head,
    receiver: Head,
    part: str,
    at: int,
) -> Tensor:
    """Logits (token, vocabulary) after the target, if a head tells one other of the source.

    Only what it found at position ``at`` is told, and only the last token of the receiver
    hears it, as its "q", "k" or "v".
    """
    held = lm.heads(target)
    held[sender][at] = lm.heads(source)[sender][at]
    layer, head = receiver
    with trace(lm.attention(layer)) as before:
        lm.logits(target)
    with ExitStack() as stack:
        for i in range(layer):
            stack.enter_context(edit(lm.attention(i), "z", held[i].view_as))
        wires = stack.enter_context(trace(lm.attention(layer)))
        lm.logits(target)
    names = {"q": "q_rotated", "k": "k_rotated", "v": "v_heads"}
    made = {w: before[name].clone() for w, name in names.items()}
    made[part][..., at, :] = wires[names[part]][..., at, :]
    shared = lm.n_heads // lm.n_kv_heads
    q, k, v = made["q"][:, [head]], *(made[w][:, [head // shared]] for w in "kv")
    z = F.scaled_dot_product_attention(q[:, :, -1:], k, v)[0, 0, 0]

    def put(found: Tensor) -> Tensor:
        changed = found.clone()
        changed[0, head, -1] = z
        return changed

    with edit(lm.attention(layer), "z", put):
        return lm.logits(target)


def _second(lm: LanguageModel, text: str, giver: str) -> int:
    """The position of the last mention of a name."""
    tokens = lm.tokens(text)
    return len(tokens) - 1 - tokens[::-1].index(f" {giver}")


def _least(values: dict[str, float]) -> str:
    return min(values, key=lambda name: values[name])


def _most(values: dict[str, float]) -> str:
    return max(values, key=lambda name: values[name])
