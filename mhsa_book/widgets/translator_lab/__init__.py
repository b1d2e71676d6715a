"""A trained translator in the page: choose a sentence, switch heads off, see what breaks."""

from mhsa_book.widgets.translator_lab.translator_lab import TranslatorLab as TranslatorLab
