"""The whole model is PyTorch's two stacks, with a norm behind each, between tables."""

import torch
from torch import nn
from torch.testing import assert_close

from mhsa_book.transformer import PAD
from mhsa_lib import masks
from mhsa_lib.convert import from_torch
from tests.helpers.drawn import filled
from tests.mhsa_book.transformer.small import given, small, sources
from tests.mhsa_book.transformer.theirs import SIZES, copied, feed_forward


def stacks() -> tuple[nn.TransformerEncoder, nn.TransformerDecoder]:
    layers = nn.TransformerEncoderLayer(**SIZES), nn.TransformerDecoderLayer(**SIZES)
    norms = [nn.LayerNorm(12, dtype=torch.float64) for _ in layers]
    encoder = nn.TransformerEncoder(layers[0], 2, norms[0], enable_nested_tensor=False)
    return filled(encoder), filled(nn.TransformerDecoder(layers[1], 2, norms[1]))


def test_the_model_is_that_of_pytorch_between_embeddings_and_unembedding():
    (encoder, decoder), ours = stacks(), small()
    for one, other in zip(encoder.layers, ours.encoder, strict=True):
        other.self_attention = from_torch(one.self_attn)
        other.feed_forward = feed_forward(one)
        copied(other, one, "self_attention", "feed_forward")
    for one, other in zip(decoder.layers, ours.decoder, strict=True):
        other.self_attention = from_torch(one.self_attn)
        other.cross_attention = from_torch(one.multihead_attn)
        other.feed_forward = feed_forward(one)
        copied(other, one, "self_attention", "cross_attention", "feed_forward")
    ours.encoder_norm.load_state_dict(encoder.norm.state_dict())
    ours.decoder_norm.load_state_dict(decoder.norm.state_dict())

    source, target = sources(), given()
    memory = encoder(ours.embed_source(source), src_key_padding_mask=source == PAD)
    out = decoder(
        ours.embed_target(target),
        memory,
        tgt_mask=~masks.causal.dense(6, 6),
        memory_key_padding_mask=source == PAD,
    )
    assert_close(ours(source, target), out @ ours.unembed.weight.T, rtol=0, atol=1e-10)


def test_an_embedding_is_a_word_plus_a_place():
    embed = small().embed_source
    rows = embed(torch.tensor([[5, 3, 5]]))[0]
    assert_close(rows[2] - rows[0], embed.positions.weight[2] - embed.positions.weight[0])
    assert_close(rows[1], embed.tokens.weight[3] + embed.positions.weight[1])
    assert_close(embed(torch.tensor([[3]]), first=1)[0, 0], rows[1])
