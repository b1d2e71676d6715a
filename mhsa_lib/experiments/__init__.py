"""Plain attention against a variant, at equal parameters, on a task made for the difference.

An experiment is a module with ``NAME``, ``QUESTION``, ``MEASURE`` (what the number is),
``models()`` (name to a function that builds the model) and ``run(model, seed)`` (train it, give
the number). ``python -m tools.build.experiment NAME`` runs all seeds and keeps what came out in
``mhsa_lib/results/data/experiments``; ``kept`` reads it. The tests run seed 0 again.
"""
