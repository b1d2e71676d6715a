"""What builds and checks the book: scripts run from the top as `python -m tools.<name>`."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("mhsa_lib", "mhsa_book")  # what the wheel holds
