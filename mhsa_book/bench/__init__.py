"""Time and memory, measured against other libraries: ``python -m mhsa_book.bench``.

``rivals``, ``libraries`` and ``hugging_face`` take part, ``judge`` compares and times them.
Runs that were stored, and their tables, live in ``results``: ``kept(name)`` loads one.
"""

from mhsa_book.results.benchmarks import kept as kept
from mhsa_book.results.records import Report as Report
