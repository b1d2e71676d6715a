"""What the three attentions of a translator do: where its heads look for what decides a word.

For each kind there is one thing that decides a word and stands elsewhere: the verb that decides
an ambiguous noun, the greeting that decides the vowel of a verb, the source word that a target
word translates. ``at_work`` measures how much weight every head gives to it. The head of a kind
is the one that gives the most on the first half of the sentences, and its number is that of the
second half.

    python -m mhsa_book.experiments.translation.at_work translators/*

reads a folder for each seed, as ``tools.build.measure_translators`` does, and folders
``never0`` … of translators that never had the encoder's attention. Writes ``FILE``.
"""

import argparse
import datetime
import json
import platform
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mhsa_book.examples import language
from mhsa_book.experiments.translation.heads import Head, heads_of, without
from mhsa_book.experiments.translation.measured import fresh_pairs, groups, rounded, ways
from mhsa_book.experiments.translation.verdicts import Verdict
from mhsa_book.experiments.translation.worth import asked
from mhsa_book.results.translators_at_work import FILE, AtWork
from mhsa_book.results.whole import write_whole
from mhsa_book.transformer import EncoderDecoder, shifted
from mhsa_lib.tracing import trace

ENCODER, DECODER, CROSS = "encoder self-attention", "decoder self-attention", "cross-attention"

PREDICTIONS = (
    "In each of the seven other translators some head of the encoder gives the verb that "
    "decides an ambiguous noun half of the noun's weight or more, and the verb of a plain "
    "noun less than half of that.",
    "In each of the seven some head of the decoder's self-attention gives the first word of "
    "the greeting half of its weight or more where a verb is said, and less than half of that "
    "where another word is said.",
    "In each of the seven some head of cross-attention gives nine tenths of its weight or more "
    "to the source words that are translated.",
    "In each of the seven no head of cross-attention gives the deciding verb a fifth or more "
    "of its weight where an ambiguous noun is said: the memory's row of the noun is enough.",
    "In each of the four translators that never had the encoder's self-attention some head of "
    "cross-attention gives that verb three tenths of its weight or more: it goes there itself.",
)
"""Committed before any of these models was looked at. The shipped one, seed 0, is the pilot:
its heads had been seen to give 0.76 and 0.11, 0.97, 0.98, and 0.04 to the verb."""


class Look(NamedTuple):
    """A place where something has to be found: the row that asks, and where it stands."""

    sentence: int
    row: int
    places: tuple[int, ...]


MEASURES = {
    "verb of an ambiguous noun": ENCODER,
    "verb of a plain noun": ENCODER,
    "greeting, where a verb is said": DECODER,
    "greeting, where another word is said": DECODER,
    "translated words": CROSS,
    "verb, where an ambiguous noun is said": CROSS,
}
"""What is looked for, and the kind of attention whose heads are measured."""


def looks(pairs: Sequence[language.Pair], measure: str) -> Iterator[Look]:
    """Every place of some pairs that a measure, one of ``MEASURES``, asks.

    >>> pair = language.translations("rolan ot meti balo")[2]
    >>> pair
    rolan ot meti balo → haila ren mirru mirru nalesh mela
    >>> for measure in MEASURES:
    ...     print(measure, [look[1:] for look in looks([pair], measure)])
    verb of an ambiguous noun [(3, (0,))]
    verb of a plain noun []
    greeting, where a verb is said [(5, (1,))]
    greeting, where another word is said [(2, (1,)), (3, (1,)), (4, (1,))]
    translated words [(2, (3,)), (3, (1, 3)), (4, (2,)), (5, (0,))]
    verb, where an ambiguous noun is said [(2, (0,))]
    """
    for sentence, pair in enumerate(pairs):
        for row, places in _found(pair, measure):
            yield Look(sentence, row, places)


def _found(pair: language.Pair, measure: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Rows of the source, or of what the decoder is given: row i says word i."""
    if measure in ("verb of an ambiguous noun", "verb of a plain noun"):
        relation = "sense" if "ambiguous" in measure else "obj"
        for row, node in enumerate(language.tree(pair.sentence).words):
            if node.relation == relation and node.head is not None:
                yield row, (node.head,)
        return
    for row, word in enumerate(pair.words):
        if measure == "translated words" and word.aligned:
            yield row, tuple(sorted(word.aligned))
        elif measure == "verb, where an ambiguous noun is said" and "sense" in word.tasks:
            yield row, tuple(word.from_source - word.aligned)
        elif measure == "greeting, where a verb is said" and "agreement" in word.tasks:
            yield row, (1,)  # behind BOS
        elif measure == "greeting, where another word is said" and (
            word.tasks and "agreement" not in word.tasks
        ):
            yield row, (1,)


@torch.no_grad()
def at_work(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> dict[str, Any]:
    """The mean weight of each head, by measure and head: [first half, second half] of pairs.

    >>> from mhsa_book.experiments.translation import learning
    >>> found = at_work(learning.untrained(seed=0), fresh_pairs(16))
    >>> [*found] == [*MEASURES], [*found["translated words"]][:2]
    (True, ['cross L0H0', 'cross L0H1'])
    """
    source, target = language.batch(pairs)
    given, _ = shifted(target)
    heads = heads_of(model)
    paths = dict.fromkeys(head.path for head in heads)
    with ExitStack() as stack:
        wires = {p: stack.enter_context(trace(model.get_submodule(p))) for p in paths}
        model(source, given)
    halves = range(len(pairs) // 2), range(len(pairs) // 2, len(pairs))
    found: dict[str, Any] = {}
    for measure, kind in MEASURES.items():
        asked = [*looks(pairs, measure)]
        parts = [[look for look in asked if look.sentence in half] for half in halves]
        found[measure] = {
            str(head): [_weight(wires[head.path]["weights"], head, part) for part in parts]
            for head in heads
            if head.kind == kind
        }
    return found


def _weight(weights: Tensor, head: Head, asked: Sequence[Look]) -> float:
    """Mean of what a head gives to all places of a look together."""
    given = [
        weights[look.sentence, head.head, look.row, list(look.places)].sum() for look in asked
    ]
    return torch.stack(given).mean().item()


@torch.no_grad()
def sure_of_wrong(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> dict[str, Any]:
    """By kind and task, with the kind at its mean: how often a wrong word is the likeliest.

    The second number counts only those that get more than 0.9.

    >>> from mhsa_book.experiments.translation import learning
    >>> found = sure_of_wrong(learning.untrained(seed=0), fresh_pairs(64))
    >>> wrong, sure = found["cross-attention"]["sense"]
    >>> wrong > 0.9, sure
    (True, 0.0)
    """
    source, target = language.batch(pairs)
    given, wanted = shifted(target)
    found: dict[str, Any] = {}
    put = ways(model)["mean"]
    for kind in (ENCODER, DECODER, CROSS):
        with without(model, groups(model)[kind], put):
            top = model(source, given).softmax(dim=-1).max(dim=-1)
        wrong, sure = top.indices != wanted, top.values > 0.9
        found[kind] = {
            task: [_share(wrong, at), _share(wrong & sure, at)]
            for task in language.TASKS
            for at in (asked(pairs, task),)
        }
    return found


def _share(true: Tensor, at: Tensor) -> float:
    return true[at].double().mean().item()


def verdicts(found: AtWork) -> tuple[Verdict, ...]:
    """One for each of ``PREDICTIONS``, with the seeds in which it held; seed 0 is the pilot.

    >>> from mhsa_book.results.translators_at_work import kept
    >>> [verdict.promised for verdict in verdicts(kept())]
    [7, 7, 7, 7, 4]
    """
    asks, other = "verb of an ambiguous noun", "verb of a plain noun"
    verb, word = "greeting, where a verb is said", "greeting, where another word is said"
    sense = "verb, where an ambiguous noun is said"
    noun = zip(found.held_out(asks), found.held_out(other, by=asks), strict=True)
    greeting = zip(found.held_out(verb), found.held_out(word, by=verb), strict=True)
    held = (
        [much >= 0.5 and less < much / 2 for much, less in noun],
        [much >= 0.5 and less < much / 2 for much, less in greeting],
        [much >= 0.9 for much in found.held_out("translated words")],
        [much < 0.2 for much in found.held_out(sense)],
        [much >= 0.3 for much in found.held_out(sense, never=True)],
    )
    pilots = (1, 1, 1, 1, 0)
    return tuple(
        Verdict(
            text,
            tuple(seed for seed, came in enumerate(seeds) if came and seed >= pilot),
            len(seeds) - pilot,
        )
        for text, seeds, pilot in zip(PREDICTIONS, held, pilots, strict=True)
    )


def main() -> None:
    """Read the arguments, measure, write."""
    from safetensors.torch import load_file

    from mhsa_book.experiments.translation.learning import untrained
    from mhsa_book.models.translator import WEIGHTS, translator

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="each with the weights of a seed")
    parser.add_argument("--commit", required=True, help="that holds the predictions")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pairs = fresh_pairs()
    shipped = translator()
    found: dict[str, Any] = {
        "models": {"0": at_work(shipped, pairs)},
        "never": {},
        "sure_of_wrong": {"0": sure_of_wrong(shipped, pairs)},
    }
    for folder in sorted(arguments.folders):
        never = folder.name.startswith("never")
        seed = folder.name.removeprefix("never")
        model = untrained(int(seed)).eval().requires_grad_(False)
        model.load_state_dict(load_file(folder / WEIGHTS.name))
        with without(model, heads_of(model, ENCODER) if never else ()):
            found["never" if never else "models"][seed] = at_work(model, pairs)
        if not never:
            found["sure_of_wrong"][seed] = sure_of_wrong(model, pairs)
    kept = {
        "predictions": PREDICTIONS,
        "predictions_commit": arguments.commit,
        "machine": {
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "pairs": len(pairs),
        },
        **rounded(found),
    }
    write_whole(FILE, json.dumps(kept, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
