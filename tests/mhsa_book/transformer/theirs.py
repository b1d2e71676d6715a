"""PyTorch's layers with drawn weights, and ours with the same."""

import torch
from torch import nn

from mhsa_book.transformer import DecoderLayer, EncoderLayer, FeedForward
from mhsa_lib.convert import from_torch
from tests.helpers.drawn import filled

SIZES = {"d_model": 12, "nhead": 3, "dim_feedforward": 20, "dropout": 0.0}
SIZES |= {"batch_first": True, "norm_first": True, "dtype": torch.float64}


def feed_forward(theirs) -> FeedForward:
    ours = FeedForward(12, 20).double()
    ours.W_1.load_state_dict(theirs.linear1.state_dict())
    ours.W_2.load_state_dict(theirs.linear2.state_dict())
    return ours


def copied(ours: nn.Module, theirs: nn.Module, *norms: str) -> nn.Module:
    """Their norms are numbered in the order of the parts, ours named after them."""
    for number, name in enumerate(norms, start=1):
        norm = getattr(ours, f"{name}_norm")
        norm.load_state_dict(getattr(theirs, f"norm{number}").state_dict())
    return ours


def encoder_layers() -> tuple[nn.Module, EncoderLayer]:
    """In training mode, where theirs takes no shortcut."""
    theirs = filled(nn.TransformerEncoderLayer(**SIZES))
    ours = EncoderLayer(from_torch(theirs.self_attn), feed_forward(theirs)).double()
    return theirs, copied(ours, theirs, "self_attention", "feed_forward")


def decoder_layers() -> tuple[nn.Module, DecoderLayer]:
    theirs = filled(nn.TransformerDecoderLayer(**SIZES))
    attentions = from_torch(theirs.self_attn), from_torch(theirs.multihead_attn)
    ours = DecoderLayer(*attentions, feed_forward(theirs)).double()
    return theirs, copied(ours, theirs, "self_attention", "cross_attention", "feed_forward")
