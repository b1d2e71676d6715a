"""Mistakes in `mhsa_lib/tracing`, one file for each module."""
