"""What makes the book and what it shows: notebooks, pages, vendored files, stored results."""
