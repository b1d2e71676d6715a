"""Mistakes in `mhsa_lib/fused`, one file for each module."""
