"""Cheap checks of an attention: a few numbers each, no training, no reference model.

Each takes the parts and the setting of an attention and says whether it passes. The first line
of its docstring is what one would do by hand.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from mhsa_book.museum import problems
from mhsa_book.museum.parts import Inputs, Parts, Passed, Setting, run, step_by_step
from mhsa_book.museum.problems import D_MODEL, drawn, inputs, same
from mhsa_book.museum.right import Matrices


def rows_sum_to_one(parts: Parts, setting: Setting) -> bool:
    """Add up the weights of every query: 1."""
    weights = run(parts, setting, inputs(setting, 3, 5, lengths=False)).weights
    return same(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))


def the_future_is_hidden(parts: Parts, setting: Setting) -> bool:
    """Change the last token: no earlier row may change."""
    given = inputs(setting, 3, 5, lengths=False)
    x = given.x.clone()
    x[:, -1] += 1
    before, after = (run(parts, setting, each).output for each in (given, given._replace(x=x)))
    return same(before[:, :-1], after[:, :-1])


def padding_leaves_no_trace(parts: Parts, setting: Setting) -> bool:
    """Change the numbers of the padding: no row of a token may change."""
    given = inputs(setting, 3, 5)
    assert given.real is not None  # inputs draws lengths
    x = given.x + 9 * ~given.real[..., None]
    before, after = (run(parts, setting, each).output for each in (given, given._replace(x=x)))
    return same(before[given.real], after[given.real])


def padding_of_a_memory_leaves_no_trace(parts: Parts, setting: Setting) -> bool:
    """Change the numbers of a memory's padding: no row that asks it may change."""
    setting = replace(setting, causal=False, positions="none")
    given = inputs(setting, 3, 5)
    assert given.real is not None  # inputs draws lengths
    first = given._replace(x=given.x[:, :2], memory=given.x)
    other = first._replace(memory=given.x + 9 * ~given.real[..., None])
    before, after = (run(parts, setting, each).output for each in (first, other))
    return same(before, after)


def without_its_padding_the_same(parts: Parts, setting: Setting) -> bool:
    """Run a padded sentence without its padding: the same rows."""
    given = inputs(setting, 3, 5)
    padded = run(parts, setting, given).output[2:, 2:]
    alone = given._replace(x=given.x[2:, 2:], real=None)  # two tokens of padding before three
    return same(padded, run(parts, setting, alone).output)


def a_packed_text_is_as_alone(parts: Parts, setting: Setting) -> bool:
    """Put a text behind another one in the same row: the same rows as alone."""
    given = inputs(setting, lengths=False)._replace(real=None)
    packed = problems.two_packed_texts(parts, setting)[:, 4:]
    return same(packed, run(parts, setting, given._replace(x=given.x[:, 4:])).output)


def batch_independence(parts: Parts, setting: Setting) -> bool:
    """Run one sentence alone: the same rows as in a batch."""
    given = inputs(setting, 5, 5)
    assert given.real is not None  # inputs draws lengths
    one = given._replace(x=given.x[2:3], real=given.real[2:3])
    together, alone = (run(parts, setting, each).output for each in (given, one))
    return same(together[2:3], alone)


def nothing_is_nan(parts: Parts, setting: Setting) -> bool:
    """Pad a sentence so that its first queries see no key: rows and gradients stay finite."""
    given = inputs(setting, 3, 5)
    x = given.x.clone().requires_grad_()
    rows = run(parts, setting, given._replace(x=x)).output
    (slope,) = torch.autograd.grad(rows.nan_to_num().sum(), x)
    return bool(rows.isfinite().all() and slope.isfinite().all())


def large_numbers_stay_finite(parts: Parts, setting: Setting) -> bool:
    """Multiply the input by 1,000: nothing may become infinite or NaN."""
    given = inputs(setting, 3, 5, lengths=False)
    return bool(run(parts, setting, given._replace(x=1000 * given.x)).output.isfinite().all())


def half_precision_runs(parts: Parts, setting: Setting) -> bool:
    """Run once in half precision, with a mask."""
    return bool(problems.in_half(parts, setting).isfinite().all())


def one_weight_by_hand(parts: Parts, setting: Setting) -> bool:
    """Two tokens, maps that change nothing: redo one weight on a calculator."""
    setting = replace(setting, positions="none", n_kv_heads=setting.n_heads, dropout=0.0)
    eye, none = torch.eye(D_MODEL), torch.zeros(D_MODEL)
    x = torch.zeros(1, 2, D_MODEL)
    x[0, 1, 0] = 2.0  # the second token: its score with itself is 4, with the first 0
    weights = run(parts, setting, Inputs(x, Matrices(*[eye] * 4, *[none] * 3))).weights
    expected = 1 / (1 + math.exp(-4 / math.sqrt(D_MODEL // setting.n_heads)))
    return abs(weights[0, 0, 1, 1].item() - expected) < 1e-4


def identity_mask_returns_values(parts: Parts, setting: Setting) -> bool:
    """Let every token see itself alone: its row is its own value through W_O."""

    def only_itself(n_query: int, n_key: int) -> Tensor:
        return torch.eye(n_query, n_key).bool()

    given = inputs(setting, 3, 5, lengths=False)
    rows = run(parts.having(causal_mask=only_itself), setting, given).output
    value = given.x @ given.W.V.mT + given.W.bias_V
    return same(rows, value @ given.W.O.mT)


def a_map_belongs_to_its_head(parts: Parts, setting: Setting) -> bool:
    """Change the first d_head rows of W_Q: the map of head 0 changes, and no other."""
    given = inputs(setting, 3, 5, lengths=False)
    W_Q = given.W.Q.clone()
    W_Q[: D_MODEL // setting.n_heads] += 1
    other = given._replace(W=given.W._replace(Q=W_Q))
    before, after = (run(parts, setting, each).weights for each in (given, other))
    changed = [
        not same(one, two) for one, two in zip(before.unbind(1), after.unbind(1), strict=True)
    ]
    return changed == [True] + [False] * (setting.n_heads - 1)


def every_number_learns(parts: Parts, setting: Setting) -> bool:
    """Look at the gradients of all maps and biases: none is missing, none is zero."""
    given = inputs(setting, 3, 5, lengths=False)
    every = [each.clone().requires_grad_() for each in given.W[:-1]]  # W_O has no bias
    W = Matrices(*every)
    target = drawn(3, 5, D_MODEL, seed=9)
    loss = (run(parts, setting, given._replace(W=W)).output - target).pow(2).sum()
    slopes = torch.autograd.grad(loss, every, allow_unused=True)
    without_b_K = [slope for i, slope in enumerate(slopes) if i != 5]  # moves a row as a whole
    return all(slope is not None and bool((slope != 0).all()) for slope in without_b_K)


def queries_come_from_x(parts: Parts, setting: Setting) -> bool:
    """Let two tokens ask five others: two rows come out."""
    setting = replace(setting, causal=False, positions="none")
    given = inputs(setting, 3, 5, lengths=False)._replace(real=None)
    return run(parts, setting, given._replace(x=given.x[:, :2], memory=given.x)).output.shape[
        1
    ] == 2 and _depends_on_x(parts, setting, given)


def _depends_on_x(parts: Parts, setting: Setting, given: Inputs) -> bool:
    """With one key every query gets its value, whoever asks."""
    one = given._replace(memory=given.x[:, :1])
    rows = run(parts, setting, one).output
    return same(rows, rows[:, :1].expand_as(rows))


def word_by_word_as_at_once(parts: Parts, setting: Setting) -> bool:
    """Feed the tokens one by one with a cache: the same rows as all at once."""
    given = inputs(setting, 3, 5, lengths=False)
    at_once: Passed = run(parts, setting, given)
    return same(step_by_step(parts, setting, given, n_first=2).output, at_once.output)


def a_second_text_is_new(parts: Parts, setting: Setting) -> bool:
    """Read a text after another one: the same rows as without the other one."""
    given = inputs(setting, lengths=False)
    alone = run(parts, setting, given._replace(x=given.x.flip(0), real=None)).output
    return same(problems.a_second_text(parts, setting), alone)


def rejected_tokens_leave_no_trace(parts: Parts, setting: Setting) -> bool:
    """Guess two tokens and reject them: the next row is the same as if nobody had guessed."""
    given = inputs(setting, 2, 6, lengths=False)._replace(real=None)
    at_once = run(parts, setting, given).output[:, 5:]
    return same(problems.after_rejected_tokens(parts, setting), at_once)


def the_bias_of_W_O_comes_once(parts: Parts, setting: Setting) -> bool:
    """Send zeros through it, with no other bias: the bias of W_O comes out."""
    W, bias = inputs(setting, 1, 3).W, drawn(D_MODEL, seed=8)
    none = (torch.zeros_like(each) for each in (W.bias_Q, W.bias_K, W.bias_V))
    W = W._replace(**dict(zip(W._fields[4:], (*none, bias), strict=True)))
    rows = run(parts, replace(setting, positions="none"), Inputs(torch.zeros(1, 3, D_MODEL), W))
    return same(rows.output, bias.expand(1, 3, D_MODEL))


def a_beam_goes_on_from_its_parent(parts: Parts, setting: Setting) -> bool:
    """Copy a beam over another: with the same next token both give the same row."""
    given = inputs(setting, 2, 5, lengths=False)._replace(real=None)
    cache = run(parts, setting, given).cache
    cache = parts.reorder(cache, torch.tensor([0, 0]))
    x = given.x[:1, :1].expand(2, 1, D_MODEL)
    first, second = run(parts, setting, given._replace(x=x), cache=cache).output
    return same(first, second)


def evaluation_repeats_itself(parts: Parts, setting: Setting) -> bool:
    """Run twice in evaluation mode: the same rows."""
    given = inputs(setting, 3, 5)
    one, two = (run(parts, setting, given).output for _ in range(2))
    return same(one, two)


def all_dropped_is_nothing(parts: Parts, setting: Setting) -> bool:
    """Drop every weight: z is 0."""
    setting = replace(setting, dropout=1.0)
    return not run(parts, setting, inputs(setting, 3, 5), training=True).z.any()


def dropout_keeps_the_mean(parts: Parts, setting: Setting) -> bool:
    """Average z over many copies of a text, in training mode: z of evaluation."""
    given = inputs(setting, 2, 3, lengths=False)
    assert given.real is not None  # inputs says what is padding
    given = given._replace(x=given.x.repeat(400, 1, 1), real=given.real.repeat(400, 1))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        z = run(parts, setting, given, training=True).z.unflatten(0, (400, 2))
    still = run(parts, setting, given).z[:2]
    return bool((z.mean(dim=0) - still).norm() < 0.1 * still.norm())


def the_caller_keeps_its_rows(parts: Parts, setting: Setting) -> bool:
    """Compare the input after the call with a copy from before."""
    x = drawn(2, 3, D_MODEL)
    before = x.clone()
    parts.normalise(x)
    return torch.equal(x, before)


def all_parameters_are_listed(parts: Parts, setting: Setting) -> bool:
    """Count what ``parameters()`` gives."""
    return problems.its_parameters(parts, setting).item() == D_MODEL**2 + D_MODEL


def heads_differ_at_the_start(parts: Parts, setting: Setting) -> bool:
    """Compare the maps of two heads before training: they differ."""
    first, second, *_ = problems.the_first_maps(parts, setting).unbind(dim=1)
    return not same(first, second)


def the_next_token_is_asked(parts: Parts, setting: Setting) -> bool:
    """Print one line of inputs and targets: the target is the token after."""
    given, wanted = parts.targets(torch.arange(4)[None])
    return given.tolist() == [[0, 1, 2]] and wanted.tolist() == [[1, 2, 3]]


def the_end_is_asked(parts: Parts, setting: Setting) -> bool:
    """Print which targets count: the end of the text is among them, the padding is not."""
    wanted = torch.tensor([[5, 6, 0, 0]])  # two tokens, their end, and padding
    return parts.asked(wanted, torch.tensor([3])).tolist() == [[True, True, True, False]]
