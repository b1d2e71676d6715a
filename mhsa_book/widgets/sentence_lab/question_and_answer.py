"""What a word of the running example finds, in words: a second implementation of
``question_and_answer.js``.
"""

from collections.abc import Sequence

from torch import Tensor

from mhsa_book import examples

KINDS = {"living": "something living", "place": "a place"}
MEANT, HAPPENED = 0, 2


def looked_at(sentence: int, word: int, off: Sequence[int] = ()) -> dict[int, str]:
    """The word that each head looks at most from ``word``, for heads that are on.

    >>> looked_at(0, 6, off=[1])
    {0: 'animal', 2: 'avoided'}
    """
    words = examples.SENTENCES[sentence]
    rows = examples.running()["weights"][sentence, :, word]
    return {h: words[row.argmax()] for h, row in enumerate(rows) if h not in off}


def pictured(sentence: int, word: int, off: Sequence[int] = ()) -> str:
    """Where a word looks, in words.

    >>> pictured(1, 6, off=[1, 2])
    'In “the animal avoided the street too wide”, lines from “wide”: who is meant to “street”.'
    """
    words, looked = examples.SENTENCES[sentence], looked_at(sentence, word, off)
    lines = [f"{examples.HEADS[head]} to “{found}”" for head, found in looked.items()]
    all_lines = f"lines from “{words[word]}”: {', '.join(lines)}" if lines else "no lines"
    return f"In “{' '.join(words)}”, {all_lines}."


def written(sentence: int) -> Tensor:
    """What each head writes into every word of a sentence, (head, query, d_model).

    >>> written(0).sum(dim=0).allclose(examples.running()["y"][0])
    True
    """
    z, W_O = examples.running()["z"][sentence], examples.attention().W_O.weight.T.detach()
    return z @ W_O.unflatten(0, (len(z), -1))


def describe(sentence: int, word: int, off: Sequence[int] = ()) -> str:
    """What a word has found, in one sentence.

    >>> describe(0, 6, off=[0])
    'Nobody tells “tired” what it belongs to.'
    """
    asks, looked = examples.SENTENCES[sentence][word], looked_at(sentence, word, off)
    parts = written(sentence)[:, word]

    def kind(head: int) -> str | None:
        row = parts[head, [examples.COLUMNS.index(name) for name in KINDS]].tolist()
        found = [said for value, said in zip(row, KINDS.values(), strict=True) if value > 0.5]
        return found[0] if found and head in looked else None

    if (meant := kind(MEANT)) and looked[MEANT] == asks:
        return f"“{asks}” finds itself: {meant}."
    if meant:
        return f"“{asks}” belongs to {meant}: “{looked[MEANT]}”."
    if kind(HAPPENED):
        return f"“{asks}” learns who did it: “{looked[HAPPENED]}”."
    if MEANT in off:
        return f"Nobody tells “{asks}” what it belongs to."
    rests = f"“who is meant” rests on “{looked[MEANT]}”, whose v is 0"
    return f"“{asks}” belongs to no other word: {rests}."
