"""Prompts to compare the page's language model with Python's on."""

FIVE = [
    "When Mary and John went to the store, John gave a drink to",
    "Paris is the capital of France. Berlin is the capital of",
    "def mean(numbers):\n    return",
    "Im Jahr 1969 war Größe naïv – 我在 😀",
    "x",
]
TWENTY = [
    *FIVE,
    "The keys to the cabinet",
    "In 1969 two people walked on the",
    "My name is Alice. Hello, my name is",
    "Mr. Dursley was proud. Mr. D",
    "1, 2, 4, 8, 16, 32,",
    "<|im_start|>user\nWhat is the largest planet?<|im_end|>\n<|im_start|>assistant\n",
    "It is a truth universally acknowledged, that a single man in possession of",
    "El gato se sentó en la",
    "Water boils at a temperature of",
    "She opened the door, looked around, and",
    "A B C D E F G",
    "   leading blanks and\ttabs",
    "The animal didn't cross the street because it was too",
    "Once upon a time, in a small village near the sea, there lived an old man who",
    "the cat saw the dog and the dog saw the cat and the cat saw the",
]
WRITTEN = [FIVE[0], TWENTY[5], TWENTY[18]]
"""What is written on."""
