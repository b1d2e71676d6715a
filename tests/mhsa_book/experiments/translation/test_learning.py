"""The training of the translator: fresh sentences, the right words given, the same run."""

import pytest
import torch
from torch.testing import assert_close

from mhsa_book.examples import language
from mhsa_book.experiments.training import fit
from mhsa_book.experiments.translation import by_task, heads_of, learning, nats, never, without
from mhsa_book.experiments.translation.measured import fresh_pairs
from mhsa_book.transformer import loss, shifted


def test_before_training_models_differ_by_seed_alone_and_leave_the_global_seed():
    state = torch.random.get_rng_state()
    one, again, other = (learning.untrained(seed).unembed.weight for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_every_batch_is_new_and_none_is_from_a_seed_for_testing(monkeypatch):
    seeds, drawn = [], language.pairs

    def watched(n, seed):
        seeds.append(seed)
        return drawn(2, seed)

    monkeypatch.setattr(learning.language, "pairs", watched)
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        learning.draw(generator)
    assert len(set(seeds)) == 50
    assert min(seeds) >= learning.UNSEEN


def test_the_loss_is_that_of_the_words_that_are_wanted():
    model = learning.untrained(0)
    source, target = learning.draw(torch.Generator().manual_seed(0))
    given, wanted = shifted(target)
    assert_close(
        learning.of_translations(model, source, target), loss(model(source, given), wanted)
    )


@pytest.mark.nohook  # training takes thrice as long with every shape checked
def test_a_few_steps_learn_something_and_the_same_again():
    model, losses = learning.train(seed=0, n_steps=20)
    again, same = learning.train(seed=0, n_steps=20)
    assert losses == same
    assert losses[-1] < losses[0] - 1
    assert torch.equal(model.unembed.weight, again.unembed.weight)
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_fit_minimises_the_loss_that_it_is_given():
    table = torch.nn.Embedding(1, 1)
    fit(
        table,
        lambda generator: (torch.zeros(1, dtype=torch.long), torch.tensor([3.0])),
        400,
        seed=0,
        learning_rate=0.1,
        loss=lambda model, ids, wanted: (model(ids)[:, 0] - wanted).square().mean(),
    )
    assert_close(table.weight, torch.tensor([[3.0]]), atol=0.05, rtol=0)


@pytest.mark.nohook  # training takes thrice as long with every shape checked
def test_a_model_that_never_had_cross_attention_learns_it_in_no_other_way(monkeypatch):
    """Its heads are at zero while it learns and while it is measured: no gradient arrives."""
    made = []

    def watched(seed, before=never.untrained):
        made.append(before(seed))
        return made[-1]

    monkeypatch.setattr(never, "untrained", watched)
    found = never.never_had("cross-attention", seed=0, n_steps=3)
    fresh, (model,) = learning.untrained(0), made
    for trained, new in zip(model.decoder, fresh.decoder, strict=True):
        same = [
            torch.equal(getattr(trained, name).W_O.weight, getattr(new, name).W_O.weight)
            for name in ("cross_attention", "self_attention")
        ]
        assert same == [True, False]
    with without(model, heads_of(model, "cross-attention")):
        off = by_task(nats(model, fresh_pairs()), fresh_pairs())
    assert found == off
    assert found != by_task(nats(model, fresh_pairs()), fresh_pairs())
