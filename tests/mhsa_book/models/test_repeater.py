"""The trained model: the weights do what the record says, and for the reason it says."""

import json
import random
from itertools import product

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from mhsa_book import measure, naive
from mhsa_book.models import repeater, repetition
from mhsa_book.models.repeater import START, Repeater, encode, spell, without
from mhsa_lib import masks
from tools.build import train_repeater

MODEL = repeater.load()
HEADS = list(product(range(2), range(4)))


def fresh(n=200, seed=11, **choices):
    return repetition.draw(n, START, torch.Generator().manual_seed(seed), **choices)


@torch.no_grad()
def accuracy(sequences, *off):
    with without(MODEL, *off):
        return repetition.accuracy(MODEL(sequences.inputs), sequences)


# --- the weights -----------------------------------------------------------------------------


def test_the_weights_reach_the_recorded_accuracy_on_sequences_nobody_has_seen():
    recorded = repeater.recorded()["two_layers"]["accuracy"]
    assert recorded > 0.98
    assert accuracy(fresh()) == pytest.approx(recorded, abs=0.005)
    assert accuracy(train_repeater.fresh(512, seed=2)) == pytest.approx(recorded, abs=1e-3)


def test_one_layer_trained_in_the_same_way_does_not_get_far():
    assert repeater.recorded()["one_layer"]["accuracy"] < 0.5


def test_the_recorded_scores_are_those_of_the_weights():
    found = train_repeater.scores(MODEL, train_repeater.fresh(512, seed=2))
    for name, layers in repeater.recorded()["heads"].items():
        assert_close(torch.tensor(found[name]), torch.tensor(layers), atol=2e-3, rtol=0)


def test_there_is_a_previous_token_head_and_there_are_induction_heads():
    heads = repeater.recorded()["heads"]
    previous, induction = torch.tensor(heads["previous"]), torch.tensor(heads["induction"])
    assert (previous[0] > 0.9).sum() == 1
    assert previous[1].max() < 0.1
    assert (induction[1] > 0.8).sum() >= 2
    assert induction[0].max() < 0.2


@pytest.mark.parametrize("period", [3, 11, 25, 30])
def test_it_copies_at_any_distance_also_at_those_it_was_not_trained_on(period):
    assert accuracy(fresh(periods=(period, period))) > 0.93


def test_it_copies_a_piece_that_comes_back_anywhere():
    """One piece of eight, copied once, at any place: never seen in training."""
    draws = torch.Generator().manual_seed(5)
    right = []
    for _ in range(100):
        ids = torch.randperm(37, generator=draws)[:32]
        at, to = torch.randint(0, 8, (2,), generator=draws).tolist()
        ids[16 + to : 24 + to] = ids[at : at + 8].clone()
        text = torch.cat([torch.tensor([START]), ids[: 24 + to]])
        guesses = MODEL(text).argmax(dim=-1)
        right.append((guesses[17 + to : -1] == text[18 + to :]).float().mean())
    assert torch.stack(right).mean() > 0.9


def test_without_the_previous_token_head_it_cannot_copy():
    sequences = fresh()
    assert accuracy(sequences, (0, 2)) < 0.3
    assert accuracy(sequences, *[(1, head) for head in range(4)]) < 0.1
    for head in [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)]:
        assert accuracy(sequences, head) > 0.98  # the others do its work


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("abcxyzabcx", "y"),
        ("banana banana ban", "a"),
        ("hello world hello w", "o"),
        ("Call 555 0199 call 555 0", "1"),
        ("to be or not to be or no", "t"),
    ],
)
def test_it_goes_on_with_what_a_reader_types(text, follows):
    after = MODEL.predict(text)[-1]
    assert spell(after.argmax()[None]) == [follows]
    assert after.max() > 0.5


def test_where_nothing_repeats_it_does_not_know():
    assert MODEL.predict("qwerty")[-1].max() < 0.1


# --- the module ------------------------------------------------------------------------------


def test_the_forward_pass_is_embedding_plus_two_attentions_by_the_definition():
    ids = encode("abcabc")
    stream = MODEL.tokens.weight[ids] + MODEL.positions.weight[:7]
    for attention in MODEL.layers:
        mask = masks.causal.dense(7, 7)
        stream = stream + naive.loops(attention, stream, mask=mask)
    assert_close(MODEL(ids), stream @ MODEL.unembed.weight.T, atol=1e-4, rtol=1e-4)


def test_attend_gives_every_head_of_the_text():
    tokens, weights = MODEL.attend("a b")
    assert tokens == ["▷", "a", "␣", "b"]
    assert weights.shape == (2, 4, 4, 4)
    assert_close(weights.sum(dim=-1), torch.ones(2, 4, 4))


def test_batches_and_single_sequences_agree():
    sequences = fresh(3)
    weights = MODEL.weights(sequences.inputs)
    assert weights.shape == (2, 3, 4, 64, 64)
    assert_close(weights[:, 1], MODEL.weights(sequences.inputs[1]))
    assert measure.at_offset(weights[0], -1).mean(dim=0).argmax() == 2


def test_switching_heads_off_lasts_as_long_as_the_block():
    before = MODEL.predict("abcabc")
    with without(MODEL, *HEADS):
        ids = encode("abcabc")
        bare = MODEL.unembed(MODEL.embed(ids)).softmax(dim=-1)
        assert_close(MODEL.predict("abcabc"), bare)
    assert torch.equal(MODEL.predict("abcabc"), before)


@pytest.mark.parametrize("head", [(2, 0), (0, 4), (-1, 0), (0, -1)])
def test_a_head_that_does_not_exist_is_refused(head):
    wrong = f"there is no head {head[1]} in layer {head[0]}; the model has layers 0 to 1"
    with pytest.raises(ValueError, match=wrong), without(MODEL, head):
        pass


# --- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the text is empty; it reads a to z"),
        ("a" * 64, "the text has 64 characters, the model has positions for 63; shorten it"),
        ("x" * 1000, "the text has 1000 characters"),
        ("abé", r"character 3, “é” \(U\+00E9\), is not one that the model has learned"),
        ("👍", r"character 1, “👍” \(U\+1F44D\)"),
        ("שלום", r"character 1, “ש” \(U\+05E9\)"),
        ("a\u202eb", r"character 2, U\+202E, is not"),
        ("<b>", r"character 1, “<” \(U\+003C\)"),
        ("\u212a", r"\(U\+212A\)"),  # the Kelvin sign, whose small letter is k
    ],
)
def test_a_text_that_it_cannot_read_is_explained(text, words):
    with pytest.raises(ValueError, match=words):
        encode(text)


def test_the_longest_text_is_read():
    assert MODEL.predict("ab" * 31 + "a").shape == (64, 38)


def test_text_that_is_no_string_is_refused():
    with pytest.raises(TypeError, match="text"):
        encode(["a"])


def test_capital_letters_count_as_small_ones():
    letters = random.Random(0).choices(repeater.ALPHABET, k=40)
    assert torch.equal(encode("".join(letters).upper()), encode("".join(letters)))


# --- the files -------------------------------------------------------------------------------


def test_the_file_is_half_precision_and_small():
    stored = load_file(repeater.WEIGHTS)
    assert {value.dtype for value in stored.values()} == {torch.float16}
    assert sum(value.numel() for value in stored.values()) == 41_728
    assert repeater.WEIGHTS.stat().st_size < 100_000


def test_a_missing_file_and_another_models_file_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="is missing; train it again"):
        repeater.load(tmp_path / "none.safetensors")
    stored = load_file(repeater.WEIGHTS)
    stored["positions.weight"] = stored["positions.weight"][:32].clone()
    del stored["unembed.weight"]
    save_file(stored, tmp_path / "cut.safetensors")
    wrong = "does not hold this model: positions.weight, unembed.weight; train it again"
    with pytest.raises(ValueError, match=wrong):
        repeater.load(tmp_path / "cut.safetensors")


def test_training_lowers_the_loss_writes_both_files_and_repeats_itself(tmp_path, monkeypatch):
    records = []
    for run in ("one", "two"):
        arguments = ["train", "--steps", "8", "--folder", str(tmp_path / run)]
        monkeypatch.setattr("sys.argv", arguments)
        train_repeater.main()
        records.append(
            json.loads((tmp_path / run / "repeater.json").read_text(encoding="utf-8"))
        )
    curves = [record["two_layers"]["curve"] for record in records]
    assert curves[0] == curves[1]
    assert curves[0]["loss"][-1] < curves[0]["loss"][0]
    model = repeater.load(tmp_path / "one" / "repeater.safetensors")
    assert isinstance(model, Repeater)
    assert repetition.accuracy(model(fresh(20).inputs), fresh(20)) < 0.9  # not the shipped one


@pytest.mark.parametrize("damage", ["one number", "half of the file"])
def test_a_damaged_file_is_refused(monkeypatch, tmp_path, damage):
    data = bytearray(repeater.WEIGHTS.read_bytes())
    if damage == "one number":
        data[-3] ^= 1
    else:
        del data[len(data) // 2 :]
    file = tmp_path / "repeater.safetensors"
    file.write_bytes(data)
    if damage == "one number":
        monkeypatch.setattr(repeater, "WEIGHTS", file)
    with pytest.raises(ValueError, match=r"damaged|cannot be read"):
        repeater.load(file)
