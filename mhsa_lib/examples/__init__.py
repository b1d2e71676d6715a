"""The sentences and numbers that the book computes by hand."""

from mhsa_lib.examples.worked import SENTENCE as SENTENCE
from mhsa_lib.examples.worked import attention as attention
from mhsa_lib.examples.worked import running as running
from mhsa_lib.examples.worked import sentence as sentence
from mhsa_lib.examples.worked import worked as worked
