"""A language model that can be taken apart in the page, head by head."""

from mhsa_book.widgets.language_model_lab.language_model_lab import (
    LanguageModelLab as LanguageModelLab,
)
