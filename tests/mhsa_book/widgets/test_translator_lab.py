"""The translator in the page writes what PyTorch writes, and refuses what Python refuses."""

import base64
import json
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from traitlets import TraitError

from mhsa_book.examples import language
from mhsa_book.experiments.translation import heads_of
from mhsa_book.widgets import TranslatorLab
from mhsa_book.widgets.assets import PART, Asset
from mhsa_book.widgets.translator_lab import rules, weights
from mhsa_book.widgets.translator_lab.translations import looks, written
from tests.helpers.needs import missing
from tests.mhsa_book.widgets.conftest import node

RUNS = Path(__file__).with_name("translator_runs.mjs")
HEADS = heads_of(weights.MODEL())
UNSEEN = 2**19  # of this seed the training has drawn nothing
TOLERANCE = 1e-4


def in_javascript(cases):
    """What the page's code writes for (sentence, greeting, heads off, what they give)."""
    found = shutil.which("node") or missing("no node on this machine")

    def z(head, instead):
        return weights.means()[head] if instead == "mean" else [0.0] * 16

    question = {
        "data": base64.b64encode(weights.asset().data).decode(),
        "layout": weights.layout(),
        "cases": [
            [
                language.SOURCE.ids(sentence.split()),
                language.TARGET.ids(greeting.split()),
                {repr(head): z(head, instead) for head in off},
            ]
            for sentence, greeting, off, instead in cases
        ],
    }
    done = subprocess.run(
        [found, "--no-warnings", RUNS],
        input=json.dumps(question),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def sentences(n):
    return [" ".join(pair.source) for pair in language.pairs(n, seed=UNSEEN)]


def drawn_off(n):
    """Sentences with any greeting, or none given, and any heads off."""
    draws = random.Random(0)
    for sentence in sentences(n):
        off = draws.sample(HEADS, k=draws.choice([1, 1, 2, 4, 12, 24]))
        greeting = draws.choice(["", *rules.BEGINNINGS])
        yield sentence, greeting, off, draws.choice(["zero", "mean"])


def compared(case, found):
    """The largest difference of a logit, once the words are the same."""
    ids, logits = written(*case)
    assert found["ids"] == ids[0].tolist(), case
    ours, theirs = torch.tensor(found["logits"]), logits[0]
    given = theirs.isposinf().any(dim=-1)  # Python is told these words by such a logit
    return (ours - theirs)[~given].abs().max().item() if (~given).any() else 0.0


def test_the_page_writes_what_pytorch_writes(report):
    cases = [(sentence, "", [], "zero") for sentence in sentences(200)]
    worst = max(map(compared, cases, in_javascript(cases)))
    report(f"translator: 200 sentences, logits differ from PyTorch by at most {worst:.1e}")
    assert worst < TOLERANCE


def test_so_it_does_with_any_heads_off_and_any_greeting(report):
    cases = [*drawn_off(60)]
    found = in_javascript(cases)
    worst = max(map(compared, cases, found))
    report(f"translator: heads off, logits differ from PyTorch by at most {worst:.1e}")
    assert worst < TOLERANCE
    for case, (_, greeting, *_) in zip(found, cases, strict=True):
        assert language.TARGET.words(case["ids"])[: len(greeting.split())] == tuple(
            greeting.split()
        )


def test_every_head_looks_where_it_looks_in_pytorch():
    sentence = "tekan ul meti balo ip sako"
    off = [HEADS[3], HEADS[-1]]
    (found,) = in_javascript([(sentence, "", off, "mean")])
    assert [*found["weights"]] == [repr(head) for head in HEADS]
    for head in HEADS:
        rows = looks(head, sentence, torch.tensor([found["ids"]]), off, "mean")
        for q, row in enumerate(
            found["weights"][repr(head)]
        ):  # in the decoder as far as it saw
            assert rows[q, : len(row)].tolist() == pytest.approx(row, abs=TOLERANCE)
            assert not rows[q, len(row) :].any()


def test_no_weight_is_lost_on_the_way():
    state = weights.MODEL().state_dict()
    (found,) = node("shared/halves", ("unpack", list(weights.asset().data), weights.layout()))
    assert [*found] == [*state]
    for name, matrix in state.items():
        assert torch.equal(torch.tensor(found[name]).reshape(matrix.shape), matrix), name


# --- the languages ---------------------------------------------------------------------------


def mangled(n):
    """Texts that are nearly sentences, or not at all."""
    draws, words = random.Random(0), language.SOURCE.tokens[3:]
    for sentence in sentences(n):
        text = sentence.split()
        place, kind = draws.randrange(len(text)), draws.randrange(6)
        if kind == 0:
            text.pop(place)
        elif kind == 1:
            text.insert(place, draws.choice(words))
        elif kind == 2:
            text[place] = draws.choice(words)
        elif kind == 3:
            text = text[:place]
        elif kind == 4:
            text = [*text, draws.choice(["ke", "sa"]), *text]
        else:
            text[place] = draws.choice(["the", "Rolan", "naïve", "<b>", "hai", "balo,"])
        yield " ".join(text)
    yield from ("", " ", "ke", "ke ke", "  rolan\tot  meti balo ", "rolan ot balo")


def test_a_text_is_read_or_refused_with_the_words_of_python():
    texts = [*sentences(200), *mangled(400)]
    found = node("translator_lab/rules", *[("read", text, rules.tables()) for text in texts])
    refused = [rules.problem(text) for text in texts]
    assert [one.get("problem") for one in found] == refused
    kinds = ("is no word", "is no ", "ends before", "is too much", "comes twice", "joins")
    kinds += ("The sentence has", "A translation has")
    assert all(any(kind in told for told in refused if told) for kind in kinds)


def test_the_page_knows_the_right_translation_and_its_alignment():
    pairs, tables = language.pairs(300, seed=UNSEEN), rules.tables()
    texts = [" ".join(pair.source) for pair in pairs]
    read = node("translator_lab/rules", *[("read", text, tables) for text in texts])
    greetings = {words: text for text, words in rules.BEGINNINGS.items()}
    begun = [
        next(text for w, text in greetings.items() if p.target[: len(w)] == w) for p in pairs
    ]
    found = node(
        "translator_lab/rules",
        *[
            ("translated", one["sentence"], greeting, tables)
            for one, greeting in zip(read, begun, strict=True)
        ],
    )
    for pair, words in zip(pairs, found, strict=True):
        assert tuple(word["text"] for word in words) == pair.target
        assert [set(word["aligned"]) for word in words] == [w.aligned for w in pair.words]


@pytest.mark.parametrize("first", ["hai", "hoi", "haila", "hoila", "ren", "balo"])
def test_the_right_translation_has_the_greeting_that_was_begun(first):
    (greeting,) = node("translator_lab/running", ("greetingOf", first, rules.tables()))
    pair = rules.right("rolan ot meti balo", first=first)
    assert " ".join(pair.target).startswith(f"{greeting} ")


# --- assets ----------------------------------------------------------------------------------


def test_an_asset_is_whole_in_its_parts_and_its_scripts():
    data = random.Random(0).randbytes(2 * PART + 5)
    asset = Asset("large", data)
    assert [len(part) for part in asset.parts] == [PART, PART, 5]
    scripts = dict(asset.files()).values()
    texts = [script.split(b'"')[3] for script in scripts]
    assert b"".join(base64.b64decode(text) for text in texts) == data
    assert asset.about["files"] == sum(len(script) for script in scripts)
    assert asset.about["parts"] == 3
    assert Asset("large", data[:-1]).key != asset.key


def test_python_sends_the_part_that_it_is_asked_for():
    lab, sent = TranslatorLab(), []
    lab.send = lambda *message: sent.append(message)
    key = weights.asset().key
    for asked in ({"asset": key, "part": 0}, {"asset": key, "part": 9}, {"asset": "x"}, {}):
        lab._handle_custom_msg(asked, [])
    assert sent == [({"asset": key, "part": 0}, [weights.asset().parts[0]])]


# --- the Python side -------------------------------------------------------------------------


@pytest.mark.bothways
def test_what_does_not_exist_is_refused():
    lab = TranslatorLab()
    for name, value, words in [
        ("sentence", "rolan meti balo", "“meti” is no number"),
        ("sentence", "rolan ot balo", "The sentence has 3 words"),
        ("greeting", "hello", "'hello' is no greeting; choose from"),
        ("off", ["cross L1H0", "cross L2H0"], "the model has no head 'cross L2H0'; it has"),
        ("head", "L0H0", "the model has no head 'L0H0'"),
        ("word", -1, "word=-1 does not exist"),
        ("instead", "noise", "instead"),
    ]:
        before = getattr(lab, name)
        with pytest.raises((ValueError, TraitError), match=words):
            setattr(lab, name, value)
        assert getattr(lab, name) == before


def test_the_still_picture_says_what_it_shows():
    lab = TranslatorLab("rolan ot meti balo", greeting="hoi")
    assert "becomes “hoi mirru mirru nalesh melo”: right." in lab.alt
    lab.still()
    assert len(plt.gcf().axes[0].patches) == 5  # one frame for each pair of aligned words
    plt.close()
    assert "<p>“rolan ot meti balo” becomes" in lab.without_script()
    lab = TranslatorLab(off=[f"cross L1H{h}" for h in range(4)], head="decoder L1H0")
    assert f": right is “{lab.right}”. Heads" in lab.alt
    assert "Heads switched off: cross L1H0, cross L1H1" in lab.alt
    lab.still()
    plt.close()
