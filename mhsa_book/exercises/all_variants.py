"""Exercises of chapter 27, all variants side by side."""

from typing import Any

import torch
from torch import nn

from mhsa_book import examples
from mhsa_book.costs import models_2026, variant_costs
from mhsa_book.exercises.kinds import Exercise, OpenAnswer, Value
from mhsa_lib import variants
from mhsa_lib.attention import MultiHeadAttention

D_MODEL, HEADS = 4096, 32
COSTS = {
    "GQA": variant_costs.grouped(D_MODEL, HEADS, 8, n=1),
    "MLA": variant_costs.latent(D_MODEL, HEADS, 512, 64, n=1),
    "collaborative": variant_costs.collaborative(D_MODEL, HEADS, 1024, n=1),
    "overlapped": variant_costs.overlapped(D_MODEL, HEADS, 8, n=1),
    "mixture": variant_costs.mixture(D_MODEL, HEADS, 4, n=1),
    "composed": variant_costs.composed(D_MODEL, HEADS, n=1),
}
"""One token in one layer of each variant, 4,096 wide with 32 heads."""


def smaller() -> set[str]:
    """Variants whose token leaves fewer numbers than a plain one."""
    plain = sum(variant_costs.grouped(D_MODEL, HEADS, HEADS, n=1).cached.values())
    return {name for name, cost in COSTS.items() if sum(cost.cached.values()) < plain}


def equal_latent() -> int:
    """The latent, beside a rotated key of 64, with the cache of 8 key heads of 128."""
    return sum(COSTS["GQA"].cached.values()) - 64


def crossing() -> int:
    """The shortest sequence, in thousands of tokens, of which K3 keeps less than gpt-oss."""
    kimi, gpt_oss = (models_2026.find(name) for name in ("Kimi K3", "gpt-oss-120b"))
    thousands = 1
    while kimi.kept_bytes(1000 * thousands) >= gpt_oss.kept_bytes(1000 * thousands):
        thousands += 1
    return thousands


def _fault_of_disguise(disguised: Any) -> str:
    """What is wrong with a variant that should be plain attention; "" if nothing."""
    if not isinstance(disguised, tuple | list) or len(disguised) != 2:
        return "Hand over both, (plain, disguised)."
    plain, other = disguised
    layers: tuple[Any, Any] = (plain, other)
    if not isinstance(plain, MultiHeadAttention) or type(plain) is not MultiHeadAttention:
        return "The first is to be a MultiHeadAttention."
    kinds = tuple(kind for kind in vars(variants).values() if isinstance(kind, type))
    if not isinstance(other, nn.Module):
        return f"{type(other).__name__} is no layer."
    if not isinstance(other, kinds):
        return f"{type(other).__name__} is none of the variants."
    x = examples.random_tokens()[:, : plain.d_model]
    if x.shape[-1] != plain.d_model:
        return "Take the running attention, 12 wide."
    with torch.no_grad():
        one, two = (layer(x.to(layer.W_O.weight)).double() for layer in layers)
    if one.shape != two.shape:
        return f"The outputs have shapes {tuple(one.shape)} and {tuple(two.shape)}."
    far = (one - two).abs().max()
    return "" if far < 1e-5 else f"The outputs differ by {far:.2g}; are the weights the same?"


EXERCISES: dict[str, Exercise] = {
    "smaller_caches": Value(
        smaller,
        because="Shared keys, a latent, and the shared key columns of collaborative attention.",
        wrong={
            frozenset(
                {"GQA", "MLA"}
            ): "One more makes its keys narrower for all heads at once.",
            frozenset({"GQA"}): "A latent is smaller still, and it is not the only other one.",
            frozenset({"GQA", "MLA", "mixture"}): (
                "A mixture chooses heads per token, but keeps the keys of all of them."
            ),
            frozenset(
                COSTS
            ): "Two of them keep as much as plain attention, and one keeps more.",
        },
    ),
    "equal_latent": Value(
        equal_latent,
        because="2 · 8 · 128 numbers less the 64 of the rotated key.",
        wrong={
            2048: "The rotated key needs its 64, too.",
            960: "A token of grouped heads leaves a key and a value.",
            4096: "That is the width of the model.",
        },
    ),
    "crossing": Value(
        crossing,
        because="What a state costs at the start, divided by what it saves with every token.",
        wrong={
            0: "A state takes its bytes from the first token on.",
            17: "K3 keeps bytes for every token, too: divide by the difference.",
        },
    ),
    "disguised": OpenAnswer(_fault_of_disguise, because="Another class, the same function."),
}
