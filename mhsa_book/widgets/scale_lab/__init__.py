"""The factor on the dot product against the width of a head, and what softmax makes of it."""

from mhsa_book.widgets.scale_lab.scale_lab import TOKENS as TOKENS
from mhsa_book.widgets.scale_lab.scale_lab import WIDEST as WIDEST
from mhsa_book.widgets.scale_lab.scale_lab import ScaleLab as ScaleLab
from mhsa_book.widgets.scale_lab.scale_lab import normals as normals
