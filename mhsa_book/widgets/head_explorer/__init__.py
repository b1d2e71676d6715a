"""Every head of a model on one text: all of them small, one large, two compared."""

from mhsa_book.widgets.head_explorer.head_explorer import HeadExplorer as HeadExplorer
