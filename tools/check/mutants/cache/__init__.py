"""Mistakes in `mhsa_lib/cache`."""
