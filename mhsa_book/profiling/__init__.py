"""How long a call takes (``timing``), its most memory (``peak_memory``), the ``processor``."""
