"""How long a call takes, and how much memory at its highest."""
