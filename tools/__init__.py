"""What builds and checks the book: scripts run from the top as `python -m tools.<name>`."""
