"""How long a call takes (``timing``), and how much memory at its highest (``peak_memory``)."""
