"""Exercises of chapter 05, attend."""

from mhsa_lib.exercises.kinds import Exercise

EXERCISES: dict[str, Exercise] = {}
