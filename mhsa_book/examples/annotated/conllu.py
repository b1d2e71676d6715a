"""From CoNLL-U, one word a line, to sentences whose words know their head.

The grammar is that of Universal Dependencies, version 2 (de Marneffe et al. 2021,
Computational Linguistics 47(2), https://doi.org/10.1162/coli_a_00402). What is annotated, and
how, stands in ``README.md`` beside this file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "sentences.conllu"

TAGS = frozenset(
    {
        *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "PART", "PRON", "PROPN"),
        *("PUNCT", "SCONJ", "VERB"),
    }
)
"""Parts of speech that occur, of the 17 of Universal Dependencies."""

RELATIONS = frozenset(
    {
        *("nsubj", "nsubj:pass", "csubj", "obj", "iobj", "expl", "ccomp", "xcomp", "obl"),
        *("obl:agent", "advcl", "advmod", "aux", "aux:pass", "cop", "mark", "nmod"),
        *("nmod:poss", "appos", "acl", "acl:relcl", "amod", "det", "case", "compound"),
        *("compound:prt", "conj", "cc", "punct", "root"),
    }
)
"""Relations that occur."""


@dataclass(frozen=True)
class Word:
    """One word of a sentence; words are counted from 0.

    Parameters
    ----------
    form : the word as it is written
    upos : its part of speech, one of ``TAGS``
    head : place of the word it depends on; None for the root, since -1 would be the last word
    relation : how it depends on its head, one of ``RELATIONS``
    antecedent : of a pronoun, place of the noun that it means, if the sentence names it
    """

    form: str
    upos: str
    head: int | None
    relation: str
    antecedent: int | None = None


@dataclass(frozen=True)
class Sentence:
    """A sentence with its words.

    >>> sentence = sentences()[6]
    >>> sentence
    s007: The committee has never explained why it rejected the plan.
    >>> it = sentence.words[6]
    >>> it.relation, sentence.words[it.head].form, sentence.words[it.antecedent].form
    ('nsubj', 'rejected', 'committee')
    """

    name: str
    text: str
    words: tuple[Word, ...]

    def __repr__(self) -> str:
        return f"{self.name}: {self.text}"


@cache
def sentences() -> tuple[Sentence, ...]:
    """The hundred sentences.

    >>> len(sentences())
    100
    """
    return read(FILE.read_text(encoding="utf-8"))


def read(text: str) -> tuple[Sentence, ...]:
    r"""Sentences of a text in CoNLL-U; ``ValueError`` for one that breaks a rule.

    A sentence is two comments, ``sent_id`` and ``text``, and one line a word; an empty line
    ends it. Every word has a head, one word is the root, and no two sentences are the same.

    >>> word = ["1", "Stay", "_", "VERB", "_", "_", "0", "root", "_", "_"]
    >>> read("# sent_id = a\n# text = Stay\n" + "\t".join(word))
    (a: Stay,)
    >>> read("# sent_id = a\n# text = Go\n" + "\t".join(word))
    Traceback (most recent call last):
    ...
    ValueError: line 2: the words say 'Stay'; text = Go has to be the same, so mend ...
    """
    found: dict[str, Sentence] = {}
    texts = set[str]()
    for start, lines in _blocks(text):
        sentence = _sentence(start, lines)
        if sentence.name in found:
            raise _refused(start, f"a second {sentence.name}; give every sentence its own name")
        if sentence.text in texts:
            raise _refused(start, f"{sentence.text!r} stands here twice; leave one out")
        found[sentence.name] = sentence
        texts.add(sentence.text)
    if not found:
        raise _refused(1, "no sentence in this text; begin one with # sent_id = …")
    return tuple(found.values())


def _refused(line: int, why: str) -> ValueError:
    return ValueError(f"line {line}: {why}.")


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Sentences as lines, each with the number of its first line."""
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line:
            lines.append(line)
        elif lines:
            yield number - len(lines), lines
            lines = []


def _sentence(start: int, lines: list[str]) -> Sentence:
    said = []
    for number, key in enumerate(("sent_id", "text")):
        line = lines[number] if number < len(lines) else ""
        if not line.startswith(f"# {key} = "):
            raise _refused(start + number, f"{line!r} stands where # {key} = … has to stand")
        said.append(line.removeprefix(f"# {key} = "))
    name, text = said
    first, rows = start + 2, [line.split("\t") for line in lines[2:]]
    if not rows:
        raise _refused(start, f"{name} has no words; add one line for each")
    spaced = [_word(first + i, i, row, len(rows)) for i, row in enumerate(rows)]
    words = tuple(word for word, _ in spaced)
    written = "".join(word.form + space for word, space in spaced).rstrip()
    if written != text:
        raise _refused(
            start + 1,
            f"the words say {written!r}; text = {text} has to be the same, so mend the text, "
            "a form or a SpaceAfter=No",
        )
    _check_tree(first, words)
    return Sentence(name, text, words)


def _word(line: int, place: int, row: list[str], length: int) -> tuple[Word, str]:
    """The word of a line, and what stands between it and the next one."""
    if len(row) != 10:
        raise _refused(line, f"{len(row)} columns; a word has 10, with a tab between two")
    id, form, _, upos, _, _, head, relation, _, misc = row
    if id != str(place + 1):
        raise _refused(line, f"id {id!r}; words are counted from 1, so write {place + 1}")
    if not form or form != form.strip() or " " in form:
        raise _refused(line, f"form {form!r}; a word has letters and no space, so part it")
    if upos not in TAGS:
        raise _refused(line, f"part of speech {upos!r}; choose from {sorted(TAGS)}")
    if relation not in RELATIONS:
        raise _refused(line, f"relation {relation!r}; choose from {sorted(RELATIONS)}")
    governor = _place(line, "head", head, range(length + 1))
    if governor == place + 1:
        raise _refused(line, f"{form!r} is its own head; write the id of another word, or 0")
    if (governor == 0) != (relation == "root"):
        raise _refused(line, f"head {head} as {relation!r}; head 0 and 'root' go together")
    antecedent, space = None, " "
    for entry in [] if misc == "_" else misc.split("|"):
        if entry == "SpaceAfter=No":
            space = ""
        elif entry.startswith("Antecedent="):
            given = entry.removeprefix("Antecedent=")
            antecedent = _place(line, "Antecedent", given, range(1, place + 1)) - 1
        else:
            raise _refused(line, f"{entry!r}; write Antecedent=id, SpaceAfter=No, both or _")
    return Word(form, upos, governor - 1 if governor else None, relation, antecedent), space


def _place(line: int, what: str, given: str, allowed: range) -> int:
    if not (given.isascii() and given.isdigit() and int(given) in allowed):
        which = f"from {allowed[0]} to {allowed[-1]}" if allowed else "of an earlier word"
        raise _refused(line, f"{what} {given!r}; write an id {which}")
    return int(given)


def _check_tree(first: int, words: tuple[Word, ...]) -> None:
    """One root, to which every word leads."""
    roots = [i for i, word in enumerate(words) if word.head is None]
    if len(roots) != 1:
        line = first + roots[1] if roots else first
        raise _refused(line, f"{len(roots)} roots in this sentence; leave exactly one")
    for i, word in enumerate(words):
        passed, above = {i}, word.head
        while above is not None:
            if above in passed:
                raise _refused(first + i, f"{word.form!r} leads into a circle; mend a head")
            passed.add(above)
            above = words[above].head
