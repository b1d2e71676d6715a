"""Attention on several processes, compared with one: what ``torchrun -m mhsa_book.parallel`` shows."""
