"""The stored translator comes out of its training again."""

import pytest
from safetensors.torch import load_file

from mhsa_book.experiments.translation import measured, train
from mhsa_book.models.translator import WEIGHTS
from mhsa_book.results import translators


@pytest.mark.slow
@pytest.mark.nohook  # training takes thrice as long with every shape checked
def test_seed_0_comes_out_again():
    """Bit for bit on one kind of CPU; another adds in another order, and translates as well."""
    model, _ = train(seed=0)
    stored = load_file(WEIGHTS)
    same = all(value.half().equal(stored[n]) for n, value in model.state_dict().items())
    right = measured.translated(model.eval(), measured.fresh_pairs())
    assert same or right >= translators.kept().models["0"]["right"] - 0.02
