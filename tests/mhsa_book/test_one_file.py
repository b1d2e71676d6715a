"""The file that readers take away, tried as it is downloaded: without this library."""

import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch

from mhsa_book import one_file
from mhsa_book.equivalence import comparison
from mhsa_book.equivalence.own import SIZES, own
from mhsa_lib import masks, variants

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
    assert text.count("\n") <= 200
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
    mask = torch.tensor([[False, False, False], [True, False, False], [True, True, True]])
    y = attention(x, mask=mask)
    assert not y[0, 0].any()
    assert not attention.weights(x, mask=mask)[0, :, 0].any()
    y.sum().backward()
    assert x.grad.isfinite().all()


def test_a_prompt_and_then_tokens_are_one_causal_pass(taken):
    attention, x = taken.MultiHeadAttention(8, 4, 2), torch.randn(2, 6, 8)
    cache = taken.Cache()
    first = attention(x[:, :3], cache=cache, causal=True)
    rest = [attention(x[:, i : i + 1], cache=cache) for i in range(3, 6)]
    whole = attention(x, causal=True)
    torch.testing.assert_close(torch.cat([first, *rest], dim=1), whole)
    assert cache.k.shape == (2, 2, 6, 2)


def test_dropout_is_for_training(taken):
    attention, x = taken.MultiHeadAttention(8, 2, dropout=0.5), torch.randn(1, 4, 8)
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_what_would_run_and_be_wrong_is_refused(taken):
    attention, x = taken.MultiHeadAttention(8, 2), torch.randn(2, 3, 8)
    cases = [
        (ValueError, r"\(3, 8\).*x\[None\]", lambda: attention(x[0])),
        (ValueError, r"context has the shape", lambda: attention(x, x[0])),
        (TypeError, "float32; make it boolean", lambda: attention(x, mask=torch.ones(3, 3))),
        (ValueError, "3 tokens at once", lambda: attention(x, cache=taken.Cache())),
        (ValueError, "leave out", lambda: attention(x[:, :1], x, cache=taken.Cache())),
        (ValueError, "n_heads=3 does not divide 8", lambda: taken.MultiHeadAttention(8, 3)),
        (ValueError, "n_kv_heads=3", lambda: taken.MultiHeadAttention(8, 4, 3)),
        (ValueError, "n_heads=0", lambda: taken.MultiHeadAttention(8, 0)),
    ]
    for kind, says, call in cases:
        with pytest.raises(kind, match=says):
            call()
