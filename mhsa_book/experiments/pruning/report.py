"""What came out, in words and tables; no number of it is typed, but for the paper's."""

from textwrap import fill

from mhsa_book.experiments.pruning.predictions import QUESTIONS
from mhsa_book.experiments.pruning.verdicts import verdicts
from mhsa_book.results.claims import Claim, corrected
from mhsa_book.results.pruning import CUTS, SCRATCH, WHEN, Pruning
from mhsa_book.results.sentences import probability, sentence
from mhsa_book.results.sign_flips import least_p
from mhsa_book.results.tables import Table

PAPER = (
    "What the paper measured, and this run did not: on WMT English-Russian, 38 of the 48 heads "
    "of the encoder's self-attention pruned cost 0.15 BLEU (Voita et al., abstract, arXiv "
    "1905.09418)."
)


def answers(found: Pruning) -> tuple[Claim, ...]:
    """The planned comparisons, with Holm's correction for all of them."""
    return corrected(*(Claim(found.compared(q.first, q.second, q.level)) for q in QUESTIONS))


def losses(found: Pruning, when: str = "after") -> Table:
    """The mean loss of every way at every level, with its 95 % interval."""
    said = {"before": "Before fine-tuning", "after": "After it"}[when]
    ways = (*CUTS, SCRATCH) if when == WHEN[1] else CUTS

    def cell(way: str, level: int) -> str:
        mean, low, high = found.interval(way, level, when)
        return f"{mean:.4f} ({low:.4f} to {high:.4f})"

    rows = tuple((way, *(cell(way, level) for level in found.levels)) for way in ways)
    caption = f"{said}: nats a word, mean over {len(found.seeds)} seeds and its 95 % interval."
    return Table(caption, ("heads kept", *map(str, found.levels)), rows)


def survival(found: Pruning, *roles: str) -> Table:
    """Heads with a role that are kept, beside what chance keeps, and p of so many or more."""

    def cell(way: str, level: int) -> str:
        n, expected, p = found.survival(way, level, *roles)
        return f"{n} ({expected:.1f}, {probability(p)})"

    rows = tuple((way, *(cell(way, level) for level in found.levels)) for way in CUTS[1:])
    caption = "Heads with a role that stay, in all models (expected by chance, p)."
    return Table(caption, ("heads kept", *map(str, found.levels)), rows)


def report(found: Pruning, width: int = 88) -> str:
    """The answers in sentences, the tables, the verdicts, and what the paper said."""
    n = len(found.seeds)
    said = [fill(sentence(claim), width) for claim in answers(found)]
    said.append(
        fill(
            f"Corrected: by Holm's method, for {len(QUESTIONS)} planned comparisons. {n} seeds "
            f"give no {probability(least_p(n)).replace('=', 'below')}.",
            width,
        )
    )
    said += [str(sheet) for sheet in (losses(found, "before"), losses(found), survival(found))]
    for verdict in verdicts(found):
        held = "came true" if verdict.came_true else "did not come true"
        said.append(fill(f"{verdict.prediction} This {held}: {verdict.found}.", width))
    return "\n\n".join([*said, fill(PAPER, width)])
