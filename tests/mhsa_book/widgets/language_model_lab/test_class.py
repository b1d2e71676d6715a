"""What Python says of the language model's figure, before a page has loaded anything."""

import pytest
import torch
from traitlets import TraitError

from mhsa_book.widgets import LanguageModelLab
from mhsa_book.widgets.language_model_lab import stored
from mhsa_book.widgets.packed import unpacked

FRANCE = "The capital of France is"


def test_what_is_stored_is_what_the_model_says(lm):
    now, kept = stored.computed(lm), stored.results()
    assert now["found"].keys() == kept["found"].keys()
    for one, other in zip(now["found"].pop("next"), kept["found"]["next"], strict=True):
        assert (one["id"], one["text"], one["whole"]) == (other["id"], other["text"], None)
        assert one["p"] == pytest.approx(other["p"], abs=2e-4)
    assert now["found"] == {name: kept["found"][name] for name in now["found"]}
    for one, other in zip(now["added"], kept["added"], strict=True):
        assert one["text"] == other["text"]
        for part in ("heads", "fed", "embedded", "logit"):
            assert one[part] == pytest.approx(other[part], abs=1e-3)
    assert now["attention"]["tokens"] == lm.tokens(stored.PROMPT)
    weights = lm.attend(stored.PROMPT)[1]
    assert (unpacked(kept["attention"]) - weights).abs().max() < 1e-4


def test_the_stored_means_are_those_that_the_model_measures(lm):
    torch.testing.assert_close(stored.means(), stored.mean_outputs(lm), atol=2e-3, rtol=2e-3)


def test_the_first_prompt_asks_for_no_model(monkeypatch):
    def refuse():
        raise AssertionError("the model was asked for")

    monkeypatch.setattr("mhsa_book.widgets.language_model_lab.language_model_lab.MODEL", refuse)
    assert "“ Mary” 0.92" in LanguageModelLab().alt
    with pytest.raises(AssertionError, match="asked for"):
        LanguageModelLab(FRANCE)


def test_another_prompt_is_read_in_python(lm):
    lab = LanguageModelLab(query=9, key=9)
    lab.prompt = FRANCE
    assert lab.shape == (30, 9, 5, 5)
    assert (lab.query, lab.key) == (4, 4)
    assert lab.found["next"][0]["p"] == pytest.approx(lm.next(FRANCE, 1)[0][1], abs=1e-5)
    assert lab.added[0]["text"] == " Paris"
    for wrong, error in (("", ValueError), ("half \ud83d", ValueError), (3, TraitError)):
        with pytest.raises(error):
            lab.prompt = wrong
    assert lab.prompt == FRANCE
    assert lab.found["tokens"] == lm.tokens(FRANCE)


def test_a_page_without_scripts_shows_a_map_and_the_next_words():
    html = LanguageModelLab().without_script()
    assert html.startswith("<img alt=")
    assert "<p>After “When Mary and John" in html
    assert "“ Mary” 0.92, “ the” 0.02, “ his” 0.01." in html
