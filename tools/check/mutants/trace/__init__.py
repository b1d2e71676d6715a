"""Mistakes in `mhsa_lib/trace`, one file for each module."""
