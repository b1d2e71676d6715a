"""What we expected of eight trained translators, written down before any of them was measured.

"Off" is always all heads of a kind, each replaced by its mean (``heads.by_mean``), where
nothing else is said. The costs are in nats a word of the task, more than the whole model's.
Each prediction can be wrong, and the chapter says which were.
"""

PREDICTIONS = (
    "Without cross-attention, every task loses more than without any other kind, in every "
    "seed.",
    "Without the encoder's self-attention, sense loses at least 0.3 nats, in seven seeds of "
    "eight or more.",
    "Without the encoder's self-attention, sense loses more than any of the other three "
    "tasks, in seven seeds of eight or more.",
    "Without the decoder's self-attention, agreement loses at least ln 2 = 0.69 nats: the "
    "vowel can only be guessed. In every seed.",
    "Without the decoder's self-attention, count loses more than without the encoder's, in "
    "every seed.",
    "In each kind, the eight heads switched off one at a time lose together less than the "
    "eight at once, counting every word that tests a task, in seven seeds of eight or more.",
    "For every word that tests a task and each kind, the mean costs less than zero and less "
    "than a resampled token's, in seven seeds of eight or more.",
    "The longest vector a·v·W_O of all heads misses the gold alignment less often than the "
    "largest weight, in cross-attention, summed over heads and over both layers, in seven "
    "seeds of eight or more.",
    "Hiding one row of the memory and looking for the largest loss misses it less often "
    "than weights and norms do, in seven seeds of eight or more.",
    "Weights and norms miss it less often than the best guess from positions alone; an "
    "untrained model's miss it more often than that. In every seed.",
)
"""Committed before the eight trainings began."""
