"""A small language model with weights at random, and the same computed with plain tensors."""

import torch

from mhsa_book.models.byte_pairs import BytePairs, byte_letters
from mhsa_book.models.language_model import LanguageModel
from mhsa_book.transformer.decoder_only import DecoderOnly

LAYERS, HEADS, KV_HEADS, D_HEAD = 3, 4, 2, 8
BASE, EPS = 50.0, 1e-5


def small(seed: int = 1) -> LanguageModel:
    """Bytes in, bytes out; the weights are large, so that every head matters."""
    torch.manual_seed(seed)
    decoder = DecoderOnly(
        n_tokens=258,
        d_model=HEADS * D_HEAD,
        n_heads=HEADS,
        n_layers=LAYERS,
        d_hidden=24,
        n_kv_heads=KV_HEADS,
        base=BASE,
        eps=EPS,
    )
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    tokens = [*byte_letters(), "th", "the"]
    pairs = BytePairs(tokens, ["t h", "th e"])
    return LanguageModel("small", decoder.eval().requires_grad_(False), pairs, max_tokens=60)


class Plain:
    """The same model, step by step, one head after the other, in float64 and without ours.

    ``z[layer][head]`` given to ``run`` are put in place of what heads find; ``q``, ``k`` and
    ``v`` in ``heard``, by (layer, head), in place of what they are made of.
    """

    def __init__(self, lm: LanguageModel) -> None:
        state = lm._runner.decoder.state_dict()
        self.W = {name.removesuffix(".weight"): w.double() for name, w in state.items()}

    def norm(self, x, name):
        return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * self.W[name]

    def rotated(self, rows):
        half = D_HEAD // 2
        turned = rows.clone()
        for place in range(len(rows)):
            for pair in range(half):
                angle = torch.tensor(place * BASE ** (-2 * pair / D_HEAD)).double()
                a, b = rows[place, pair], rows[place, half + pair]
                turned[place, pair] = a * angle.cos() - b * angle.sin()
                turned[place, half + pair] = a * angle.sin() + b * angle.cos()
        return turned

    def inputs(self, x, layer, head):
        """The q, k and v of one query head, made of the stream in front of its layer."""
        normed = self.norm(x, f"layers.{layer}.attention_norm")
        shared = head // (HEADS // KV_HEADS)
        made = {}
        for name, index in {"q": head, "k": shared, "v": shared}.items():
            W = self.W[f"layers.{layer}.attention.project.W_{name.upper()}"]
            made[name] = normed @ W[index * D_HEAD : (index + 1) * D_HEAD].T
        made["q"], made["k"] = self.rotated(made["q"]), self.rotated(made["k"])
        return made

    def run(self, ids, z=None, heard=None):
        """The logits of every token, the z of every head, and the stream before each layer."""
        z, heard = z or {}, heard or {}
        x, found, streams = self.W["embed"][ids], {}, []
        for layer in range(LAYERS):
            streams.append(x)
            y = torch.zeros_like(x)
            for head in range(HEADS):
                made = self.inputs(x, layer, head) | heard.get((layer, head), {})
                scores = made["q"] @ made["k"].T / D_HEAD**0.5
                ahead = torch.ones_like(scores).triu(1).bool()
                weights = scores.masked_fill(ahead, -torch.inf).softmax(-1)
                at = layer, head
                found[at] = z[at] if at in z else weights @ made["v"]
                W_O = self.W[f"layers.{layer}.attention.W_O"]
                y = y + found[at] @ W_O[:, head * D_HEAD : (head + 1) * D_HEAD].T
            x = x + y
            normed = self.norm(x, f"layers.{layer}.feed_forward_norm")
            part = f"layers.{layer}.feed_forward.W_"
            gate = normed @ self.W[f"{part}gate"].T
            hidden = gate * torch.sigmoid(gate) * (normed @ self.W[f"{part}up"].T)
            x = x + hidden @ self.W[f"{part}down"].T
        return self.norm(x, "norm") @ self.W["embed"].T, found, streams
