"""Where measured numbers are kept: of experiments, every seed; of benchmarks, every run.

``run_files`` reads the runs of an experiment, ``benchmarks`` the times of a benchmark; both are
JSON in ``data``. A benchmark is a list of ``cells`` (what is timed) with ``records``
(what was found), shown as ``tables``.

Arms of an experiment are compared by one statistic: ``runs`` has their ``curves``, ``paired``
their differences seed by seed (``censored`` those of steps that may be never), ``claims`` what
may be said of them, and ``sentences`` says it. ``overview`` has a row for each arm.
"""

from mhsa_book.results.overview import overview as overview
from mhsa_book.results.run_files import kept as kept
