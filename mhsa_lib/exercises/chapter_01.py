"""Exercises of chapter 01, from averages to attention."""

from mhsa_lib.exercises.kinds import Exercise

EXERCISES: dict[str, Exercise] = {}
