"""Which head wrote this number: concat @ W_O as a sum with one term per head."""

from mhsa_book.widgets.output_sum.output_sum import LIMITS as LIMITS
from mhsa_book.widgets.output_sum.output_sum import OutputSum as OutputSum
