"""Mistakes in `mhsa_lib/results`, one file for each subject."""
