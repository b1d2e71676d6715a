"""Mistakes in `mhsa_lib/convert`, one file for each module."""
