"""What does a translator say instead, and which row of its memory holds the meaning of a noun?

``instead`` switches the encoder's self-attention off and counts what is said in place of an
ambiguous noun. ``sentences`` lets the model write, with all heads of a kind off, and counts the
sentences in which nothing but the words of one task is wrong. ``patched`` changes one row of
the memory and nothing else: it takes it from the same sentence with a verb of the other kind
(wet for dry). If the decoder reads the meaning from the row of the noun, this row alone should
make it say the other meaning; if it reads the verb, the row of the verb should. ``to_the_verb``
is how much a head of cross-attention gives to a verb that decides no meaning, for comparison.

There are no predictions: readers asked for these counts when the other numbers of these models
had been seen.

    python -m mhsa_book.experiments.other_meaning translators/*

reads the folders that ``mhsa_book.experiments.translation.at_work`` reads.
"""

import argparse
import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from mhsa_book.examples import language
from mhsa_book.examples.language.words import AMBIGUOUS, DRY, VERBS, WET
from mhsa_book.experiments import running
from mhsa_book.experiments.translation.at_work import CROSS, DECODER, ENCODER
from mhsa_book.experiments.translation.heads import heads_of, without
from mhsa_book.experiments.translation.measured import fresh_pairs, groups, ways
from mhsa_book.results import measured as results
from mhsa_book.results.measured import Measured
from mhsa_book.transformer import EncoderDecoder, greedy, shifted
from mhsa_lib.tracing import trace

OTHER = {a: b for both in AMBIGUOUS.values() for a, b in (both, both[::-1])}
"""For each meaning of an ambiguous noun the other one."""

TURNED = dict(zip([*WET, *DRY], [*DRY, *WET], strict=True))
"""For each verb one of the other kind."""

STEMS = {*VERBS.values()}


def nouns(pairs: Sequence[language.Pair]) -> list[tuple[int, int, int, int]]:
    """Every ambiguous noun that is said: its sentence and row, and where noun and verb stand.

    >>> nouns(language.translations("rolan ot meti balo")[:1])
    [(0, 1, 3, 0)]
    """
    found = []
    for sentence, pair in enumerate(pairs):
        nodes = language.tree(pair.sentence).words
        for row, word in enumerate(pair.words):
            if "sense" in word.tasks:
                (noun,) = word.aligned
                verb = nodes[noun].head
                assert verb is not None  # a noun belongs to a verb
                found.append((sentence, row, noun, verb))
    return found


@torch.no_grad()
def instead(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> dict[str, int]:
    """Count what is likeliest in place of a noun if the encoder's heads are at their mean.

    >>> from mhsa_book.models.translator import translator
    >>> instead(translator(), fresh_pairs(8))
    {'nouns': 9, 'wrong': 3, 'other meaning': 2}
    """
    source, target = language.batch(pairs)
    with without(model, groups(model)[ENCODER], ways(model)["mean"]):
        said = model(source, shifted(target)[0]).argmax(dim=-1)
    found = [
        (pairs[sentence].target[row], language.TARGET.tokens[said[sentence, row]])
        for sentence, row, *_ in nouns(pairs)
    ]
    return {
        "nouns": len(found),
        "wrong": sum(right != word for right, word in found),
        "other meaning": sum(OTHER[right] == word for right, word in found),
    }


def meanings_left_out(word: str) -> str:
    """The same for both meanings of a noun: ``dastu`` for ``mirru``, and for itself."""
    return min(word, OTHER.get(word, word))


def vowels_left_out(word: str) -> str:
    """The same for both forms of a verb: ``mel`` for ``mela`` and for ``melo``."""
    return word[:-1] if word[:-1] in STEMS else word


TASK_OF: dict[str, Callable[[str], str]] = {
    ENCODER: meanings_left_out,
    DECODER: vowels_left_out,
}
"""What makes words alike that differ in nothing but the task of a kind of attention."""


@torch.no_grad()
def sentences(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> dict[str, list[int]]:
    """Write every sentence, all heads of a kind at their mean: how many are right, by kind.

    The second number counts those in which nothing is wrong but words of the kind's own task.

    >>> from mhsa_book.models.translator import translator
    >>> sentences(translator(), fresh_pairs(8))
    {'encoder self-attention': [1, 1], 'decoder self-attention': [0, 0]}
    """
    source, _ = language.batch(pairs)
    found = {}
    for kind, alike in TASK_OF.items():
        with without(model, groups(model)[kind], ways(model)["mean"]):
            written = map(language.TARGET.words, greedy(model, source).ids)
        counts = [0, 0]
        for pair, words in zip(pairs, written, strict=True):
            right = [each.target for each in language.translations(" ".join(pair.source))]
            if words in right:
                counts[0] += 1
            elif [*map(alike, words)] in [[*map(alike, each)] for each in right]:
                counts[1] += 1
        found[kind] = counts
    return found


@torch.no_grad()
def patched(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> dict[str, int]:
    """Count the nouns whose other meaning is said if one row of the memory is another's.

    >>> from mhsa_book.models.translator import translator
    >>> patched(translator(), fresh_pairs(8))
    {'nouns': 9, 'row of the noun': 9, 'row of the verb': 0, 'both': 9}
    """
    asked = nouns(pairs)
    source, target = language.batch([pairs[sentence] for sentence, *_ in asked])
    turned = source.clone()
    for i, (sentence, _, _, verb) in enumerate(asked):
        word = pairs[sentence].source[verb]
        turned[i, verb] = language.SOURCE.ids([TURNED[word]])[0]
    memory, others = model.encode(source), model.encode(turned).rows
    every, rows = torch.arange(len(asked)), torch.tensor([row for _, row, *_ in asked])
    wanted = [OTHER[pairs[sentence].target[row]] for sentence, row, *_ in asked]
    at_noun, at_verb = (torch.tensor([each[i] for each in asked]) for i in (2, 3))
    found = {"nouns": len(asked)}
    changes = {
        "row of the noun": [at_noun],
        "row of the verb": [at_verb],
        "both": [at_noun, at_verb],
    }
    for name, places in changes.items():
        changed = memory.rows.clone()
        for place in places:
            changed[every, place] = others[every, place]
        said = model.decode(shifted(target)[0], memory._replace(rows=changed))[every, rows]
        words = [language.TARGET.tokens[i] for i in said.argmax(dim=-1).tolist()]
        found[name] = sum(a == b for a, b in zip(words, wanted, strict=True))
    return found


@torch.no_grad()
def to_the_verb(
    model: EncoderDecoder, pairs: Sequence[language.Pair]
) -> dict[str, list[float]]:
    """What a head of cross-attention gives to the verb where a plain noun is said, on average.

    By head, [first half, second half] of the pairs, as ``at_work`` measures it.
    """
    source, target = language.batch(pairs)
    heads, halves = heads_of(model, CROSS), range(2)
    with trace(model) as wires:
        model(source, shifted(target)[0])
    weights: dict[str, list[list[float]]] = {str(head): [[], []] for head in heads}
    for sentence, pair in enumerate(pairs):
        verbs = {
            row: node.head
            for row, node in enumerate(language.tree(pair.sentence).words)
            if node.relation == "obj"
        }
        for row, word in enumerate(pair.words):
            (place,) = word.aligned if len(word.aligned) == 1 else (-1,)
            if place in verbs and "order" in word.tasks:
                for head in heads:
                    given = wires[head.path]["weights"][sentence, head.head, row]
                    half = sentence >= len(pairs) // 2
                    weights[str(head)][half].append(given[verbs[place]].item())
    return {
        head: [sum(parts[half]) / len(parts[half]) for half in halves]
        for head, parts in weights.items()
    }


def main() -> None:
    """Read the arguments, measure, write."""
    from safetensors.torch import load_file

    from mhsa_book.experiments.translation.learning import untrained
    from mhsa_book.models.translator import WEIGHTS, translator

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="each with the weights of a seed")
    folders = sorted(parser.parse_args().folders)
    torch.set_num_threads(1)
    pairs = fresh_pairs()
    models, never = {}, {}
    for folder in [None, *folders]:
        name = "0" if folder is None else folder.name
        seed = name.removeprefix("never")
        model = translator()
        if folder is not None:
            model = untrained(int(seed)).eval().requires_grad_(False)
            model.load_state_dict(load_file(folder / WEIGHTS.name))
        if name == seed:
            models[seed] = measured(model, pairs)
        else:
            with without(model, heads_of(model, ENCODER)):
                never[seed] = {
                    "patched": patched(model, pairs),
                    "verb of a plain noun": to_the_verb(model, pairs),
                }
    machine = running.machine() | {"pairs": len(pairs)}
    found = {"models": models, "never": never}
    stored = Measured((), "", datetime.date.today().isoformat(), machine, found)
    results.save("other_meaning", stored)


def measured(model: EncoderDecoder, pairs: Sequence[language.Pair]) -> dict[str, Any]:
    """All counts of one translator that has every attention."""
    return {
        "instead": instead(model, pairs),
        "sentences": sentences(model, pairs),
        "patched": patched(model, pairs),
    }


if __name__ == "__main__":
    main()
