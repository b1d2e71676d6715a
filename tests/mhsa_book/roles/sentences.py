"""Six sentences of our own, annotated: form, part of speech, head, relation, antecedent."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    form: str
    upos: str
    head: int | None
    relation: str
    antecedent: int | None = None


@dataclass(frozen=True)
class Sentence:
    text: str
    words: tuple[Word, ...]


def sentence(text: str, rows: str) -> Sentence:
    """Words from rows of ``form upos head relation [antecedent]``, heads from 0, - for none."""
    words = []
    for row in rows.strip().splitlines():
        form, upos, head, relation, *more = row.split()
        antecedent = int(more[0]) if more else None
        words.append(Word(form, upos, None if head == "-" else int(head), relation, antecedent))
    return Sentence(text, tuple(words))


SENTENCES = [
    sentence(
        "The old dog chased a grey cat because it had stolen the fish.",
        """
        The DET 2 det
        old ADJ 2 amod
        dog NOUN 3 nsubj
        chased VERB - root
        a DET 6 det
        grey ADJ 6 amod
        cat NOUN 3 obj
        because SCONJ 10 mark
        it PRON 10 nsubj 6
        had AUX 10 aux
        stolen VERB 3 advcl
        the DET 12 det
        fish NOUN 10 obj
        . PUNCT 3 punct
        """,
    ),
    sentence(
        "My sister quickly read the long letter, and then she burned it.",
        """
        My PRON 1 nmod:poss
        sister NOUN 3 nsubj
        quickly ADV 3 advmod
        read VERB - root
        the DET 6 det
        long ADJ 6 amod
        letter NOUN 3 obj
        , PUNCT 11 punct
        and CCONJ 11 cc
        then ADV 11 advmod
        she PRON 11 nsubj 1
        burned VERB 3 conj
        it PRON 11 obj 6
        . PUNCT 3 punct
        """,
    ),
    sentence(
        "The bridge was built by a Roman engineer.",
        """
        The DET 1 det
        bridge NOUN 3 nsubj:pass
        was AUX 3 aux:pass
        built VERB - root
        by ADP 7 case
        a DET 7 det
        Roman ADJ 7 amod
        engineer NOUN 3 obl
        . PUNCT 3 punct
        """,
    ),
    sentence(
        "Anna often visits her grandmother in the village.",
        """
        Anna PROPN 2 nsubj
        often ADV 2 advmod
        visits VERB - root
        her PRON 4 nmod:poss 0
        grandmother NOUN 2 obj
        in ADP 7 case
        the DET 7 det
        village NOUN 2 obl
        . PUNCT 2 punct
        """,
    ),
    sentence(
        "The gardener who planted these marvellous rhododendrons has moved away.",
        """
        The DET 1 det
        gardener NOUN 8 nsubj
        who PRON 3 nsubj 1
        planted VERB 1 acl:relcl
        these DET 6 det
        marvellous ADJ 6 amod
        rhododendrons NOUN 3 obj
        has AUX 8 aux
        moved VERB - root
        away ADV 8 advmod
        . PUNCT 8 punct
        """,
    ),
    sentence(
        "When he saw the storm, the captain slowly turned his ship.",
        """
        When ADV 2 mark
        he PRON 2 nsubj 7
        saw VERB 9 advcl
        the DET 4 det
        storm NOUN 2 obj
        , PUNCT 2 punct
        the DET 7 det
        captain NOUN 9 nsubj
        slowly ADV 9 advmod
        turned VERB - root
        his PRON 11 nmod:poss 7
        ship NOUN 9 obj
        . PUNCT 9 punct
        """,
    ),
]
