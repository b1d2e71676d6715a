"""Which head wrote this number: concat @ W_O as a sum with one term per head."""

from mhsa_lib.widgets.output_sum.output_sum import LIMITS as LIMITS
from mhsa_lib.widgets.output_sum.output_sum import OutputSum as OutputSum
