"""Exercises of chapter 02, why more than one head."""

from mhsa_lib.exercises.kinds import Exercise

EXERCISES: dict[str, Exercise] = {}
