"""Sentences of everyday English, on which claims about a trained model are counted."""

TEXTS = (
    "The animal didn't cross the street because it was too tired.",
    "My sister borrowed a bicycle from her neighbour and returned it on Sunday.",
    "When the river froze, the children skated to the bank and lit a small fire.",
    "The old clock in the hall stopped years ago, but nobody wanted to sell it.",
    "After the concert, the musicians packed up and walked home through the rain.",
    "She opened the letter slowly, read it twice, and put it back into the drawer.",
    "Two dogs chased a ball across the field until the sun went down.",
    "He could not remember where he had left the keys to the new house.",
)
"""The eight that *Claims, settled* uses, so that a chapter can give the same counts."""
