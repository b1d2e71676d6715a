"""The wires of the five stages, in the order of computation."""

NAMES = [
    "q",
    "k",
    "v",
    "q_heads",
    "k_heads",
    "v_heads",
    "scores",
    "weights",
    "z",
    "concat",
    "y",
]
