"""Texts that the heads are known by."""

TIRED = "The animal didn't cross the street because it was too tired."
TEXTS = [
    TIRED,
    "The cat sat on the mat.",
    "She went to the bank to deposit money before the river flooded.",
    "Attention is all you need, said the paper that changed the field.",
]
