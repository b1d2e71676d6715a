"""A trained model inside the page: type, look through every head, switch heads off."""

from mhsa_book.widgets.repeater_lab.repeater_lab import RepeaterLab as RepeaterLab
from mhsa_book.widgets.repeater_lab.repeater_lab import packed as packed
