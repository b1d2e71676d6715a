"""What may be copied into a new module, and the copying: is the old one known, and bare.

``kinds`` are tables of known classes, ``known`` checks a module against one, ``added`` finds
what was put on it afterwards, ``copying`` copies weights and biases, learning or frozen.
"""
