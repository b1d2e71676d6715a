"""What does the last word belong to? The running example, with heads to switch off."""

from mhsa_book.widgets.sentence_lab.sentence_lab import SentenceLab as SentenceLab
