"""A file of annotated sentences is read whole, or refused with line, rule and repair."""

import pytest

from mhsa_book.examples.annotated import read
from mhsa_book.examples.annotated.conllu import FILE

STAY = "# sent_id = a\n# text = Stay calm.\n" + "\n".join(
    [
        "1\tStay\t_\tVERB\t_\t_\t0\troot\t_\t_",
        "2\tcalm\t_\tADJ\t_\t_\t1\txcomp\t_\tSpaceAfter=No",
        "3\t.\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_",
    ]
)
BROKEN = {
    "no sentence": (STAY, "", "line 1: no sentence in this text; begin one with"),
    "no name": ("# sent_id = a\n", "", "line 1: .* stands where # sent_id = … has to stand"),
    "no text": ("# text = Stay calm.\n", "", "line 2: .* stands where # text = … has to stand"),
    "no words": (STAY.split("\n", 2)[2], "", "line 1: a has no words; add one line for each"),
    "spaces": ("1\tStay", "1 Stay", "line 3: 9 columns; a word has 10"),
    "id": ("2\tcalm", "4\tcalm", "line 4: id '4'; words are counted from 1, so write 2"),
    "range": ("2\tcalm", "2-3\tcalm", "line 4: id '2-3'; .* so write 2"),
    "form": ("calm\t", "calm now\t", "line 4: form 'calm now'; .* no space, so part it"),
    "tag": ("VERB", "VRB", "line 3: part of speech 'VRB'; choose from .*'VERB'"),
    "relation": ("xcomp", "dobj", "line 4: relation 'dobj'; choose from .*'xcomp'"),
    "far head": ("1\txcomp", "4\txcomp", "line 4: head '4'; write an id from 0 to 3"),
    "no head": ("1\txcomp", "_\txcomp", "line 4: head '_'; write an id from 0 to 3"),
    "itself": ("1\txcomp", "2\txcomp", "line 4: 'calm' is its own head; write the id"),
    "root below": ("0\troot", "2\troot", "line 3: head 2 as 'root'; head 0 and 'root' go"),
    "other above": ("1\txcomp", "0\txcomp", "line 4: head 0 as 'xcomp'; head 0 and 'root' go"),
    "two roots": ("1\txcomp", "0\troot", "line 4: 2 roots in this sentence; leave exactly one"),
    "no root": ("0\troot", "2\tobj", "line 3: 0 roots in this sentence; leave exactly one"),
    "circle": ("1\txcomp", "3\txcomp", "line 4: 'calm' leads into a circle; mend a head"),
    "later": ("xcomp\t_\tS", "xcomp\t_\tAntecedent=3|S", "line 4: Antecedent '3'; write an id"),
    "first": ("root\t_\t_", "root\t_\tAntecedent=1", "line 3: Antecedent '1'; .* earlier word"),
    "misc": ("SpaceAfter=No", "Gloss=quiet", "line 4: 'Gloss=quiet'; write Antecedent=id"),
    "text": ("Stay calm.", "Stay calm .", "line 2: the words say 'Stay calm.'; text = Stay"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_malformed_file_is_refused_with_line_rule_and_repair(what):
    old, new, message = BROKEN[what]
    text = STAY.replace(old, new, 1)
    if what == "circle":
        text = text.replace("1\tpunct", "2\tpunct")
    assert text != STAY
    with pytest.raises(ValueError, match=message):
        read(text)


def test_a_second_sentence_is_refused_under_the_same_name_or_with_the_same_words():
    with pytest.raises(ValueError, match="line 7: a second a; give every sentence"):
        read(f"{STAY}\n\n{STAY}")
    with pytest.raises(ValueError, match=r"line 8: 'Stay calm.' stands here twice; leave one"):
        read(f"{STAY}\n\n\n{STAY.replace('= a', '= b')}")


def test_the_file_ends_its_lines_as_conll_u_does():
    text = FILE.read_bytes().decode("utf-8")
    assert "\r" not in text
    assert text.endswith("\n\n")
    assert len(read(STAY)) == len(read(f"\n{STAY}\n\n\n")) == 1
