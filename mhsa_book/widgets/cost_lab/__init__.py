"""What attention of a real model costs on a real accelerator: memory and a roofline."""

from mhsa_book.widgets.cost_lab.cost_lab import NUMBER_BYTES as NUMBER_BYTES
from mhsa_book.widgets.cost_lab.cost_lab import OPTIONS as OPTIONS
from mhsa_book.widgets.cost_lab.cost_lab import CostLab as CostLab
