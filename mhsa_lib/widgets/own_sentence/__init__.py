"""A real model in the page: type a sentence, and all its heads answer."""
