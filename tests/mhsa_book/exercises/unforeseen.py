"""Answers to the exercises, right, wrong and hostile.

RIGHT = {exercise: function}, WRONG = {exercise: {mistake: function}},
HOSTILE = {exercise: {what it does: answer}}. Argument names are those of the
exercises. Labels in round brackets say where the numbers are
right and something else is wrong:
"(damages …)" the result is right, an argument is changed;
"(no gradient)" the numbers are right, the result is cut off from the graph.
Labels of HOSTILE that begin with "HANGS" never return; "GLOBAL" changes the process.
Labels that begin with "CRASH" may end the process.
Nothing is run on import.
"""

import math
import sys

import torch

F = torch.nn.functional
INF = float("inf")

# ------------------------------------------------------------------ right


def _split(x, n_heads):
    batch, seq, width = x.shape
    return x.reshape(batch, seq, n_heads, width // n_heads).transpose(1, 2)


def _concat(z):
    return z.transpose(1, 2).flatten(2)


def _score(q, k, scale):
    return q @ k.transpose(-2, -1) * scale


def _softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, -1)
    blind = ~mask.any(-1, keepdim=True)
    hidden = scores.masked_fill(~(mask | blind), -INF)
    return torch.softmax(hidden, -1).masked_fill(blind, 0.0)


def _attend(q, k, v, mask=None):
    return _softmax(_score(q, k, q.shape[-1] ** -0.5), mask) @ v


def _causal(n_query, n_key):
    return torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query)


def _padding(lengths, n_key):
    return (torch.arange(n_key) < torch.tensor(lengths)[:, None])[:, None, None]


def _mha(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    q, k, v = (_split(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    return _concat(_attend(q, k, v, mask)) @ W_O


def _qkv(x, context, W_Q, W_K, W_V, n_heads):
    pairs = ((x, W_Q), (context, W_K), (context, W_V))
    return [_split(rows @ W, n_heads) for rows, W in pairs]


def _cross(x, context, W_Q, W_K, W_V, W_O, n_heads):
    q, k, v = _qkv(x, context, W_Q, W_K, W_V, n_heads)
    return _concat(_attend(q, k, v)) @ W_O


def _grouped(q, k, v, n_heads, n_kv_heads):
    each = n_heads // n_kv_heads
    return _attend(q, k.repeat_interleave(each, 1), v.repeat_interleave(each, 1))


def _step(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = (_split(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    k, v = torch.cat([k, k_new], 2), torch.cat([v, v_new], 2)
    return _concat(_attend(q, k, v)) @ W_O, k, v


RIGHT = {
    "split_heads": _split,
    "concat_heads": _concat,
    "score": _score,
    "softmax": _softmax,
    "attend": _attend,
    "causal_mask": _causal,
    "padding_mask": _padding,
    "multi_head_attention": _mha,
    "cross_attention": _cross,
    "grouped_attend": _grouped,
    "kv_cache_step": _step,
}
WRONG = {name: {} for name in RIGHT}
HOSTILE = {name: {} for name in RIGHT}


def _wrong(name, mistake):
    def put(function):
        assert mistake not in WRONG[name], mistake
        WRONG[name][mistake] = function
        return function

    return put


def _hostile(name, what):
    def put(function):
        assert what not in HOSTILE[name], what
        HOSTILE[name][what] = function
        return function

    return put


# ------------------------------------------------------------ split_heads


@_wrong("split_heads", "view without transpose")
def _(x, n_heads):
    batch, seq, width = x.shape
    return x.reshape(batch, n_heads, seq, width // n_heads)


@_wrong("split_heads", "interleaved heads")
def _(x, n_heads):
    batch, seq, width = x.shape
    return x.reshape(batch, seq, width // n_heads, n_heads).permute(0, 3, 1, 2)


@_wrong("split_heads", "heads in reverse order")
def _(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1)[::-1], 1)


@_wrong("split_heads", "d_head before seq, as keys are kept for a product")
def _(x, n_heads):
    return _split(x, n_heads).transpose(-2, -1)


@_wrong("split_heads", "layout of JAX: (batch, seq, head, d_head)")
def _(x, n_heads):
    return x.unflatten(-1, (n_heads, -1))


@_wrong("split_heads", "n_heads taken for d_head")
def _(x, n_heads):
    batch, seq, _ = x.shape
    return x.reshape(batch, seq, -1, n_heads).transpose(1, 2)


@_wrong("split_heads", "heads folded into the batch, as in fairseq")
def _(x, n_heads):
    return _split(x, n_heads).flatten(0, 1)


@_wrong("split_heads", "tuple of chunks, not stacked")
def _(x, n_heads):
    return x.chunk(n_heads, -1)


@_wrong("split_heads", "stacked along axis 0: (head, batch, seq, d_head)")
def _(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1), 0)


@_wrong("split_heads", "(damages x: unsqueeze_)")
def _(x, n_heads):
    x.unsqueeze_(1)
    return torch.cat(x.chunk(n_heads, -1), 1)


@_wrong("split_heads", "(no gradient: through a list)")
def _(x, n_heads):
    return torch.tensor([[list(row) for row in s] for s in _split(x, n_heads).tolist()])


@_wrong("split_heads", "last head forgotten in a loop: range(n_heads - 1)")
def _(x, n_heads):
    batch, seq, width = x.shape
    d_head = width // n_heads
    out = x.new_zeros(batch, n_heads, seq, d_head)
    for h in range(n_heads - 1):
        out[:, h] = x[..., h * d_head : (h + 1) * d_head]
    return out


# ----------------------------------------------------------- concat_heads


@_wrong("concat_heads", "reshape without transpose")
def _(z):
    batch, n_heads, seq, d_head = z.shape
    return z.reshape(batch, seq, n_heads * d_head)


@_wrong("concat_heads", "mean of the heads")
def _(z):
    return z.mean(1)


@_wrong("concat_heads", "sum of the heads, repeated to the right width")
def _(z):
    return z.sum(1).repeat(1, 1, z.shape[1])


@_wrong("concat_heads", "heads in reverse order")
def _(z):
    return _concat(z.flip(1))


@_wrong("concat_heads", "interleaved heads")
def _(z):
    return z.permute(0, 2, 3, 1).flatten(2)


@_wrong("concat_heads", "exchanged, but not merged")
def _(z):
    return z.transpose(1, 2)


@_wrong("concat_heads", "torch.cat along seq")
def _(z):
    return torch.cat(z.unbind(1), 1)


@_wrong("concat_heads", "wrong two axes exchanged: head and d_head")
def _(z):
    batch, n_heads, seq, d_head = z.shape
    return z.transpose(1, 3).reshape(batch, seq, n_heads * d_head)


@_wrong("concat_heads", "batch and seq merged: (batch * seq, width)")
def _(z):
    return _concat(z).flatten(0, 1)


@_wrong("concat_heads", "(damages z: transpose_)")
def _(z):
    return z.transpose_(1, 2).flatten(2)


@_wrong("concat_heads", "NumPy array")
def _(z):
    return _concat(z).detach().numpy()


@_wrong("concat_heads", "(no gradient: .data)")
def _(z):
    return _concat(z.data)


# ------------------------------------------------------------------ score


@_wrong("score", "scale missing")
def _(q, k, scale):
    return q @ k.mT


@_wrong("score", "divided by scale")
def _(q, k, scale):
    return q @ k.mT / scale


@_wrong("score", "scale applied to q and to k")
def _(q, k, scale):
    return (q * scale) @ (k * scale).mT


@_wrong("score", "q and k exchanged: (key, query)")
def _(q, k, scale):
    return k @ q.mT * scale


@_wrong("score", "argument scale ignored, 1/√d_head computed")
def _(q, k, scale):
    return q @ k.mT / math.sqrt(q.shape[-1])


@_wrong("score", "k reshaped in place of transposed")
def _(q, k, scale):
    batch, n_heads, seq, d_head = k.shape
    return q @ k.reshape(batch, n_heads, d_head, seq) * scale


@_wrong("score", "summed over the heads as well")
def _(q, k, scale):
    return torch.einsum("bhqd,bhkd->bqk", q, k) * scale


@_wrong("score", "every head of q with the first head of k")
def _(q, k, scale):
    return q @ k[:, :1].mT * scale


@_wrong("score", "cosine: q and k normalised")
def _(q, k, scale):
    return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * scale


@_wrong("score", "softmax already applied")
def _(q, k, scale):
    return torch.softmax(q @ k.mT * scale, -1)


@_wrong("score", "(damages q: q *= scale)")
def _(q, k, scale):
    q *= scale
    return q @ k.mT


@_wrong("score", "float16")
def _(q, k, scale):
    return (q.half() @ k.half().mT) * scale


@_wrong("score", "negative distance in place of the dot product")
def _(q, k, scale):
    return -torch.cdist(q, k) * scale


# ---------------------------------------------------------------- softmax


@_wrong("softmax", "mask inverted, as in nn.MultiheadAttention")
def _(scores, mask):
    return _softmax(scores, None if mask is None else ~mask)


@_wrong("softmax", "mask forgotten")
def _(scores, mask):
    return torch.softmax(scores, -1)


@_wrong("softmax", "mask multiplied after the softmax")
def _(scores, mask):
    weights = torch.softmax(scores, -1)
    return weights if mask is None else weights * mask


@_wrong("softmax", "over the queries (dim=-2)")
def _(scores, mask):
    if mask is None:
        return torch.softmax(scores, -2)
    return torch.softmax(scores.masked_fill(~mask, -INF), -2).nan_to_num(0.0)


@_wrong("softmax", "-1e9: an empty row is uniform")
def _(scores, mask):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, -1)


@_wrong("softmax", "-inf alone: an empty row is NaN")
def _(scores, mask):
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    return torch.softmax(scores, -1)


@_wrong("softmax", "scores multiplied by the mask: hidden keys have score 0")
def _(scores, mask):
    return torch.softmax(scores if mask is None else scores * mask, -1)


@_wrong("softmax", "boolean mask added to the scores")
def _(scores, mask):
    return torch.softmax(scores if mask is None else scores + mask, -1)


@_wrong("softmax", "exp without taking off the maximum")
def _(scores, mask):
    powers = scores.exp()
    if mask is not None:
        powers = powers * mask
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)


@_wrong("softmax", "maximum taken over hidden keys as well")
def _(scores, mask):
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    if mask is not None:
        powers = powers * mask
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)


@_wrong("softmax", "additive −∞ and nan_to_num: numbers right, NaN gradient")
def _(scores, mask):
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -INF)
        scores = scores + bias
    return torch.softmax(scores, -1).nan_to_num(0.0)


@_wrong("softmax", "(damages scores: masked_fill_)")
def _(scores, mask):
    if mask is None:
        return torch.softmax(scores, -1)
    with torch.no_grad():
        scores.masked_fill_(~mask, -INF)
    return torch.softmax(scores, -1).masked_fill(~mask.any(-1, keepdim=True), 0.0)


@_wrong("softmax", "over all pairs at once: the whole square sums to 1")
def _(scores, mask):
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    flat = torch.softmax(scores.flatten(-2), -1)
    return flat.view(scores.shape).nan_to_num(0.0)


@_wrong("softmax", "log_softmax")
def _(scores, mask):
    if mask is None:
        return F.log_softmax(scores, -1)
    hidden = scores.masked_fill(~mask, -INF)
    return F.log_softmax(hidden, -1).masked_fill(~mask.any(-1, keepdim=True), 0.0)


@_wrong("softmax", "mask is made 4-D whatever it is: mask[None, None]")
def _(scores, mask):
    return _softmax(scores, None if mask is None else mask[None, None])


@_wrong("softmax", "-1e4 in place of -inf, too near for large scores")
def _(scores, mask):
    if mask is None:
        return torch.softmax(scores, -1)
    weights = torch.softmax(scores.masked_fill(~mask, -1e4), -1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


# ----------------------------------------------------------------- attend


def _attend_by(scale=None, axis=-1, fill=-INF):
    def attend(q, k, v, mask=None):
        factor = q.shape[-1] ** -0.5 if scale is None else scale(q)
        return _softmax(_score(q, k, factor), mask) @ v

    return attend


WRONG["attend"]["scale missing"] = _attend_by(lambda q: 1.0)
WRONG["attend"]["scale by d_model"] = _attend_by(lambda q: (q.shape[1] * q.shape[-1]) ** -0.5)
WRONG["attend"]["scale applied twice: 1/d_head"] = _attend_by(lambda q: 1 / q.shape[-1])
WRONG["attend"]["scale of 64 columns, hard-coded 1/8"] = _attend_by(lambda q: 0.125)
WRONG["attend"]["scale by seq: 1/√(number of queries)"] = _attend_by(
    lambda q: q.shape[-2] ** -0.5
)


@_wrong("attend", "mask inverted")
def _(q, k, v, mask=None):
    return _attend(q, k, v, None if mask is None else ~mask)


@_wrong("attend", "mask forgotten")
def _(q, k, v, mask=None):
    return _attend(q, k, v)


@_wrong("attend", "weights turned in the mix: weights.mT @ v")
def _(q, k, v, mask=None):
    return _softmax(_score(q, k, q.shape[-1] ** -0.5), mask).mT @ v


@_wrong("attend", "causal whatever the mask is, corner top left")
def _(q, k, v, mask=None):
    causal = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    return _attend(q, k, v, causal if mask is None else causal & mask)


@_wrong("attend", "q and k exchanged, transposed back to the right shape")
def _(q, k, v, mask=None):
    scores = _score(k, q, q.shape[-1] ** -0.5)
    weights = torch.softmax(scores, -1).mT
    return (weights if mask is None else weights * mask) @ v


@_wrong("attend", "returns (z, weights)")
def _(q, k, v, mask=None):
    weights = _softmax(_score(q, k, q.shape[-1] ** -0.5), mask)
    return weights @ v, weights


@_wrong("attend", "mask added after the softmax")
def _(q, k, v, mask=None):
    weights = torch.softmax(_score(q, k, q.shape[-1] ** -0.5), -1)
    return (weights if mask is None else weights + mask) @ v


@_wrong("attend", "-1e9: a blind query gets the mean of all values")
def _(q, k, v, mask=None):
    scores = _score(q, k, q.shape[-1] ** -0.5)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, -1) @ v


@_wrong("attend", "attends over the heads, not over the words")
def _(q, k, v, mask=None):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return _attend(q, k, v).transpose(1, 2)


@_wrong("attend", "softmax forgotten: the mask cuts raw scores")
def _(q, k, v, mask=None):
    scores = _score(q, k, q.shape[-1] ** -0.5)
    return (scores if mask is None else scores * mask) @ v


@_wrong("attend", "values taken from the keys")
def _(q, k, v, mask=None):
    return _attend(q, k, k, mask)


@_wrong("attend", "dropout left on")
def _(q, k, v, mask=None):
    weights = _softmax(_score(q, k, q.shape[-1] ** -0.5), mask)
    return F.dropout(weights, 0.1) @ v


@_wrong("attend", "(damages q: q /= √d_head)")
def _(q, k, v, mask=None):
    q /= q.shape[-1] ** 0.5
    return _softmax(_score(q, k, 1.0), mask) @ v


@_wrong("attend", "hidden values set to 0, their weights kept")
def _(q, k, v, mask=None):
    weights = _softmax(_score(q, k, q.shape[-1] ** -0.5), None)
    if mask is None:
        return weights @ v
    seen = mask.any(-2).reshape(*mask.shape[:-2], -1)[..., None]
    return weights @ (v * seen)


@_wrong("attend", "bfloat16 inside, float32 outside")
def _(q, k, v, mask=None):
    return _attend(q.bfloat16(), k.bfloat16(), v.bfloat16(), mask).to(q.dtype)


@_wrong("attend", "(no gradient: under no_grad)")
def _(q, k, v, mask=None):
    with torch.no_grad():
        return _attend(q, k, v, mask)


# ------------------------------------------------------------ causal_mask


@_wrong("causal_mask", "strict triangle: a word does not see itself")
def _(n_query, n_key):
    return torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query - 1)


@_wrong("causal_mask", "upper triangle: sees the future")
def _(n_query, n_key):
    return torch.ones(n_query, n_key, dtype=torch.bool).triu(n_key - n_query)


@_wrong("causal_mask", "corner top left: queries are the first positions")
def _(n_query, n_key):
    return torch.ones(n_query, n_key, dtype=torch.bool).tril()


@_wrong("causal_mask", "True means blocked")
def _(n_query, n_key):
    return ~_causal(n_query, n_key)


@_wrong("causal_mask", "one key too many: diagonal + 1")
def _(n_query, n_key):
    return torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query + 1)


@_wrong("causal_mask", "additive: 0 and -inf")
def _(n_query, n_key):
    return torch.zeros(n_query, n_key).masked_fill(~_causal(n_query, n_key), -INF)


@_wrong("causal_mask", "floats 1 and 0")
def _(n_query, n_key):
    return torch.tril(torch.ones(n_query, n_key), n_key - n_query)


@_wrong("causal_mask", "transposed: (n_key, n_query)")
def _(n_query, n_key):
    return _causal(n_query, n_key).mT.contiguous()


@_wrong("causal_mask", "square of n_key, queries not cut out")
def _(n_query, n_key):
    return torch.ones(n_key, n_key, dtype=torch.bool).tril()


@_wrong("causal_mask", "first n_query rows cut out of the square of n_key")
def _(n_query, n_key):
    return torch.arange(n_key).expand(n_query, n_key) <= torch.arange(n_key)[:n_query, None] - (
        n_key - n_query
    )


@_wrong("causal_mask", "with axes for batch and head: (1, 1, n_query, n_key)")
def _(n_query, n_key):
    return _causal(n_query, n_key)[None, None]


@_wrong("causal_mask", "one query sees only itself")
def _(n_query, n_key):
    seen = _causal(n_query, n_key)
    if n_query == 1:
        seen[:, :-1] = False
    return seen


@_wrong("causal_mask", "list of lists")
def _(n_query, n_key):
    return _causal(n_query, n_key).tolist()


@_wrong("causal_mask", "uint8, as in old ports")
def _(n_query, n_key):
    return _causal(n_query, n_key).to(torch.uint8)


# ----------------------------------------------------------- padding_mask


@_wrong("padding_mask", "True means padding")
def _(lengths, n_key):
    return ~_padding(lengths, n_key)


@_wrong("padding_mask", "one key too many: <=")
def _(lengths, n_key):
    return (torch.arange(n_key) <= torch.tensor(lengths)[:, None])[:, None, None]


@_wrong("padding_mask", "one key too few: < length - 1")
def _(lengths, n_key):
    return (torch.arange(n_key) < torch.tensor(lengths)[:, None] - 1)[:, None, None]


@_wrong("padding_mask", "no axes between: (batch, n_key)")
def _(lengths, n_key):
    return torch.arange(n_key) < torch.tensor(lengths)[:, None]


@_wrong("padding_mask", "hides queries: (batch, 1, n_key, 1)")
def _(lengths, n_key):
    return _padding(lengths, n_key).transpose(-1, -2)


@_wrong("padding_mask", "padding on the left")
def _(lengths, n_key):
    return _padding(lengths, n_key).flip(-1)


@_wrong("padding_mask", "floats 1 and 0")
def _(lengths, n_key):
    return _padding(lengths, n_key).float()


@_wrong("padding_mask", "additive: 0 and -1e9")
def _(lengths, n_key):
    return (~_padding(lengths, n_key)) * -1e9


@_wrong("padding_mask", "as wide as the longest sentence, not n_key")
def _(lengths, n_key):
    return _padding(lengths, max(lengths))


@_wrong("padding_mask", "an empty sentence keeps one word")
def _(lengths, n_key):
    return _padding([max(1, n) for n in lengths], n_key)


@_wrong("padding_mask", "only the last word is True")
def _(lengths, n_key):
    return (torch.arange(n_key) == torch.tensor(lengths)[:, None] - 1)[:, None, None]


@_wrong("padding_mask", "square: queries and keys, (batch, 1, n_key, n_key)")
def _(lengths, n_key):
    keys = _padding(lengths, n_key)
    return keys & keys.transpose(-1, -2)


@_wrong("padding_mask", "sentences sorted by length, as for packing")
def _(lengths, n_key):
    return _padding(sorted(lengths, reverse=True), n_key)


@_wrong("padding_mask", "the length of the first sentence for all")
def _(lengths, n_key):
    return _padding([lengths[0]] * len(lengths), n_key)


@_wrong("padding_mask", "(damages lengths: emptied by pop)")
def _(lengths, n_key):
    rows = []
    while lengths:
        rows.append(torch.arange(n_key) < lengths.pop(0))
    return torch.stack(rows)[:, None, None]


# --------------------------------------------------- multi_head_attention


def _layer(split=_split, attend=_attend, concat=_concat, last=True):
    def multi_head_attention(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
        q, k, v = (split(x @ W, n_heads) for W in (W_Q, W_K, W_V))
        y = concat(attend(q, k, v, mask))
        return y @ W_O if last else y

    return multi_head_attention


_M = WRONG["multi_head_attention"]
_M["W_O forgotten"] = _layer(last=False)
_M["split by view without transpose"] = _layer(
    split=WRONG["split_heads"]["view without transpose"]
)
_M["concat without transpose"] = _layer(
    concat=WRONG["concat_heads"]["reshape without transpose"]
)
_M["interleaved heads in split and concat"] = _layer(
    split=WRONG["split_heads"]["interleaved heads"],
    concat=WRONG["concat_heads"]["interleaved heads"],
)
_M["transpose forgotten in split and in concat"] = _layer(
    split=WRONG["split_heads"]["view without transpose"],
    concat=WRONG["concat_heads"]["reshape without transpose"],
)
_M["heads in reverse order in concat"] = _layer(
    concat=WRONG["concat_heads"]["heads in reverse order"]
)
_M["mean of the heads, repeated"] = _layer(concat=lambda z: z.mean(1).repeat(1, 1, z.shape[1]))
_M["scale by d_model"] = _layer(attend=WRONG["attend"]["scale by d_model"])
_M["scale missing"] = _layer(attend=WRONG["attend"]["scale missing"])
_M["mask inverted"] = _layer(attend=WRONG["attend"]["mask inverted"])
_M["mask forgotten"] = _layer(attend=WRONG["attend"]["mask forgotten"])
_M["-1e9: blind queries see all"] = _layer(
    attend=WRONG["attend"]["-1e9: a blind query gets the mean of all values"]
)
_M["float16 softmax"] = _layer(
    attend=lambda q, k, v, mask: (
        _softmax(_score(q, k, q.shape[-1] ** -0.5), mask).half().to(q.dtype) @ v
    )
)


@_wrong("multi_head_attention", "matrices turned as in nn.Linear: x @ W.T")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return _mha(x, W_Q.T, W_K.T, W_V.T, W_O.T, n_heads, mask)


@_wrong("multi_head_attention", "one head of the full width")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return _mha(x, W_Q, W_K, W_V, W_O, 1, mask)


@_wrong("multi_head_attention", "W_K and W_V exchanged")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return _mha(x, W_Q, W_V, W_K, W_O, n_heads, mask)


@_wrong("multi_head_attention", "residual added")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return x + _mha(x, W_Q, W_K, W_V, W_O, n_heads, mask)


@_wrong("multi_head_attention", "seq first: attends over the batch")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    x = x.transpose(0, 1)
    return _mha(x, W_Q, W_K, W_V, W_O, n_heads).transpose(0, 1)


@_wrong("multi_head_attention", "default mask is causal")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    mask = _causal(x.shape[1], x.shape[1]) if mask is None else mask
    return _mha(x, W_Q, W_K, W_V, W_O, n_heads, mask)


@_wrong("multi_head_attention", "mask turned: queries and keys exchanged")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    mask = None if mask is None else mask.transpose(-1, -2)
    return _mha(x, W_Q, W_K, W_V, W_O, n_heads, mask)


@_wrong("multi_head_attention", "(damages W_Q: the scale is folded in, W_Q *= …)")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    W_Q *= (W_Q.shape[1] // n_heads) ** -0.5
    q, k, v = (_split(x @ W, n_heads) for W in (W_Q, W_K, W_V))
    return _concat(_softmax(q @ k.mT, mask) @ v) @ W_O


@_wrong("multi_head_attention", "(no gradient: detach)")
def _(x, W_Q, W_K, W_V, W_O, n_heads, mask=None):
    return _mha(x, W_Q, W_K, W_V, W_O, n_heads, mask).detach()


# -------------------------------------------------------- cross_attention


def _crossed(make, last=True):
    def cross_attention(x, context, W_Q, W_K, W_V, W_O, n_heads):
        z = make(*_qkv(x, context, W_Q, W_K, W_V, n_heads))
        return _concat(z) @ W_O if last else _concat(z)

    return cross_attention


_C = WRONG["cross_attention"]
_C["W_O forgotten"] = _crossed(_attend, last=False)
_C["scale missing"] = _crossed(WRONG["attend"]["scale missing"])
_C["causal mask left in"] = _crossed(
    lambda q, k, v: _attend(q, k, v, _causal(q.shape[-2], k.shape[-2]).contiguous())
)
_C["softmax over the queries"] = _crossed(
    lambda q, k, v: torch.softmax(_score(q, k, q.shape[-1] ** -0.5), -2) @ v
)
_C["heads in reverse order"] = _crossed(lambda q, k, v: _attend(q, k, v).flip(1))
_C["mean of the heads, repeated"] = _crossed(
    lambda q, k, v: _attend(q, k, v).mean(1, keepdim=True).expand_as(q)
)


@_wrong("cross_attention", "x and context exchanged")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    return _cross(context, x, W_Q, W_K, W_V, W_O, n_heads)


@_wrong("cross_attention", "context ignored: self-attention")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    return _cross(x, x, W_Q, W_K, W_V, W_O, n_heads)


@_wrong("cross_attention", "keys from x, values from context")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    q, k, v = _split(x @ W_Q, n_heads), _split(x @ W_K, n_heads), context @ W_V
    return _concat(_attend(q, k, _split(v, n_heads))) @ W_O


@_wrong("cross_attention", "values from x, keys from context")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    q, k = _split(x @ W_Q, n_heads), _split(context @ W_K, n_heads)
    return _concat(_attend(q, k, _split(x @ W_V, n_heads))) @ W_O


@_wrong("cross_attention", "x can be looked at too: context appended")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    return _cross(x, torch.cat([x, context], 1), W_Q, W_K, W_V, W_O, n_heads)


@_wrong("cross_attention", "W_K makes the values too")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    return _cross(x, context, W_Q, W_K, W_K, W_O, n_heads)


@_wrong("cross_attention", "W_Q makes keys, W_K makes queries")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    return _cross(x, context, W_K, W_Q, W_V, W_O, n_heads)


@_wrong("cross_attention", "context averaged to one row first")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    return _cross(x, context.mean(1, keepdim=True), W_Q, W_K, W_V, W_O, n_heads)


@_wrong("cross_attention", "context cut to the length of x")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    return _cross(x, context[:, : x.shape[1]], W_Q, W_K, W_V, W_O, n_heads)


@_wrong("cross_attention", "(damages context: context @ W_K written into it)")
def _(x, context, W_Q, W_K, W_V, W_O, n_heads):
    v = _split(context @ W_V, n_heads)
    k = _split(context.copy_(context @ W_K), n_heads)
    return _concat(_attend(_split(x @ W_Q, n_heads), k, v)) @ W_O


# --------------------------------------------------------- grouped_attend


@_wrong("grouped_attend", "tile in place of repeat_interleave")
def _(q, k, v, n_heads, n_kv_heads):
    each = n_heads // n_kv_heads
    return _attend(q, k.repeat(1, each, 1, 1), v.repeat(1, each, 1, 1))


@_wrong("grouped_attend", "all queries read the first key head")
def _(q, k, v, n_heads, n_kv_heads):
    return _attend(q, k[:, :1], v[:, :1])


@_wrong("grouped_attend", "queries of a group averaged: n_kv_heads come out")
def _(q, k, v, n_heads, n_kv_heads):
    return _attend(q.unflatten(1, (n_kv_heads, -1)).mean(2), k, v)


@_wrong("grouped_attend", "key heads averaged to one")
def _(q, k, v, n_heads, n_kv_heads):
    return _attend(q, k.mean(1, keepdim=True), v.mean(1, keepdim=True))


@_wrong("grouped_attend", "repeated along seq, then reshaped")
def _(q, k, v, n_heads, n_kv_heads):
    each = n_heads // n_kv_heads
    shape = (k.shape[0], n_heads, *k.shape[2:])
    k, v = (t.repeat_interleave(each, 2).reshape(shape) for t in (k, v))
    return _attend(q, k, v)


@_wrong("grouped_attend", "scale missing")
def _(q, k, v, n_heads, n_kv_heads):
    return _grouped(q * q.shape[-1] ** 0.5, k, v, n_heads, n_kv_heads)


@_wrong("grouped_attend", "keys repeated, values tiled")
def _(q, k, v, n_heads, n_kv_heads):
    each = n_heads // n_kv_heads
    return _attend(q, k.repeat_interleave(each, 1), v.repeat(1, each, 1, 1))


@_wrong("grouped_attend", "repeated n_kv_heads times")
def _(q, k, v, n_heads, n_kv_heads):
    k, v = (t.repeat_interleave(n_kv_heads, 1)[:, :n_heads] for t in (k, v))
    return _attend(q, k, v)


@_wrong("grouped_attend", "heads already concatenated")
def _(q, k, v, n_heads, n_kv_heads):
    return _concat(_grouped(q, k, v, n_heads, n_kv_heads))


@_wrong("grouped_attend", "key heads in reverse order")
def _(q, k, v, n_heads, n_kv_heads):
    return _grouped(q, k.flip(1), v.flip(1), n_heads, n_kv_heads)


@_wrong("grouped_attend", "one softmax for a whole group")
def _(q, k, v, n_heads, n_kv_heads):
    grouped = q.unflatten(1, (n_kv_heads, -1))
    scores = grouped @ k[:, :, None].mT * q.shape[-1] ** -0.5
    total = scores.exp().sum((2, 4), keepdim=True)
    return (scores.exp() / total @ v[:, :, None]).flatten(1, 2)


@_wrong("grouped_attend", "causal mask added")
def _(q, k, v, n_heads, n_kv_heads):
    each = n_heads // n_kv_heads
    k, v = k.repeat_interleave(each, 1), v.repeat_interleave(each, 1)
    return _attend(q, k, v, _causal(q.shape[-2], k.shape[-2]))


@_wrong("grouped_attend", "groups kept as an axis: (batch, kv, each, seq, d)")
def _(q, k, v, n_heads, n_kv_heads):
    return _grouped(q, k, v, n_heads, n_kv_heads).unflatten(1, (n_kv_heads, -1))


@_wrong("grouped_attend", "no repeating: broadcasting is trusted")
def _(q, k, v, n_heads, n_kv_heads):
    return _attend(q, k, v)


@_wrong("grouped_attend", "(damages k: resize to the repeated heads)")
def _(q, k, v, n_heads, n_kv_heads):
    each = n_heads // n_kv_heads
    k.data = k.data.repeat_interleave(each, 1)
    v.data = v.data.repeat_interleave(each, 1)
    return _attend(q, k, v)


# ---------------------------------------------------------- kv_cache_step


def _new(x, W_Q, W_K, W_V, n_heads):
    return [_split(x @ W, n_heads) for W in (W_Q, W_K, W_V)]


def _join(old, new):
    return torch.cat([old, new], 2)


@_wrong("kv_cache_step", "new token put in front")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    k, v = _join(k_new, k), _join(v_new, v)
    return _concat(_attend(q, k, v)) @ W_O, k, v


@_wrong("kv_cache_step", "appended along the heads (dim=1)")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    k, v = torch.cat([k, k_new], 1), torch.cat([v, v_new], 1)
    return _concat(_attend(q, k, v)) @ W_O, k, v


@_wrong("kv_cache_step", "attends before it appends: does not see itself")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    return _concat(_attend(q, k, v)) @ W_O, _join(k, k_new), _join(v, v_new)


@_wrong("kv_cache_step", "sees only itself, caches right")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    return _concat(_attend(q, k_new, v_new)) @ W_O, _join(k, k_new), _join(v, v_new)


@_wrong("kv_cache_step", "returns the row only")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    return _step(x, k, v, W_Q, W_K, W_V, W_O, n_heads)[0]


@_wrong("kv_cache_step", "returns new key and value, not the caches")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    y = _step(x, k, v, W_Q, W_K, W_V, W_O, n_heads)[0]
    return y, _split(x @ W_K, n_heads), _split(x @ W_V, n_heads)


@_wrong("kv_cache_step", "returns the old caches")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    return _step(x, k, v, W_Q, W_K, W_V, W_O, n_heads)[0], k, v


@_wrong("kv_cache_step", "last place overwritten")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    k, v = _join(k[:, :, :-1], k_new), _join(v[:, :, :-1], v_new)
    return _concat(_attend(q, k, v)) @ W_O, k, v


@_wrong("kv_cache_step", "oldest token dropped")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    y, k, v = _step(x, k[:, :, 1:], v[:, :, 1:], W_Q, W_K, W_V, W_O, n_heads)
    return y, k, v


@_wrong("kv_cache_step", "causal mask with the corner top left: sees key 0")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    k, v = _join(k, k_new), _join(v, v_new)
    mask = torch.ones(1, k.shape[2], dtype=torch.bool).tril()
    return _concat(_attend(q, k, v, mask)) @ W_O, k, v


@_wrong("kv_cache_step", "W_O forgotten")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    return _step(x, k, v, W_Q, W_K, W_V, torch.eye(len(W_O)), n_heads)


@_wrong("kv_cache_step", "caches returned in the order v, k")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    y, k, v = _step(x, k, v, W_Q, W_K, W_V, W_O, n_heads)
    return y, v, k


@_wrong("kv_cache_step", "value appended to both caches")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    return _step(x, k, v, W_Q, W_V, W_V, W_O, n_heads)


@_wrong("kv_cache_step", "one empty place too many is looked at")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    k, v = _join(k, k_new), _join(v, v_new)
    room = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
    return _concat(_attend(q, *room)) @ W_O, k, v


@_wrong("kv_cache_step", "row without the axis of tokens: (batch, d_model)")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    y, k, v = _step(x, k, v, W_Q, W_K, W_V, W_O, n_heads)
    return y[:, 0], k, v


@_wrong("kv_cache_step", "heads reversed in the new key, cache kept")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    k, v = _join(k, k_new.flip(1)), _join(v, v_new)
    return _concat(_attend(q, k, v)) @ W_O, k, v


@_wrong("kv_cache_step", "(damages k, v: the given caches grow in place)")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    q, k_new, v_new = _new(x, W_Q, W_K, W_V, n_heads)
    k.data, v.data = _join(k.data, k_new.data), _join(v.data, v_new.data)
    return _concat(_attend(q, k, v)) @ W_O, k, v


# ---------------------------------------------------------------- hostile


@_hostile("attend", "returns None")
def _(q, k, v, mask=None):
    _attend(q, k, v, mask)


@_hostile("attend", "raises SystemExit(0)")
def _(q, k, v, mask=None):
    sys.exit(0)


@_hostile("attend", "raises KeyboardInterrupt")
def _(q, k, v, mask=None):
    raise KeyboardInterrupt


@_hostile("attend", "calls itself without end")
def _deep(q, k, v, mask=None):
    return _deep(q, k, v, mask)


@_hostile("attend", "wrong arity: takes q alone")
def _(q):
    return q


@_hostile("attend", "generator")
def _(q, k, v, mask=None):
    yield _attend(q, k, v, mask)


@_hostile("attend", "coroutine")
async def _(q, k, v, mask=None):
    return _attend(q, k, v, mask)


class _Unprintable:
    """Each look at it fails."""

    def __repr__(self):
        raise RuntimeError("no repr")

    __str__ = __eq__ = __len__ = __iter__ = __bool__ = __repr__

    __hash__ = None


@_hostile("attend", "object whose repr fails")
def _(q, k, v, mask=None):
    return _Unprintable()


class _UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no str")

    __repr__ = __str__


@_hostile("attend", "raises an error whose str fails")
def _(q, k, v, mask=None):
    raise _UnprintableError


class _Spoilt(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("every operation fails")


@_hostile("attend", "tensor subclass on which every operation fails")
def _(q, k, v, mask=None):
    return _attend(q, k, v, mask).as_subclass(_Spoilt)


@_hostile("attend", "meta tensor: a shape without numbers")
def _(q, k, v, mask=None):
    return torch.empty(q.shape, device="meta")


@_hostile("attend", "complex tensor")
def _(q, k, v, mask=None):
    return torch.complex(_attend(q, k, v, mask), torch.ones(q.shape))


@_hostile("attend", "CRASH: the answer's storage is freed (segfault where it is read)")
def _(q, k, v, mask=None):
    z = _attend(q, k, v, mask).clone()
    z.untyped_storage().resize_(0)
    return z


@_hostile("split_heads", "quantised tensor")
def _(x, n_heads):
    return torch.quantize_per_tensor(
        _split(x, n_heads).contiguous().float(), 0.1, 0, torch.qint8
    )


@_hostile("split_heads", "sparse tensor")
def _(x, n_heads):
    return _split(x, n_heads).to_sparse()


@_hostile("split_heads", "returns its input after wiping it")
def _(x, n_heads):
    with torch.no_grad():
        return x.zero_()


@_hostile("split_heads", "wipes x and returns a view of it in the right shape")
def _(x, n_heads):
    with torch.no_grad():
        x.fill_(float("nan"))
    return _split(x, n_heads)


@_hostile("split_heads", "HANGS: while True")
def _(x, n_heads):
    while True:
        pass


@_hostile("split_heads", "HANGS inside C: no signal handler runs")
def _(x, n_heads):
    return sum(iter(int, 1))


@_hostile("split_heads", "returns the builtin len")
def _(*args, **kwargs):
    return len


@_hostile("softmax", "nested tensor")
def _(scores, mask):
    return torch.nested.nested_tensor(list(_softmax(scores, mask).unbind(0)))


@_hostile("softmax", "a view of 10^12 equal numbers (expand)")
def _(scores, mask):
    return torch.zeros(1).expand(10**6, 10**6)


@_hostile("softmax", "GLOBAL: default dtype becomes float64")
def _(scores, mask):
    torch.set_default_dtype(torch.float64)
    return _softmax(scores, mask)


@_hostile("softmax", "GLOBAL: gradients switched off")
def _(scores, mask):
    torch.set_grad_enabled(False)
    return _softmax(scores, mask)


@_hostile("causal_mask", "returns a string")
def _(n_query, n_key):
    return "tril"


HOSTILE["causal_mask"]["the answer is the mask, not a function"] = _causal(3, 3)
HOSTILE["causal_mask"]["the answer is None"] = None
HOSTILE["causal_mask"]["the answer is Ellipsis, cell untouched"] = ...
HOSTILE["causal_mask"]["the stub returns Ellipsis"] = lambda n_query, n_key: ...


@_hostile("kv_cache_step", "a tuple that holds itself")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    loop = [x, k]
    loop.append(loop)
    return tuple(loop)


@_hostile("kv_cache_step", "endless iterator in place of three tensors")
def _(x, k, v, W_Q, W_K, W_V, W_O, n_heads):
    return iter(lambda: x, None)
