"""What an exhibit is shown on: small numbers drawn once, and what is looked at.

Each function takes the parts and the setting of an attention, and gives a tensor in which right
and wrong parts differ.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from mhsa_book.museum.parts import Inputs, Parts, Setting, run, step_by_step
from mhsa_book.museum.right import Matrices, begin

D_MODEL = 24
"""Four heads of six columns: as many heads as columns would hide a mistake."""


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers, the same for the same shape and seed."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def same(one: Tensor, other: Tensor) -> bool:
    """Equal shape, and numbers equal to five digits."""
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def matrices(setting: Setting, seed: int = 0, bias: float = 0.5) -> Matrices:
    """Maps and biases of an attention of width 24."""
    generator = torch.Generator().manual_seed(seed)
    maps = [begin(D_MODEL, setting.n_heads, generator) for _ in range(4)]
    few = D_MODEL * setting.n_kv_heads // setting.n_heads
    biases = [bias * drawn(n, seed=seed + i) for i, n in enumerate((D_MODEL, few, few))]
    return Matrices(maps[0], maps[1][:few], maps[2][:few], maps[3], *biases)


def inputs(setting: Setting, batch: int = 8, seq: int = 8, lengths: bool = True) -> Inputs:
    """Sentences of several lengths, padded on the left."""
    real = torch.ones(batch, seq, dtype=torch.bool)
    if lengths:
        real = torch.arange(seq) >= (torch.arange(batch) % (seq - 1))[:, None]
    table = drawn(setting.n_heads, 4 * seq + 1, seed=5)  # for texts that go on, too
    return Inputs(drawn(batch, seq, D_MODEL), matrices(setting), real=real, table=table)


def a_pass(parts: Parts, setting: Setting) -> Tensor:
    """The rows that come out of eight sentences of eight tokens, padding among them."""
    return run(parts, setting, inputs(setting)).output


def another_size(parts: Parts, setting: Setting) -> Tensor:
    """The rows of three sentences of five tokens."""
    return run(parts, setting, inputs(setting, 3, 5, lengths=False)).output


def a_memory(parts: Parts, setting: Setting) -> Tensor:
    """The rows of four queries that look at eight tokens of another sentence."""
    setting = replace(setting, causal=False, positions="none")
    given = inputs(setting, lengths=False)._replace(real=None)
    return run(parts, setting, given._replace(x=given.x[:, :4], memory=given.x)).output


def a_padded_memory(parts: Parts, setting: Setting) -> Tensor:
    """The rows of four queries that look at sentences of several lengths."""
    setting = replace(setting, causal=False, positions="none")
    given = inputs(setting)
    return run(parts, setting, given._replace(x=given.x[:, :4], memory=given.x)).output


def two_packed_texts(parts: Parts, setting: Setting) -> Tensor:
    """The rows of two texts of four tokens that stand in one row of the batch."""
    given = inputs(setting, lengths=False)
    documents = (torch.arange(8) // 4).expand(8, 8)
    return run(parts, setting, given._replace(real=None, documents=documents)).output


def large_numbers(parts: Parts, setting: Setting) -> Tensor:
    """A pass with rows that are a hundred times as long."""
    given = inputs(setting, lengths=False)
    return run(parts, setting, given._replace(x=100 * given.x)).output


def a_long_text(parts: Parts, setting: Setting) -> Tensor:
    """The last rows of 600 tokens."""
    return run(parts, setting, inputs(setting, 1, 600, lengths=False)).output[:, -4:]


def with_dropout(parts: Parts, setting: Setting) -> Tensor:
    """A pass in training mode, with a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return run(parts, setting, inputs(setting), training=True).output


def in_evaluation(parts: Parts, setting: Setting) -> Tensor:
    """A pass in evaluation mode, with a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return run(parts, setting, inputs(setting)).output


def word_by_word(parts: Parts, setting: Setting) -> Tensor:
    """Three tokens at once, then five with a cache."""
    return step_by_step(parts, setting, inputs(setting, lengths=False), n_first=3).output


def a_second_text(parts: Parts, setting: Setting) -> Tensor:
    """A text, read after another one that is over."""
    given = inputs(setting, lengths=False)
    cache = parts.forget(run(parts, setting, given).cache)
    return run(parts, setting, given._replace(x=given.x.flip(0), real=None), cache=cache).output


def after_rejected_tokens(parts: Parts, setting: Setting) -> Tensor:
    """The next token of a text behind which two tokens were guessed, and rejected."""
    given = inputs(setting, 2, 6, lengths=False)._replace(real=None)
    cache = run(parts, setting, given._replace(x=given.x[:, :5])).cache
    guessed = drawn(2, 2, D_MODEL, seed=7)
    cache = run(parts, setting, given._replace(x=guessed), cache=cache).cache
    cache = parts.crop(cache, 5)
    return run(parts, setting, given._replace(x=given.x[:, 5:]), cache=cache).output


def with_a_bias(parts: Parts, setting: Setting) -> Tensor:
    """A pass where W_O has a bias."""
    given = inputs(setting)
    W = given.W._replace(bias_O=drawn(D_MODEL, seed=8))
    return run(parts, setting, given._replace(W=W)).output


def beams(parts: Parts, setting: Setting) -> Tensor:
    """The last token of rows that go on from the cache of another row."""
    given = inputs(setting, 4, 6, lengths=False)._replace(real=None)
    cache = run(parts, setting, given._replace(x=given.x[:, :-1])).cache
    cache = parts.reorder(cache, torch.tensor([0, 0, 1, 1]))
    return run(parts, setting, given._replace(x=given.x[:, -1:]), cache=cache).output


def a_block(parts: Parts, setting: Setting) -> Tensor:
    """Rows, normalised, through the attention, and added to what they were."""
    given = inputs(setting)
    x = given.x.clone()
    return x + run(parts, setting, given._replace(x=parts.normalise(x))).output


def gradient(parts: Parts, setting: Setting) -> Tensor:
    """How the sum of the squared rows depends on W_Q."""
    given = inputs(setting, lengths=False)
    W_Q = given.W.Q.clone().requires_grad_()
    rows = run(parts, setting, given._replace(W=given.W._replace(Q=W_Q))).output
    loss = rows.pow(2).sum() + 0 * W_Q.sum()  # so that it depends on W_Q, at least by name
    return torch.autograd.grad(loss, W_Q)[0]


def the_first_maps(parts: Parts, setting: Setting) -> Tensor:
    """The weights before any training."""
    generator = torch.Generator().manual_seed(0)
    maps = [parts.begin(D_MODEL, setting.n_heads, generator) for _ in range(4)]
    W = Matrices(*maps, *torch.zeros(3, D_MODEL))
    return run(parts, setting, Inputs(drawn(2, 8, D_MODEL), W)).weights


def its_parameters(parts: Parts, setting: Setting) -> Tensor:
    """How many numbers a module with a list of heads would train."""
    module = nn.Module()
    module.heads = parts.register([nn.Linear(D_MODEL, D_MODEL // 4) for _ in range(4)])
    return torch.tensor(float(sum(p.numel() for p in module.parameters())))


def what_is_asked(parts: Parts, setting: Setting) -> Tensor:
    """The tokens that a language model shall say."""
    return parts.targets(torch.arange(10).view(2, 5))[1].double()


def which_targets_count(parts: Parts, setting: Setting) -> Tensor:
    """Two texts of two and three tokens, their end (0) behind them, and padding, 0 as well."""
    wanted = torch.tensor([[5, 6, 0, 0, 0], [7, 8, 9, 0, 0]])
    return parts.asked(wanted, torch.tensor([3, 4])).double()


def in_half(parts: Parts, setting: Setting) -> Tensor:
    """A pass in half precision."""
    setting = replace(setting, positions="none")
    given = inputs(setting, lengths=False)
    W = Matrices(*(each.half() for each in given.W[:-1]))  # there is no bias of W_O
    return run(parts, setting, given._replace(x=given.x.half(), W=W, real=None)).output
