"""What every attention of this library must pass.

A variant joins by an entry of ``VARIANTS`` in a file ``tests/variants/battery_<name>.py``.
"""

from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from mhsa_lib import FusedMultiHeadAttention, MultiHeadAttention, edit, masks, trace
from mhsa_lib.cache.positions import left_padded, right_padded
from mhsa_lib.cache.remembering import remember
from mhsa_lib.stages import Stage
from mhsa_lib.trace.difference import Difference
from tests.helpers.drawn import filled, rand
from tests.variants.entry import Variant


def _same(attention: MultiHeadAttention) -> MultiHeadAttention:
    copy = MultiHeadAttention(
        attention.d_model,
        attention.n_heads,
        d_head=attention.d_head,
        bias=attention.W_O.bias is not None,
    ).to(attention.W_O.weight)
    copy.load_state_dict(attention.state_dict())
    return copy


VARIANTS = [
    Variant("MultiHeadAttention", lambda: MultiHeadAttention(12, 3, bias=True), _same),
    Variant("free d_head", lambda: MultiHeadAttention(12, 3, d_head=5), _same),
    Variant(
        "FusedMultiHeadAttention",
        lambda: FusedMultiHeadAttention(12, 3, bias=True),
        FusedMultiHeadAttention.from_attention,
    ),
]
for file in sorted(Path(__file__).with_name("variants").glob("battery_*.py")):
    VARIANTS += import_module(f"tests.variants.{file.stem}").VARIANTS
STAGED = [variant for variant in VARIANTS if isinstance(variant.build(), Stage)]
every = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
staged = pytest.mark.parametrize("variant", STAGED, ids=lambda variant: variant.name)
unordered = pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if not v.positional], ids=lambda variant: variant.name
)


@pytest.fixture
def attention(variant):
    torch.manual_seed(0)
    return filled(variant.build().double().eval())


MASKS = {
    "none": None,
    "causal": masks.causal,
    "window": masks.sliding_window(2),
    "padding": masks.padding([6, 3]),
    "causal & key padding": masks.causal & masks.key_padding([6, 3]),
}


@every
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bias", [False, True])
def test_it_contains_multi_head_attention(variant, mask, bias):
    plain = MultiHeadAttention(12, 3, bias=bias).double()
    x = rand(2, 6, 12)
    found, expected = variant.is_mha(plain)(x, mask=MASKS[mask]), plain(x, mask=MASKS[mask])
    assert (found - expected).abs().max().item() <= 1e-10


@every
def test_it_takes_x_context_and_mask_with_any_leading_axes(variant, attention):
    for batch in ((), (2,), (2, 3)):
        x, context = rand(*batch, 4, 12), rand(*batch, 6, 12)
        assert attention(x).shape == (*batch, 4, 12)
        assert attention(x, context, masks.causal).shape == (*batch, 4, 12)
        assert attention(x, context=context, mask=torch.ones(4, 6).bool()).shape == x.shape


@every
def test_one_sequence_of_a_batch_is_a_pass_of_its_own(variant, attention):
    x = rand(2, 3, 6, 12)
    assert_close(attention(x, mask=masks.causal)[1, 2], attention(x[1, 2], mask=masks.causal))


@unordered
def test_permuting_the_tokens_permutes_the_outputs(variant, attention):
    x, order = rand(2, 6, 12), torch.randperm(6)
    assert_close(attention(x[:, order]), attention(x)[:, order])


@every
def test_the_future_cannot_change_the_past(variant, attention):
    x = rand(2, 6, 12)
    for cut in range(6):
        changed = x.clone()
        changed[:, cut:] += 1.0
        before, after = attention(x, mask=masks.causal), attention(changed, mask=masks.causal)
        assert_close(before[:, :cut], after[:, :cut])
        assert not torch.allclose(before[:, cut], after[:, cut])


@every
@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_the_last_queries_alone_see_what_they_see_in_the_whole(variant, attention, chunk):
    x = rand(2, 6, 12)
    for mask in (masks.causal, masks.sliding_window(3), masks.prefix(2)):
        whole = attention(x, mask=mask)
        assert_close(attention(x[:, -chunk:], x, mask=mask), whole[:, -chunk:])


@every
def test_padding_has_no_influence_and_gets_the_output_bias(variant, attention):
    x = rand(2, 6, 12)
    y = attention(x, mask=masks.padding([6, 3]))
    assert_close(y[1, :3], attention(x[1, :3]))
    bias = 0.0 if attention.W_O.bias is None else attention.W_O.bias
    assert_close(y[1, 3:], torch.zeros(3, 12).double() + bias)


@every
def test_gradients_are_finite_when_a_query_sees_nothing(variant, attention):
    x = rand(2, 6, 12).requires_grad_()
    attention(x, mask=masks.padding([6, 0])).square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


@every
def test_every_parameter_takes_part(variant, attention):
    attention(rand(2, 6, 12)).square().sum().backward()
    for name, parameter in attention.named_parameters():
        if not name.endswith("W_K.bias"):  # shifts all scores of a query alike: no effect
            assert parameter.grad.abs().sum() > 1e-6, name


@every
def test_saving_and_loading_keeps_the_function(variant, attention):
    other, x = variant.build().double().eval(), rand(2, 6, 12)
    other.load_state_dict(attention.state_dict())
    assert torch.equal(other(x), attention(x))


@every
def test_a_mask_that_is_not_boolean_is_refused(variant, attention):
    with pytest.raises(TypeError, match="bool"):
        attention(rand(2, 6, 12), mask=torch.ones(6, 6))


@staged
def test_tracing_changes_nothing_and_leaves_nothing(variant, attention):
    x = rand(2, 6, 12)
    before = attention(x)
    with trace(attention):
        assert torch.equal(attention(x), before)
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in attention.modules())


@staged
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_one_set_of_axis_sizes_explains_every_wire(variant, attention, batch):
    with trace(attention) as wires:
        attention(rand(*batch, 4, 12), rand(*batch, 6, 12))
    sizes = wires.sizes
    assert (sizes["query"], sizes["key"], sizes["d_model"]) == (4, 6, 12)
    for name, step in wires.steps.items():
        flat = [
            n
            for size in step.axes.values()
            for n in (size if isinstance(size, tuple) else [size])
        ]
        assert tuple(flat) == wires[name].shape
        assert all(sizes[axis] == size for axis, size in step.axes.items())


@staged
def test_weights_are_distributions_also_in_training(variant, attention):
    attention.attend.dropout.p = 0.5
    with trace(attention.train()) as wires:
        attention(rand(2, 6, 12))
    sums = wires["weights"].sum(dim=-1)
    if variant.distributes:
        assert_close(sums, torch.ones_like(sums))
    else:
        assert ((sums > 0) & (sums < 1)).all()


@staged
def test_every_wire_matters(variant, attention):
    x = rand(2, 6, 12)
    before = attention(x)
    with trace(attention) as wires:
        attention(x)
    for wire in list(wires):
        with edit(attention, wire, torch.zeros_like):
            assert not torch.allclose(attention(x), before), wire


# --- decoding --------------------------------------------------------------------------------

PARTS = {(6,): (2,), (1,) * 6: (2,), (3, 1, 2): (), (1, 5): (2, 3)}
"""Into which parts a text is cut, and the leading axes that it has then."""


@staged
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_any_cut_into_calls_gives_the_numbers_of_one_pass(variant, attention, parts):
    x = rand(*PARTS[parts], 6, 12)
    for mask in (masks.causal, masks.sliding_window(3)):
        with remember(attention):
            found = [attention(part, mask=mask) for part in x.split(parts, dim=-2)]
        assert_close(torch.cat(found, dim=-2), attention(x, mask=mask))


@staged
@pytest.mark.parametrize("padded", [left_padded, right_padded])
def test_sequences_of_different_lengths_decode_as_if_alone(variant, attention, padded):
    lengths, prompts, later = (4, 2), [rand(4, 12), rand(2, 12)], rand(2, 3, 12)
    positions, x = padded(lengths), rand(2, 4, 12)
    for item, prompt in enumerate(prompts):
        x[item, positions[item] >= 0] = prompt
    with remember(attention) as cache:
        cache.announce(positions)
        y = attention(x, mask=masks.causal)
        steps = [attention(later[:, i : i + 1], mask=masks.causal) for i in range(3)]
    for item, prompt in enumerate(prompts):
        alone = attention(torch.cat([prompt, later[item]]), mask=masks.causal)
        real = y[item, positions[item] >= 0]
        assert_close(torch.cat([real, torch.cat(steps, dim=1)[item]]), alone)


@staged
def test_a_window_forgets_what_it_cannot_reach(variant, attention):
    x, mask = rand(2, 9, 12), masks.sliding_window(3)
    with remember(attention, window=3) as cache:
        y = [attention(part, mask=mask) for part in x.split([4, 1, 2, 1, 1], dim=1)]
    assert_close(torch.cat(y, dim=1), attention(x, mask=mask))
    assert cache.n_tokens == 2  # the token that comes next is the third


# --- precision, compilation, source ----------------------------------------------------------


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_stays_close(variant, attention, dtype):
    x = rand(2, 6, 12)
    expected = attention(x, mask=masks.causal)
    found = attention.to(dtype)(x.to(dtype), mask=masks.causal)
    assert found.dtype is dtype
    room = 64 * torch.finfo(dtype).eps * expected.abs().max().item()
    assert (found.double() - expected).abs().max().item() < room


# Compiling takes seconds: every class with every test, its other settings with `make slow`.
COMPILED = [
    pytest.param(v, marks=[pytest.mark.slow] * (" " in v.name), id=v.name) for v in VARIANTS
]


@pytest.mark.parametrize("variant", COMPILED)
@pytest.mark.nohook
def test_it_compiles_in_one_graph(variant, attention):
    x = rand(2, 6, 12)
    torch.compiler.reset()
    compiled = torch.compile(attention, fullgraph=True, backend="eager")
    assert_close(compiled(x, mask=masks.causal), attention(x, mask=masks.causal))


@staged
def test_at_most_one_line_of_the_forward_pass_differs(variant, attention):
    changed = Difference(attention).changed_lines
    assert len(changed) <= 1
    assert all("# <- the idea" in line for line in changed)
