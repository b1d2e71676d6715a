"""The exercises of the book, and ``check``, which says whether an answer is right."""

from mhsa_lib.exercises.check import check as check
from mhsa_lib.exercises.helping import hint as hint
from mhsa_lib.exercises.helping import solution as solution
