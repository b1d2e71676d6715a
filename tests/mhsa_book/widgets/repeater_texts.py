"""Texts that the repeater reads, and those that it refuses."""

from mhsa_book.models import repeater

TEXTS = [
    "",
    "a" * 63,
    "a" * 64,
    "x" * 1000,
    "abé",
    "👍a",
    "👩‍👩‍👧",
    "שלום",
    "a\u202eb",
    "e\u0301",
    "<img src=x onerror=alert(1)>",
    '"quoted"',
    "\u212a",
    "\n",
    "İ",
    "١",
    "ABC 123",
]


def words_of(text):
    try:
        return {"ids": repeater.encode(text).tolist()}
    except ValueError as error:
        return {"problem": str(error)}
