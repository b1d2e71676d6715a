"""Mistakes in `mhsa_book/experiments`."""
