"""What may be copied into a new module: is the old one known, and bare; and its parameters.

``kinds`` are tables of known classes, ``known`` checks a module against one, ``added`` finds
what was put on it afterwards, ``parameters`` carries weights and biases over,
learning or frozen.
"""
