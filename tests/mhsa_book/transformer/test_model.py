"""Nobody looks ahead, nobody looks at padding, and every attention can be named."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.transformer import BOS, PAD, EncoderDecoder, padded
from mhsa_lib import FusedMultiHeadAttention, MultiQueryAttention, edit, masks, trace
from tests.mhsa_book.transformer.small import N_SOURCE, N_TARGET, given, small, sources

PATHS = [f"encoder.{i}.self_attention" for i in range(2)]
PATHS += [f"decoder.{i}.{kind}_attention" for i in range(2) for kind in ("self", "cross")]


def leaks(model) -> list[tuple[int, int]]:
    """Pairs (query, later token): changing the token changes a bit of the query's logits."""
    source, target = sources()[:1], torch.tensor([[BOS, 5, 3, 4, 6]])
    before, found = model(source, target), []
    for later in range(1, 5):
        other = target.clone()
        other[0, later] = 7
        changed = (model(source, other) != before).any(dim=-1)[0, :later]
        found += [(query, later) for query in changed.nonzero().flatten().tolist()]
    return found


def test_no_word_depends_on_a_later_one():
    assert leaks(small()) == []


def test_a_planted_leak_is_found(monkeypatch):
    model = small()
    layer = model.decoder[1]
    forward = layer.forward
    monkeypatch.setattr(
        layer, "forward", lambda x, memory, mask, seen: forward(x, memory, None, seen)
    )
    assert len(leaks(model)) == 10


@pytest.mark.parametrize("kind", [None, FusedMultiHeadAttention, MultiQueryAttention])
def test_a_sentence_gets_in_a_batch_what_it_gets_alone(kind):
    model = small() if kind is None else small(attention=kind)
    source, target = sources(), given()
    together = model(source, target)
    for i, (n_source, n_target) in enumerate([(5, 4), (2, 6), (4, 2)]):
        alone = model(source[i : i + 1, :n_source], target[i : i + 1, :n_target])
        assert_close(together[i, :n_target], alone[0], rtol=0, atol=1e-12)


def test_what_stands_in_the_padding_matters_to_no_word():
    model = small()
    before, real = model(sources(), given()), given() != PAD
    with torch.no_grad():
        model.embed_source.tokens.weight[PAD] += 100
        model.embed_target.tokens.weight[PAD] += 100
    after = model(sources(), given())
    assert torch.equal(before[real], after[real])
    assert not torch.equal(before[~real], after[~real])  # a row of padding sees itself


@pytest.mark.parametrize("path", ["encoder.0.self_attention", "encoder.1.self_attention"])
def test_the_encoder_never_looks_at_padding(path):
    model = small()
    with trace(model.get_submodule(path)) as wires:
        model(sources(), given())
    weights, padding = wires["weights"], sources() == PAD
    assert weights.mT[padding[:, None].expand(-1, 3, -1)].eq(0).all()
    assert weights[..., :2].gt(0).all()


@pytest.mark.parametrize("layer", [0, 1])
def test_cross_attention_never_looks_at_padding(layer):
    model = small()
    with trace(model.decoder[layer].cross_attention) as wires:
        model(sources(), given())
    weights, padding = wires["weights"], sources() == PAD
    assert weights.shape == (3, 3, 6, 5)
    assert weights.mT[padding[:, None].expand(-1, 3, -1)].eq(0).all()
    assert_close(weights.sum(dim=-1), torch.ones(3, 3, 6).double())


@pytest.mark.parametrize("path", PATHS)
def test_every_attention_is_watched_and_changed_by_its_path(path):
    model = small()
    attention = model.get_submodule(path)
    before = model(sources(), given())
    with trace(attention) as wires:
        assert torch.equal(model(sources(), given()), before)
    n_query, n_key = (5 if "encoder" in path else 6), (6 if "decoder" in path else 5)
    n_key = 5 if "cross" in path else n_key
    assert wires["weights"].shape == (3, 3, n_query, n_key)
    with edit(attention, "z", torch.zeros_like):
        assert not torch.allclose(model(sources(), given()), before)


def test_a_trace_of_the_whole_model_names_its_six_attentions():
    model = small()
    with trace(model) as wires:
        model(sources(), given())
    assert sorted(wires) == sorted(PATHS)
    assert all(len(wires[path]["weights"]) == len(sources()) for path in PATHS)


def test_the_three_uses_have_three_masks():
    model, seen = small(), {}
    for path in PATHS:
        model.get_submodule(path).register_forward_pre_hook(
            lambda module, args, kwargs, path=path: seen.update({path: (args, kwargs)}),
            with_kwargs=True,
        )
    model(sources(), given())
    of_source = masks.key_padding([5, 2, 4])
    for path, (_, kwargs) in seen.items():
        assert kwargs["mask"] == (
            masks.causal if "decoder" in path and "self" in path else of_source
        )
    memory = model.encode(sources()).rows
    assert all(len(args) == 1 + ("cross" in path) for path, (args, _) in seen.items())
    assert all(torch.equal(seen[path][0][1], memory) for path in PATHS if "cross" in path)


def test_on_the_device_without_numbers_shapes_are_right():
    model = small().to("meta")
    source, target = sources().to("meta"), given().to("meta")
    assert model(source, target).shape == (3, 6, N_TARGET)
    rows, mask = model.encode(source)
    assert rows.shape == (3, 5, 12)
    assert mask is None


def test_a_sentence_needs_no_batch():
    model, source, target = small(), sources()[0], given()[0, :4]
    assert_close(model(source, target), model(source[None], target[None])[0])


def test_the_state_makes_the_same_model():
    torch.manual_seed(1)
    model, other = small(), small()
    assert not torch.equal(model(sources(), given()), other(sources(), given()))
    assert other.load_state_dict(model.state_dict()) == nn.Module().load_state_dict({})
    assert torch.equal(model(sources(), given()), other(sources(), given()))


def test_the_model_of_the_book_has_the_sizes_it_says():
    model = EncoderDecoder(N_SOURCE, N_TARGET, 16)
    assert [len(model.encoder), len(model.decoder)] == [2, 2]
    attention = model.decoder[0].cross_attention
    assert (attention.d_model, attention.n_heads) == (64, 4)
    assert model.encoder[0].feed_forward.W_1.weight.shape == (128, 64)
    tables = (N_SOURCE + N_TARGET + 2 * 16 + N_TARGET) * 64
    attentions, feed, norms = 6 * 4 * 64 * 64, 4 * (2 * 64 * 128 + 64 + 128), 12 * 128
    assert sum(p.numel() for p in model.parameters()) == tables + attentions + feed + norms


def test_positions_belong_to_their_language():
    model = small()
    source, target = torch.tensor([[5, 3]]), torch.tensor([[BOS, 5]])
    before = model(source, target)
    with torch.no_grad():
        model.embed_target.positions.weight[1, 0] += 1
    after = model(source, target)
    assert torch.equal(before[0, 0], after[0, 0])
    assert not torch.allclose(before[0, 1], after[0, 1])
    assert torch.equal(padded([[5, 3]]), source)


@pytest.mark.nohook
@pytest.mark.parametrize("strict", [False, True])
@torch.no_grad()
def test_an_exported_model_masks_the_padding_of_each_call(strict):
    model, target = small(), given()
    program = torch.export.export(model, (sources(), target), strict=strict).module()
    full = torch.randint(3, N_SOURCE, (3, 5))
    for source in (sources(), sources().flip(0), full):
        assert_close(program(source, target), model(source, target), rtol=0, atol=1e-12)
        # Each sentence alone, without its padding: no mask is needed.
        for found, sentence, words in zip(program(source, target), source, target, strict=True):
            n, alone = int((words != 0).sum()), sentence[sentence != 0][None]
            expected = model(alone, words[None, :n])[0]
            assert_close(found[:n], expected, rtol=0, atol=1e-12)
