"""Bytes of the cache in MHA, GQA, MQA and MLA, beside an accelerator's memory."""

from mhsa_book.widgets.cache_calculator.cache_calculator import MODELS as MODELS
from mhsa_book.widgets.cache_calculator.cache_calculator import NUMBER_BYTES as NUMBER_BYTES
from mhsa_book.widgets.cache_calculator.cache_calculator import OPTIONS as OPTIONS
from mhsa_book.widgets.cache_calculator.cache_calculator import OWN as OWN
from mhsa_book.widgets.cache_calculator.cache_calculator import SIZES as SIZES
from mhsa_book.widgets.cache_calculator.cache_calculator import (
    CacheCalculator as CacheCalculator,
)
from mhsa_book.widgets.cache_calculator.cache_calculator import sizes as sizes
