"""Parts of variants: heads mixed with each other (``composition``), or chosen (``routing``)."""
