"""Mistakes in the core, one file for each module."""
