"""The file that readers take away, tried as it is downloaded: without this library."""

import copy
import functools
import itertools
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from mhsa_book import one_file
from mhsa_book.equivalence import comparison
from mhsa_book.equivalence.own import SIZES, own
from mhsa_lib import masks, variants
from tools import ROOT

FILE = Path(one_file.__file__)
ALONE = """
import builtins, doctest, sys
usual = builtins.__import__
def guarded(name, *args, **kwargs):
    if name.partition(".")[0] in ("mhsa_lib", "einops", "jaxtyping"):
        raise ImportError(name)
    return usual(name, *args, **kwargs)
builtins.__import__ = guarded
import attention
print(doctest.testmod(attention))
"""


@pytest.fixture(scope="module")
def taken():
    module = types.ModuleType("attention")
    exec(compile(FILE.read_text(encoding="utf-8"), "attention.py", "exec"), vars(module))
    return module


def test_it_is_short_and_needs_torch_alone(tmp_path):
    text = FILE.read_text(encoding="utf-8")
    assert text.count("\n") <= 350
    (tmp_path / "attention.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "failed=0" in done.stdout
    assert "attempted=0" not in done.stdout


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_passes_the_wall(taken, dtype):
    rows = {"one file": own(taken.MultiHeadAttention)}
    results = comparison.build(SIZES, [dtype], rows, rows)
    assert {each.reason for each in results if each.delta is None} == set()
    assert all(each.passed for each in results)


def filled(taken, ours, **options):
    theirs = taken.MultiHeadAttention(16, 4, **options).double()
    theirs.load_state_dict(
        {name.removeprefix("project."): value for name, value in ours.state_dict().items()}
    )
    return theirs


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("causal", [False, True])
def test_shared_heads_and_biases_are_the_library_s(taken, n_kv_heads, causal):
    ours = variants.GroupedQueryAttention(16, 4, n_kv_heads, bias=True).double()
    x, lengths = torch.randn(3, 5, 16).double(), torch.tensor([5, 2, 3])
    theirs = filled(taken, ours, n_kv_heads=n_kv_heads, bias=True)
    mask = masks.key_padding(lengths)
    found = theirs(x, mask=taken.padding_mask(lengths, 5), causal=causal)
    torch.testing.assert_close(found, ours(x, mask=masks.causal & mask if causal else mask))


def test_its_weights_are_those_of_the_pass(taken):
    attention, x = taken.MultiHeadAttention(16, 4, 2), torch.randn(2, 5, 16)
    weights = attention.weights(x, causal=True)
    v = attention.split(attention.W_V(x), 2).repeat_interleave(2, dim=1)
    expected = attention.W_O(attention.concat(weights @ v))
    torch.testing.assert_close(attention(x, causal=True), expected)


def test_a_query_that_may_see_nothing_gets_zeros_and_finite_gradients(taken):
    attention = taken.MultiHeadAttention(8, 2)
    x = torch.randn(1, 3, 8, requires_grad=True)
    mask = torch.ones(1, 1, 3, 3, dtype=torch.bool).tril(-1)
    mask[..., 2, 2] = True
    y = attention(x, mask=mask)
    assert not y[0, 0].any()
    assert not attention.weights(x, mask=mask)[0, :, 0].any()
    y.sum().backward()
    assert x.grad.isfinite().all()


OPTIONS = [
    {},
    {"n_kv_heads": 2, "rope_base": 100.0, "d_head": 6},
    {"n_kv_heads": 1, "window": 3},
    {"rope_base": 100.0, "window": 2, "qk_norm": nn.RMSNorm, "scale": 0.3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
@pytest.mark.parametrize("cuts", [(3, 4, 5, 6, 7, 8), (1, 5, 8), (4, 8), (8,)])
def test_any_cuts_of_a_text_are_one_causal_pass(taken, options, cuts):
    attention = taken.MultiHeadAttention(8, 4, **options).double()
    x, cache = torch.randn(2, 8, 8).double(), taken.Cache(9)
    with torch.no_grad():
        parts = [
            attention(x[:, i:j], cache=cache, causal=j - i > 1)
            for i, j in itertools.pairwise((0, *cuts))
        ]
        whole = attention(x, causal=True)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    assert cache.length == 8


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_it_is_attention_pair_by_pair(taken, options):
    attention = taken.MultiHeadAttention(8, 4, **options).double()
    x = torch.randn(2, 5, 8).double()
    torch.testing.assert_close(attention(x, causal=True), by_hand(attention, x, options))


def by_hand(attention, x, options):
    """Every pair of tokens by itself, from the formulas: complex numbers rotate."""
    heads, kv_heads, d = attention.n_heads, attention.n_kv_heads, attention.d_head
    window, base = options.get("window", 10**9), options.get("rope_base")
    scale = options.get("scale", d**-0.5)

    def vector(W, norm, b, t, head):
        values = W(x[b, t])[head * d : (head + 1) * d]
        if norm is not None and "qk_norm" in options:
            values = values / (values.square().mean() + torch.finfo(values.dtype).eps).sqrt()
        if norm is not None and base is not None:
            pairs = torch.complex(values[: d // 2], values[d // 2 :])
            speeds = torch.tensor([base ** (-2 * c / d) for c in range(d // 2)]).double()
            pairs = pairs * torch.polar(torch.ones(d // 2).double(), t * speeds)
            values = torch.cat([pairs.real, pairs.imag])
        return values

    y = torch.empty_like(x)
    for b, t in itertools.product(range(x.shape[0]), range(x.shape[1])):
        z = []
        for h in range(heads):
            g, first = h * kv_heads // heads, max(0, t - window + 1)
            q = vector(attention.W_Q, "q", b, t, h)
            seen = [vector(attention.W_K, "k", b, s, g) for s in range(first, t + 1)]
            share = torch.stack([q @ k * scale for k in seen]).softmax(0)
            values = [vector(attention.W_V, None, b, s, g) for s in range(first, t + 1)]
            z.append(sum(a * v for a, v in zip(share, values, strict=True)))
        y[b, t] = attention.W_O(torch.cat(z))
    return y


def test_ragged_texts_with_a_cache_are_each_text_alone(taken):
    attention = taken.MultiHeadAttention(8, 4, 2, rope_base=100.0).double()
    x, lengths = torch.randn(2, 3, 8).double(), torch.tensor([3, 1])
    steps, cache = torch.randn(2, 2, 8).double(), taken.Cache(5)
    keys = taken.padding_mask(lengths, 3)
    with torch.no_grad():
        attention(x, mask=keys, causal=True, cache=cache)
        found = []
        for i in range(2):
            keys = torch.cat([keys, torch.ones(2, 1, 1, 1, dtype=torch.bool)], dim=-1)
            at = (lengths + i)[:, None]
            step = steps[:, i : i + 1]
            found.append(attention(step, mask=keys, positions=at, cache=cache))
        for text, n in enumerate(lengths):
            alone = torch.cat([x[text, :n], steps[text]])[None]
            expected = attention(alone, causal=True)[0, n:]
            torch.testing.assert_close(torch.cat(found, dim=1)[text], expected)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_weights_of_a_step_leave_the_cache_alone(taken, options):
    attention, cache = taken.MultiHeadAttention(8, 4, **options), taken.Cache(6)
    x = torch.randn(1, 6, 8)
    with torch.no_grad():
        attention(x[:, :5], causal=True, cache=cache)
        weights = attention.weights(x[:, 5:], cache=cache)
        whole = attention.weights(x, causal=True)
        assert cache.length == 5
        attention(x[:, 5:], cache=cache)
    assert cache.length == 6
    torch.testing.assert_close(weights, whole[:, :, -1:, -weights.shape[-1] :])
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 4, 1))


def test_it_is_the_attention_of_qwen_3(taken):
    """Shared heads, a free d_head, norms and rotation together, as another library has them."""
    qwen = pytest.importorskip("transformers.models.qwen3.modeling_qwen3")
    config = qwen.Qwen3Config(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=2, head_dim=8
    )
    config._attn_implementation = "eager"
    theirs, rotary = qwen.Qwen3Attention(config, 0).double(), qwen.Qwen3RotaryEmbedding(config)
    base = config.rope_parameters["rope_theta"]
    norm = functools.partial(nn.RMSNorm, eps=config.rms_norm_eps)
    ours = taken.MultiHeadAttention(16, 4, 2, d_head=8, rope_base=base, qk_norm=norm).double()
    names = {"q_proj": "W_Q", "k_proj": "W_K", "v_proj": "W_V", "o_proj": "W_O"}
    nn.init.normal_(theirs.q_norm.weight)
    nn.init.normal_(theirs.k_norm.weight)
    ours.load_state_dict(
        {
            f"{names.get(name, name)}.weight": value
            for key, value in theirs.state_dict().items()
            for name in [key.removesuffix(".weight")]
        }
    )
    x, at = torch.randn(2, 7, 16).double(), torch.arange(7)[None]
    mask = torch.zeros(1, 1, 7, 7).double().masked_fill(~taken.causal_mask(7, 7), -torch.inf)
    expected = theirs(x, rotary(x, at), mask)[0]
    torch.testing.assert_close(ours(x, causal=True), expected, atol=1e-6, rtol=1e-6)


def largest(call):
    """Bytes of the largest tensor that a call makes, forward alone."""

    class Sizes(TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            for each in result if isinstance(result, tuple) else [result]:
                if isinstance(each, torch.Tensor):
                    self.most = max(self.most, each.untyped_storage().nbytes())
            return result

    with torch.no_grad(), Sizes() as sizes:
        call()
    return sizes.most


def test_the_causal_kernel_is_reached_and_nothing_of_all_pairs_is_made(taken):
    attention, n = taken.MultiHeadAttention(64, 4, 2, rope_base=1e4), 2_048
    x, one = torch.randn(1, n, 64), torch.randn(1, 1, 64)
    rows = n * 64 * 4
    assert largest(lambda: attention(x, causal=True)) <= rows
    with torch.no_grad():
        cache = taken.Cache(n + 1)
        attention(x, causal=True, cache=cache)
    assert largest(lambda: attention(one, cache=cache)) <= (n + 1) * 32 * 4
    assert largest(lambda: attention.weights(x, causal=True)) >= 4 * n * n * 4


def test_a_cache_is_written_in_place(taken):
    attention, cache = taken.MultiHeadAttention(8, 2), taken.Cache(6)
    with torch.no_grad():
        attention(torch.randn(1, 2, 8), causal=True, cache=cache)
        places = cache.k.data_ptr(), cache.v.data_ptr()
        for _ in range(4):
            attention(torch.randn(1, 1, 8), cache=cache)
    assert (cache.k.data_ptr(), cache.v.data_ptr()) == places


@pytest.mark.parametrize("begun", [0, 2])
@pytest.mark.parametrize("part", ["W_Q", "W_K", "W_V", "k_norm", "W_O"])
def test_a_call_that_fails_leaves_the_cache_as_it_was(taken, begun, part):
    attention = taken.MultiHeadAttention(8, 2, qk_norm=nn.RMSNorm)
    x, cache = torch.randn(2, 4, 8), taken.Cache(4)
    with torch.no_grad():
        if begun:
            attention(x[:, :begun], causal=True, cache=cache)
        before = copy.copy(vars(cache)) | {
            "k": cache.k[:, :, :begun].clone() if begun else None
        }

        def fail(*_):
            raise MemoryError

        hook = getattr(attention, part).register_forward_hook(fail)
        with pytest.raises(MemoryError):
            attention(10 * x[:, begun:], causal=True, cache=cache)
        hook.remove()
        for name in ("length", "masked", "placed", "layer"):
            assert vars(cache)[name] == before[name]
        y = attention(x[:, begun:], causal=True, cache=cache)
        torch.testing.assert_close(y, attention(x, causal=True)[:, begun:])


@pytest.mark.parametrize("learns", ["W_K", "W_V"])
def test_a_cache_keeps_no_graph_of_keys_nor_of_values(taken, learns):
    attention = taken.MultiHeadAttention(8, 2).requires_grad_(False)
    getattr(attention, learns).requires_grad_(True)
    with pytest.raises(ValueError, match="no_grad"):
        attention(torch.randn(1, 1, 8), cache=taken.Cache(2))


def test_tokens_can_be_taken_back(taken):
    attention, cache, x = taken.MultiHeadAttention(8, 2), taken.Cache(5), torch.randn(1, 5, 8)
    with torch.no_grad():
        attention(torch.cat([x[:, :3], 9 * x[:, 3:]], dim=1), causal=True, cache=cache)
        cache.length = 3
        y = attention(x[:, 3:], causal=True, cache=cache)
        torch.testing.assert_close(y, attention(x, causal=True)[:, 3:])


def test_dropout_is_for_training(taken):
    attention, x = taken.MultiHeadAttention(8, 2, dropout=0.5), torch.randn(1, 4, 8)
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_what_would_run_and_be_wrong_is_refused(taken):
    Attention, Cache = taken.MultiHeadAttention, taken.Cache
    attention, x = Attention(8, 4), torch.randn(4, 4, 8)
    window, rotary = Attention(8, 4, window=2), Attention(8, 4, rope_base=10.0)
    boolean = torch.ones(4, 4, dtype=torch.bool)
    at, one = torch.arange(4), x[:, :1]
    cases = [
        (ValueError, r"\(4, 8\).*x\[None\]", lambda: attention(x[0])),
        (ValueError, r"context has the shape", lambda: attention(x, x[0])),
        (ValueError, r"context has the shape \(2", lambda: attention(x, x[:2])),
        (TypeError, "float32; make it boolean", lambda: attention(x, mask=torch.ones(4, 4))),
        (ValueError, r"\(batch, key\) mask\[:, None", lambda: attention(x, mask=boolean)),
        (ValueError, r"\(4, 4, 4\); it", lambda: attention(x, mask=boolean.expand(4, 4, 4))),
        (ValueError, "all but", lambda: attention(x, mask=boolean[None, None, :, :1])),
        (ValueError, "all but", lambda: attention(x, mask=boolean[:3, None, None])),
        (ValueError, "need one text", lambda: attention(x, x[:, :2], causal=True)),
        (ValueError, "need one text", lambda: attention(one, x, cache=Cache(4))),
        (ValueError, "need one text", lambda: rotary(x, x)),
        (ValueError, "4 tokens at once", lambda: attention(x, cache=Cache(4))),
        (ValueError, "window=2 looks back", lambda: window(x)),
        (ValueError, "without rope_base", lambda: attention(x, positions=at)),
        (ValueError, r"\(3,\), not \(4,\)", lambda: rotary(x, positions=at[:3])),
        (ValueError, "5 tokens do not fit", lambda: step(Cache(4), attention, x, one)),
        (
            ValueError,
            "another layer",
            lambda: step(Cache(5), attention, x, one, Attention(8, 4)),
        ),
        (ValueError, "take a new Cache", lambda: step(Cache(5), attention, x, one[:2])),
        (ValueError, "no_grad", lambda: attention(x, causal=True, cache=Cache(4))),
        (ValueError, "n_heads=3 does not divide 8", lambda: Attention(8, 3)),
        (ValueError, "n_kv_heads=3", lambda: Attention(8, 4, 3)),
        (ValueError, "n_heads=0", lambda: Attention(8, 0)),
        (ValueError, "d_head=3 is odd", lambda: Attention(8, 4, d_head=3, rope_base=10.0)),
        (ValueError, "window=0", lambda: Attention(8, 4, window=0)),
        (ValueError, "dropout=1.5", lambda: Attention(8, 4, dropout=1.5)),
    ]
    for kind, says, call in cases:
        with pytest.raises(kind, match=says):
            call()


@torch.no_grad()
def step(cache, attention, x, one, other=None, **first):
    attention(x, causal=True, cache=cache, **first)
    (other or attention)(one, cache=cache)


def test_a_step_behind_a_mask_or_positions_needs_them_too(taken):
    x = torch.randn(2, 3, 8)
    keys, cache = taken.padding_mask(torch.tensor([3, 1]), 3), taken.Cache
    plain = taken.MultiHeadAttention(8, 4)
    rotary = taken.MultiHeadAttention(8, 4, rope_base=10.0)
    window = taken.MultiHeadAttention(8, 4, window=2)
    with pytest.raises(ValueError, match="hid keys"):
        step(cache(4), plain, x, x[:, :1], mask=keys)
    with pytest.raises(ValueError, match="pass positions"):
        step(cache(4), rotary, x, x[:, :1], positions=torch.arange(5, 8))
    with pytest.raises(ValueError, match="counts padding"):
        step(cache(4), window, x, x[:, :1], mask=keys)
    used = cache(4)
    with torch.no_grad():
        rotary(x, mask=keys, causal=True, cache=used)
        for mask in (keys, torch.ones(2, 1, 1, 4, dtype=torch.bool)):
            with pytest.raises(ValueError, match=r"has to be|pass positions"):
                rotary(x[:, :1], mask=mask, cache=used)
    assert used.length == 3


def test_what_its_page_shows_runs(taken, monkeypatch):
    monkeypatch.setitem(sys.modules, "attention", taken)
    page = (ROOT / "book" / "one_file.md").read_text(encoding="utf-8")
    x = torch.randn(2, 4, 512)
    given = {"x": x, "context": x[:, :3], "prompt": x, "token": x[:, :1]}
    code = page.partition("```python\n")[2].partition("```")[0]
    exec(code, given | {"lengths": torch.tensor([4, 2])})
