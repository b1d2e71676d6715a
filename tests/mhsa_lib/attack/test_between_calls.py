"""What happens between calls: weights that learn, tensors changed in place, other masks, tasks.

Hypothesis draws a story of events, and a definition in plain products follows it.
"""

import itertools
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import linear

from mhsa_lib import FusedMultiHeadAttention, KVCache, convert, kv_cache, masks
from tests.helpers.drawn import filled, rand

pytestmark = [
    pytest.mark.nohook,
    pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning"),
    # Dynamo asks for gradients of what crosses a break of its graph.
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning"),
]
MANY = settings().max_examples > 25
SIZES = {"n_heads": 4, "n_kv_heads": 2}


def attention() -> FusedMultiHeadAttention:
    return filled(FusedMultiHeadAttention(12, **SIZES, bias=True).double())


def rows(module, x: Tensor) -> tuple[Tensor, ...]:
    """q, k and v of every head, from the packed weights as they are now."""
    heads = linear(x, module.W_QKV.weight, module.W_QKV.bias)
    q, k, v = heads.detach().split([12, 6, 6], dim=-1)
    return tuple(t.unflatten(-1, (-1, 3)).transpose(1, 2).clone() for t in (q, k, v))


def defined(module, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor) -> Tensor:
    """Attention one head at a time; a query that may attend to nothing gets zeros."""
    z = []
    for head in range(4):
        scores = q[:, head] @ k[:, head // 2].mT / 3**0.5
        mine = allowed[:, min(head, allowed.shape[1] - 1)]
        e = (scores - scores.amax(dim=-1, keepdim=True)).exp() * mine
        z.append(e / e.sum(dim=-1, keepdim=True).clamp(min=1e-300) @ v[:, head // 2])
    return linear(torch.cat(z, dim=-1), module.W_O.weight, module.W_O.bias).detach()


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def causal(n: int, m: int) -> Tensor:
    return torch.ones(n, m).tril(m - n).bool()[None, None]


# --- a story with a cache --------------------------------------------------------------------


def learn(module, kind: str) -> None:
    """Change all weights as programs do."""
    if kind == "load":
        module.load_state_dict({k: 0.9 * v for k, v in module.state_dict().items()})
    elif kind == "assign":
        state = {k: (0.9 * v).clone() for k, v in module.state_dict().items()}
        module.load_state_dict(state, assign=True)
    elif kind == "in place":
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.mul_(0.9)
    else:
        fused = {"fused": True} if kind == "fused optimizer" else {}
        optimizer = torch.optim.Adam(module.parameters(), lr=0.05, **fused)
        module(rand(1, 3, 12)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()


EVENTS = st.one_of(
    st.tuples(st.just("step"), st.integers(1, 4)),
    st.tuples(
        st.just("learn"),
        st.sampled_from(["load", "assign", "in place", "optimizer", "fused optimizer"]),
    ),
    st.tuples(st.just("crop"), st.integers(0, 5)),
    st.tuples(st.just("reorder"), st.lists(st.integers(0, 1), min_size=2, max_size=2)),
    st.tuples(st.just("fail"), st.integers(1, 4)),
    st.tuples(st.just("reset"), st.none()),
)


@given(
    st.lists(EVENTS, min_size=2, max_size=12),
    st.sampled_from([{}, {"max_length": 60}]),
    st.booleans(),
)
def test_a_cache_keeps_what_was_made_and_uses_the_weights_of_now(events, sizes, staged):
    torch.manual_seed(0)
    module = attention()
    cache, k_all, v_all = KVCache(**sizes), torch.empty(2, 2, 0, 3), torch.empty(2, 2, 0, 3)
    k_all, v_all = k_all.double(), v_all.double()
    for event, given_ in events:
        if event == "learn":
            learn(module, given_)
        elif event == "crop":
            cache.crop(given_)
            k_all, v_all = k_all[:, :, :given_], v_all[:, :, :given_]
        elif event == "reset":
            cache.reset()
            k_all, v_all = k_all[:, :, :0], v_all[:, :, :0]
        elif event == "reorder" and k_all.shape[2]:
            cache.reorder(given_)
            k_all, v_all = k_all[given_], v_all[given_]
        elif event in ("step", "fail"):
            x = rand(2, given_, 12)
            if event == "fail":
                hook = module.W_O.register_forward_pre_hook(lambda *_: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    module(x * float("nan"), mask=masks.causal, cache=cache)
                hook.remove()
                continue
            q, k, v = rows(module, x)
            k_all, v_all = torch.cat([k_all, k], dim=2), torch.cat([v_all, v], dim=2)
            expected = defined(module, q, k_all, v_all, causal(given_, k_all.shape[2]))
            if staged:  # five stages with the same weights fill the same cache
                with (
                    torch.no_grad(),
                    kv_cache(stages := module.to_attention(), cache=taken(cache)),
                ):
                    y = stages(x, mask=masks.causal)
                    close(y, expected)
            y = module(x, mask=masks.causal, cache=cache)
            close(y, expected)
            x.fill_(7)  # whoever owns these may change them
            y.fill_(7)


def taken(cache: KVCache) -> KVCache:
    """Another cache with the same keys and values, under the names of the five stages."""
    copy = KVCache(cache.max_length)
    if cache.n_tokens:
        wires = cache.wires
        call = copy.begin((2,), cache.n_tokens, wires["k"].device)
        for name in ("k", "v"):
            call.append(f"{name}_heads", wires[name].clone())
        call.commit()
    return copy


# --- one compiled program --------------------------------------------------------------------

IDS = torch.tensor([[0] * 4 + [1] * 36, [3] * 11 + [-1] * 29])
MASKS = {
    "none": (None, lambda q, k: q >= 0),
    "causal": (masks.causal, lambda q, k: k <= q),
    "window": (masks.sliding_window(3), lambda q, k: (k <= q) & (q - k < 3)),
    "prefix": (masks.prefix(2), lambda q, k: (k <= q) | (k < 2)),
    "padding": (masks.padding([5, 1]), "padding"),
    "causal & keys": (masks.causal & masks.key_padding([2, 9]), "keys"),
    "documents": (masks.causal & masks.documents(IDS), "documents"),
    "inverted": (~masks.causal, lambda q, k: k > q),
}


def allowed(name: str, n: int) -> Tensor:
    rule, p = MASKS[name][1], torch.arange(n)
    q, k = p[:, None], p[None]
    if callable(rule):
        return (rule(q, k) & (k >= 0))[None, None]
    if rule == "documents":
        ids = IDS[:, :n]
        same = (ids[:, :, None] == ids[:, None]) & (ids >= 0)[:, :, None]
        return (same & (k <= q))[:, None]
    ends = torch.tensor([5, 1] if rule == "padding" else [2, 9])[:, None, None]
    inside = (k < ends) & (q < ends) if rule == "padding" else (k < ends) & (k <= q)
    return inside[:, None]


@settings(max_examples=60 if MANY else 3)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(MASKS)), st.integers(1, 40)), min_size=2, max_size=5
    ),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["eager", "aot_eager"]),
)
def test_one_program_takes_any_masks_and_lengths(calls, whole, grad, backend):
    torch.manual_seed(0)
    torch.compiler.reset()
    module = attention()
    program = torch.compile(module, backend=backend, dynamic=True, fullgraph=whole)
    for name, n in calls:
        x = rand(2, n, 12)
        with torch.set_grad_enabled(grad):
            y = program(x, mask=MASKS[name][0])
        close(y.detach(), defined(module, *rows(module, x), allowed(name, n)))
        learn(module, "in place")


PAIRS = [*itertools.product(sorted(MASKS), repeat=2)]


@pytest.mark.parametrize("pair", PAIRS if MANY else [("prefix", "window")], ids="-".join)
@settings(max_examples=1)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 40)), min_size=2, max_size=6),
    st.booleans(),
)
def test_one_program_takes_every_pair_of_masks(pair, calls, grad):
    """Both of a pair are asked for, in turns that Hypothesis draws, each with any length."""
    torch.manual_seed(0)
    torch.compiler.reset()
    module = attention()
    program = torch.compile(module, backend="aot_eager", dynamic=True)
    for which, n in [(0, 7), (1, 7), *calls]:
        x = rand(2, n, 12)
        with torch.set_grad_enabled(grad):
            y = program(x, mask=MASKS[pair[which]][0])
        close(y.detach(), defined(module, *rows(module, x), allowed(pair[which], n)))


# --- two tasks -------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 3)), min_size=2, max_size=10))
def test_two_texts_take_turns_at_one_attention(turns):
    torch.manual_seed(0)
    module, caches, texts = attention(), [KVCache(), KVCache(40)], [[], []]
    for which, n in turns:
        x = rand(2, n, 12)
        texts[which].append(x)
        y = module(x, mask=masks.causal, cache=caches[which])
        text = torch.cat(texts[which], dim=1)
        whole = defined(module, *rows(module, text), causal(text.shape[1], text.shape[1]))
        close(y, whole[:, -n:])


@settings(max_examples=40 if MANY else 5)
@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=6), min_size=2, max_size=4))
def test_threads_share_the_weights_and_nothing_else(steps):
    torch.manual_seed(0)
    module, wrong = attention(), []
    texts = [rand(2, sum(each), 12) for each in steps]
    start = threading.Barrier(len(steps))

    def read(text: Tensor, each: list[int]) -> None:
        try:
            cache = KVCache()
            start.wait()
            parts = [module(x, mask=masks.causal, cache=cache) for x in text.split(each, dim=1)]
            n = text.shape[1]
            close(torch.cat(parts, dim=1), defined(module, *rows(module, text), causal(n, n)))
        except BaseException as error:
            wrong.append(error)

    threads = [
        threading.Thread(target=read, args=pair) for pair in zip(texts, steps, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


# --- a language model ------------------------------------------------------------------------


@settings(max_examples=40 if MANY else 4)
@given(
    st.sampled_from([(1, 1), (2, 1), (4, 2), (6, 3)]),
    st.sampled_from([2, 4, 6]),
    st.integers(1, 3),
    st.integers(1, 12),
    st.booleans(),
    st.lists(st.integers(1, 12), min_size=0, max_size=2),
)
def test_a_llama_with_our_attentions_says_the_same(heads, d_head, n_layers, n, bias, cuts):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=17,
        hidden_size=12,
        intermediate_size=10,
        num_hidden_layers=n_layers,
        num_attention_heads=heads[0],
        num_key_value_heads=heads[1],
        head_dim=d_head,
        attention_bias=bias,
        rope_parameters={"rope_type": "default", "rope_theta": 50.0},
        attn_implementation="eager",
    )
    model = filled(transformers.LlamaForCausalLM(config), 0.3).eval()
    ids = torch.randint(17, (2, n))
    ours = [convert.from_llama(layer.self_attn) for layer in model.model.layers]

    def logits(part: Tensor) -> Tensor:
        x = model.model.embed_tokens(part)
        for layer, attend in zip(model.model.layers, ours, strict=True):
            x = x + attend(layer.input_layernorm(x), mask=masks.causal)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return model.lm_head(model.model.norm(x))

    with torch.no_grad():
        expected = model(ids).logits
        torch.testing.assert_close(logits(ids), expected, rtol=1e-4, atol=1e-4)
        ends = sorted({min(cut, n) for cut in cuts} | {n})
        with torch.no_grad():
            blocks = [kv_cache(attend) for attend in ours]
            for block in blocks:
                block.__enter__()
            try:
                parts, begin = [], 0
                for end in ends:
                    parts.append(logits(ids[:, begin:end]))
                    begin = end
            finally:
                for block in reversed(blocks):
                    block.__exit__(None, None, None)
        torch.testing.assert_close(torch.cat(parts, dim=1), expected, rtol=1e-4, atol=1e-4)
