"""Beam search with a cache scores every text as one pass over it does."""

import torch
from torch import nn

from tests.helpers.drawn import filled
from tests.mhsa_lib.cache.comparing import assert_close


def vocabulary():
    """A language model of one attention: embedding, attention, logits."""
    return filled(nn.Embedding(9, 12)).double(), filled(nn.Linear(12, 9, bias=False)).double()


def best(scores, n):
    """The n best continuations (which beam, which token) of (beam, token) scores."""
    value, place = scores.flatten().topk(n)
    return value, place // scores.shape[-1], place % scores.shape[-1]


def scored(kind, embed, logits, text):
    """The log-probability of every text (beam, token) after its first token, with no cache."""
    log_p = logits(kind.alone(embed(text))).log_softmax(dim=-1)
    return log_p[:, :-1].gather(2, text[:, 1:, None]).sum(dim=(1, 2))


def test_beam_search_gives_every_hypothesis_the_score_it_has_from_scratch(kind):
    n_beams, n_steps = 3, 6
    embed, logits = vocabulary()
    kind.open()
    text = torch.full((n_beams, 1), 4)
    scores = torch.tensor([0.0] + [-torch.inf] * (n_beams - 1)).double()
    crossed = False
    for _ in range(n_steps):
        log_p = logits(kind.call(embed(text[:, -1:]))[:, -1]).log_softmax(dim=-1)
        scores, beam, token = best(scores[:, None] + log_p, n_beams)
        crossed |= len(text[0]) > 1 and beam.tolist() != list(range(n_beams))
        kind.cache.reorder(beam)
        text = torch.cat([text[beam], token[:, None]], dim=1)
    assert crossed, "no beam took another's place: the search shows nothing"
    assert len({tuple(row) for row in text.tolist()}) == n_beams
    assert_close(scores, scored(kind, embed, logits, text))
