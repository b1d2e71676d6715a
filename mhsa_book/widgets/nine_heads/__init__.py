"""Who gets the drink? A language model's next word, and nine of its heads to switch off."""

from mhsa_book.widgets.nine_heads.nine_heads import NineHeads as NineHeads
