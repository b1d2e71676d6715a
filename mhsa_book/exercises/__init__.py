"""The exercises of the book, and ``check``, which says whether an answer is right."""

from mhsa_book.exercises.check import check as check
from mhsa_book.exercises.helping import hint as hint
from mhsa_book.exercises.helping import solution as solution
