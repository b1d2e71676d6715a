"""What checks the book and the tests: audit, comparison, mistakes planted on purpose."""
