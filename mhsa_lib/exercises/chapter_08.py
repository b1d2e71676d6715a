"""Exercises of chapter 08, W_O."""

from mhsa_lib.exercises.kinds import Exercise

EXERCISES: dict[str, Exercise] = {}
