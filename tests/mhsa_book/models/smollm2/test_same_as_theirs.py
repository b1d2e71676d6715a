"""Tokens, logits and new text are those of ``transformers`` on the same file."""

from statistics import median
from time import process_time

import pytest
import regex
import torch
from torch.testing import assert_close

from mhsa_book.models import smollm2
from mhsa_lib.convert import from_llama
from tests.mhsa_book.models.smollm2 import reference
from tests.mhsa_book.models.smollm2.texts import PROMPTS, texts

STORED = reference.stored()["prompts"]
NAMES = [record["text"][:20] for record in STORED]


def test_the_stored_record_is_of_this_file_and_these_prompts():
    assert reference.stored()["sha256"] == smollm2.SHA256
    assert [record["text"] for record in STORED] == PROMPTS


@pytest.mark.parametrize("record", STORED, ids=NAMES)
def test_the_logits_are_theirs(record, lm):
    assert lm.ids(record["text"]) == record["ids"]
    logits = lm.logits(record["text"])[-1]
    kept = torch.tensor(record["logits"])
    assert_close(logits[:: reference.EVERY], kept, atol=1e-4, rtol=0)
    assert logits.topk(5).indices.tolist() == record["likeliest"]


@pytest.mark.parametrize("cache", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("record", STORED[:4], ids=NAMES[:4])
def test_the_text_that_is_written_is_theirs(record, cache, lm):
    ends = record["new"].index(2) if 2 in record["new"] else 20
    new = lm.generate(record["text"], 20, cache=cache)
    assert lm.ids(record["text"] + new) == record["ids"] + record["new"][:ends]


def test_the_tokens_of_500_texts_are_theirs(lm):
    assert (
        reference.digest([lm.ids(text) for text in texts()])
        == (reference.stored()["tokens_of_500"])
    )


@pytest.fixture(scope="session")
def theirs():
    return reference.theirs()


@pytest.mark.slow
def test_the_stored_record_is_what_transformers_computes(theirs):
    computed, stored = reference.computed(*theirs), reference.stored()
    for ours, other in zip(computed.pop("prompts"), stored.pop("prompts"), strict=True):
        new, old = torch.tensor(ours.pop("logits")), torch.tensor(other.pop("logits"))
        assert_close(new, old, atol=1e-4, rtol=0)
        assert ours == other
    computed.pop("transformers"), stored.pop("transformers")
    assert computed == stored


@pytest.mark.slow
def test_every_text_has_the_tokens_of_transformers(theirs, lm):
    _, tokenizer = theirs
    same = 0
    for text in texts():
        ids = lm.ids(text)
        assert ids == reference.cut_at_digits(tokenizer, text), repr(text)
        assert lm.text(ids) == text
        # Without a cut they differ only where several spaces stand in front of a digit, or a
        # space or another in front of a number that is not one of 0 to 9.
        if not regex.search(r"\s\s\p{N}|[\s\p{N}](?![0-9])\p{N}", text):
            assert ids == tokenizer(text)["input_ids"], repr(text)
            same += 1
    assert same > 350


@pytest.mark.slow
def test_every_logit_of_every_token_is_that_of_transformers(theirs, lm):
    model, _ = theirs
    for text in PROMPTS:
        with torch.no_grad():
            expected = model(torch.tensor([lm.ids(text)])).logits[0]
        assert_close(lm.logits(text), expected, atol=1e-4, rtol=0)


LONG = "It is a truth universally acknowledged, a single man must be in want of a wife. " * 60


@pytest.mark.slow
@pytest.mark.nohook  # which would be measured too
@pytest.mark.parametrize(("text", "n"), [(PROMPTS[0], 16), (LONG, 16)], ids=["short", "1,000"])
def test_it_writes_as_fast_as_transformers(text, n, theirs, lm, capsys):
    model, _ = theirs
    ids = torch.tensor([lm.ids(text)[:1000]])
    text = lm.text(ids[0].tolist())
    told = {"min_new_tokens": n, "max_new_tokens": n, "do_sample": False}
    arms = {
        "theirs": lambda: model.generate(ids, attention_mask=torch.ones_like(ids), **told),
        "ours": lambda: lm.generate(text, n),
    }
    assert len(lm.ids(lm.generate(text, n))) == n
    took = {arm: [] for arm in arms}
    for _ in range(5):
        for arm, write in arms.items():
            began = process_time()
            write()
            took[arm].append(process_time() - began)
    speed = {arm: n / median(times) for arm, times in took.items()}
    ratio = speed["ours"] / speed["theirs"]
    with capsys.disabled():
        print(f"\nbehind {ids.shape[-1]} tokens, with the prompt: {speed}, ratio {ratio:.2f}")
    assert ratio > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("layer", [0, 17, 29])
def test_an_attention_is_what_from_llama_makes(layer, theirs, lm):
    model, _ = theirs
    converted = from_llama(model.model.layers[layer].self_attn)
    ours = lm.attention(layer)
    assert repr(ours) == repr(converted)
    assert ours.state_dict().keys() == converted.state_dict().keys()
    for name, weight in converted.state_dict().items():
        assert torch.equal(weight, ours.state_dict()[name]), name


@pytest.mark.slow
def test_the_weights_of_all_heads_are_theirs(theirs, lm):
    model, _ = theirs
    model.set_attn_implementation("eager")
    _, weights = lm.attend(PROMPTS[0])
    with torch.no_grad():
        out = model(torch.tensor([lm.ids(PROMPTS[0])]), output_attentions=True)
    model.set_attn_implementation("sdpa")
    assert_close(weights, torch.cat(out.attentions), atol=1e-4, rtol=0)
