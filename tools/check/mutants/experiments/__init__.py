"""Mistakes in `mhsa_lib/experiments`."""
