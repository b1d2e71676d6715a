"""A mask to choose or to paint; weights, both polarities and the empty rows follow."""

from mhsa_book.widgets.mask_lab.mask_lab import LONGEST as LONGEST
from mhsa_book.widgets.mask_lab.mask_lab import OWN as OWN
from mhsa_book.widgets.mask_lab.mask_lab import RULES as RULES
from mhsa_book.widgets.mask_lab.mask_lab import MaskLab as MaskLab
