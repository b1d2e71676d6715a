"""Exercises of chapter 03, project."""

from mhsa_lib.exercises.kinds import Exercise

EXERCISES: dict[str, Exercise] = {}
