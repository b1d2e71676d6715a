"""Attention on several processes, compared with one.

``torchrun -m mhsa_book.parallel`` shows it.
"""
