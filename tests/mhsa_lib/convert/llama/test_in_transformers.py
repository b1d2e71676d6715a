"""Ours in every layer of a model of transformers: it writes the same text, cached or not."""

import copy
from functools import partial

import pytest
import torch
import transformers

from mhsa_lib import convert, edit, kv_cache, trace
from mhsa_lib.convert.in_transformers import InTransformers
from mhsa_lib.convert.prune import prune_heads
from mhsa_lib.rope.rotary import HALVES, Rotary
from mhsa_lib.variants import GroupedQueryAttention, LatentAttention
from mhsa_lib.variants.gated import GatedAttention
from tests.helpers.drawn import filled
from tests.mhsa_lib.convert.llama.layers import KINDS, each

SIZES = {
    "vocab_size": 31,
    "hidden_size": 24,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
LENGTHS = [7, 4]


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def model(kind="llama", **options):
    name, config = KINDS[kind]
    if kind in ("gemma2", "gemma3", "gpt_oss"):
        options = {"attn_implementation": "eager", "sliding_window": 5} | options
    if kind in ("gemma", "gemma2", "gemma3", "qwen3", "gpt_oss"):
        options = {"head_dim": 6} | options
    if kind == "gpt_oss":
        options = {"num_local_experts": 2, "num_experts_per_tok": 1} | options
    made = getattr(transformers, config)(**SIZES | options)
    return filled(getattr(transformers, f"{name}ForCausalLM")(made), std=0.3).eval()


def padded():
    """Two texts, the shorter one with padding on the left, and which tokens are real."""
    real = torch.arange(max(LENGTHS)) >= max(LENGTHS) - torch.tensor(LENGTHS)[:, None]
    ids = torch.randint(2, SIZES["vocab_size"], real.shape)
    return {"input_ids": ids.where(real, 0), "attention_mask": real.long()}


@each
@pytest.mark.parametrize("use_cache", [True, False])
def test_the_model_writes_the_same_text(kind, use_cache):
    theirs, given = model(kind), padded()
    ours = copy.deepcopy(theirs)
    convert.replace_attentions(ours)
    options = {"max_new_tokens": 8, "do_sample": False, "use_cache": use_cache}
    found = ours.generate(**given, **options, return_dict_in_generate=True, output_logits=True)
    expected = theirs.generate(
        **given, **options, return_dict_in_generate=True, output_logits=True
    )
    assert torch.equal(found.sequences, expected.sequences)
    logits, wanted = (torch.stack(each.logits) for each in (found, expected))
    close(logits, wanted)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize(
    "options", [{"num_beams": 3}, {"cache_implementation": "static"}, {}], ids=str
)
@pytest.mark.parametrize("is_padded", [True, False])
def test_beams_and_caches_of_every_kind_are_the_models_own(implementation, options, is_padded):
    theirs, given = model(attn_implementation=implementation), padded()
    if not is_padded:
        given["attention_mask"] = torch.ones_like(given["attention_mask"])
    ours = copy.deepcopy(theirs)
    convert.replace_attentions(ours)
    options = {**given, **options, "max_new_tokens": 8, "do_sample": False}
    assert torch.equal(ours.generate(**options), theirs.generate(**options))


def test_several_tokens_may_follow_what_is_cached():
    theirs, ids = model(), padded()["input_ids"]
    ours, cache = copy.deepcopy(theirs), transformers.DynamicCache()
    convert.replace_attentions(ours)
    parts = [ours(part, past_key_values=cache).logits for part in ids.split([3, 1, 3], dim=1)]
    close(torch.cat(parts, dim=1), theirs(ids).logits)


def test_it_learns_as_theirs_does_and_may_be_checkpointed():
    theirs, given = model(), padded()
    ours = copy.deepcopy(theirs)
    replaced = convert.replace_attentions(ours)
    ours.activation_checkpointing_enable()
    for each_model in (ours.train(), theirs.train()):
        each_model(**given, labels=given["input_ids"]).loss.backward()
    for path, attention in replaced.items():
        source = theirs.get_submodule(path)
        torch.testing.assert_close(attention.W_O.weight.grad, source.o_proj.weight.grad)
        torch.testing.assert_close(attention.project.W_K.weight.grad, source.k_proj.weight.grad)


@pytest.mark.nohook  # the compiler does not read what the hook puts around a function
def test_it_compiles_into_one_graph():
    theirs, given = model(), padded()
    ours = copy.deepcopy(theirs)
    convert.replace_attentions(ours)
    program = torch.compile(ours, backend="eager", fullgraph=True)
    found, expected = (m(**given, use_cache=False).logits for m in (program, theirs))
    real = given["attention_mask"].bool()
    close(found[real], expected[real])


def test_a_trace_sees_what_the_cache_holds_and_an_edit_acts():
    ours, given = model(), padded()
    first, second = convert.replace_attentions(ours).values()
    before = ours(**given).logits
    with trace(second) as wires:
        ours.generate(**given, max_new_tokens=3, do_sample=False)
    n = max(LENGTHS) + 2
    assert wires["weights"].shape == (2, 4, 1, n)
    assert wires["k_rotated"].shape == (2, 2, n, 6)
    assert (wires["weights"][1, :, :, : n - 6] == 0).all()  # padding on the left
    with edit(first, "y", torch.zeros_like):
        changed = ours(**given).logits
    assert (changed - before).abs().max() > 1e-2
    assert torch.equal(ours(**given).logits, before)


def test_who_listens_cannot_change_the_cache_in_place():
    ours, ids = model(), padded()["input_ids"]
    _, last = convert.replace_attentions(ours).values()
    kept, cache = transformers.DynamicCache(), transformers.DynamicCache()
    ours(ids, past_key_values=kept)
    with edit(last, "k_rotated", lambda k: k.zero_()):
        ours(ids, past_key_values=cache)
    assert torch.equal(cache.layers[1].keys, kept.layers[1].keys)


def test_a_pruned_attention_may_take_the_place_of_the_whole():
    """A head whose z is zero adds nothing: so the model with it edited is the oracle."""
    whole, given = model(), padded()
    pruned = copy.deepcopy(whole)
    attention = [*convert.replace_attentions(whole).values()][1]
    convert.replace_attentions(pruned)
    place = pruned.get_submodule("model.layers.1.self_attn")
    place.attention = prune_heads(place.attention, [0, 1])
    with edit(attention, "z", lambda z: z * torch.tensor([1.0, 1, 0, 0])[:, None, None]):
        expected = whole.generate(**given, max_new_tokens=8, do_sample=False)
    assert torch.equal(pruned.generate(**given, max_new_tokens=8, do_sample=False), expected)


def test_what_was_edited_is_restored_and_is_theirs_again():
    theirs, given = model(), padded()
    names = [*theirs.state_dict()]
    attention, _ = convert.replace_attentions(theirs).values()
    attention.project.W_K.requires_grad_(False)
    with torch.no_grad():
        attention.W_O.weight *= 0.5
    expected = theirs(**given).logits
    convert.restore_attentions(theirs)
    assert [*theirs.state_dict()] == names
    assert not any(isinstance(m, InTransformers) for m in theirs.modules())
    restored = theirs.model.layers[0].self_attn
    assert not restored.training
    assert not restored.k_proj.weight.requires_grad
    real = given["attention_mask"].bool()
    close(theirs(**given).logits[real], expected[real])


def test_latent_attention_keeps_its_keys_and_values_in_their_cache():
    """Positions reach both stages that rotate."""
    whole, given = model(), padded()
    options = {**given, "max_new_tokens": 8, "do_sample": False}
    rotary = partial(Rotary, pairing=HALVES)
    convert.replace_attentions(
        whole, lambda _: filled(LatentAttention(24, 4, 6, d_rope=2, rotary=rotary))
    )
    cached, again = whole.generate(**options), whole.generate(**options, use_cache=False)
    assert torch.equal(cached, again)


# --- what is refused --------------------------------------------------------------------------


def test_nothing_is_replaced_or_restored_unless_all_can_be():
    whole = model()
    modules = dict(whole.named_modules())
    handle = whole.model.layers[1].self_attn.o_proj.register_forward_hook(print)
    with pytest.raises(ValueError, match="o_proj has a hook, print"):
        convert.replace_attentions(whole)
    assert dict(whole.named_modules()) == modules
    handle.remove()
    attentions = [*convert.replace_attentions(whole).values()]
    attentions[1].attend.scale = 1.0
    modules = dict(whole.named_modules())
    with pytest.raises(ValueError, match=r"attend.scale is 1.0, but 0\.40"):
        convert.restore_attentions(whole)
    assert dict(whole.named_modules()) == modules


def test_a_model_without_such_an_attention_is_refused():
    for call, words in (
        (
            convert.replace_attentions,
            "Linear has no attention to exchange; LlamaAttention, M",
        ),
        (
            convert.restore_attentions,
            "Linear has no attention to exchange; pass the model that",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            call(torch.nn.Linear(2, 2))


@pytest.mark.nohook
def test_masks_positions_and_caches_that_do_not_fit_are_refused():
    whole = model()
    path, _ = convert.replace_attentions(whole)
    place = whole.get_submodule(path)
    x, cache = torch.randn(1, 3, 24), transformers.DynamicCache()
    for mask, given in ((torch.ones(1, 3), r"\(1, 3\)"), ("block", "str")):
        words = rf'attention_mask is {given}, not \(batch, 1, query, key\); .*\("sdpa"\)'
        with pytest.raises(ValueError, match=words):
            place(x, attention_mask=mask)
    with pytest.raises(ValueError, match="position_ids is None, but tokens behind a cache"):
        place(x, past_key_values=cache)
    hooked = GroupedQueryAttention(24, 4, 2)
    hooked.register_forward_hook(lambda module, args, y: 0 * y)
    for attention in (GatedAttention(24, 4), hooked):
        place.attention = attention
        program = torch.compile(place, backend="eager", fullgraph=True)
        with pytest.raises(Exception, match="Attention has a forward or a hook of its own"):
            program(x)
    assert cache.get_seq_length() == 0


def test_a_cache_of_ours_around_a_cache_of_theirs_is_refused():
    whole, given = model(), padded()
    attention = [*convert.replace_attentions(whole).values()][1]
    with kv_cache(attention), pytest.raises(ValueError, match="wire 'k_rotated' came as"):
        whole.generate(**given, max_new_tokens=3, do_sample=False)
