"""A function of the reader's cell under sliders; its outputs are stored for static pages."""

from mhsa_book.widgets.interact.interact import Interact as Interact
