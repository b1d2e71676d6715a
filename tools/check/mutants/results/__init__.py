"""Mistakes in `mhsa_book/results`, one file for each subject."""
