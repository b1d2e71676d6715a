"""What may be rewritten: which modules a conversion accepts, and how weights are carried over.

``kinds`` are tables of known classes, ``known`` checks a module against one, ``added`` finds
what was put on it afterwards, ``carry`` copies weights and biases, learning or frozen.
"""
