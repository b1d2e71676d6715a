"""Pictures of attention by matplotlib: heat maps, masks, pipelines, benchmarks.

Every function draws one matplotlib figure and returns None: a notebook cell that ends in the
call shows exactly that picture. ``plt.gcf()`` is the figure, to change or save it.

Attention weights are always drawn on one fixed scale from 0 to 1 with one colour bar. Its
lightness falls in equal steps, and hue alone never carries a meaning.
"""

from mhsa_book.plots.arcs import arcs as arcs
from mhsa_book.plots.arrows import dot_products as dot_products
from mhsa_book.plots.arrows import rotated as rotated
from mhsa_book.plots.charts import bars as bars
from mhsa_book.plots.charts import curves as curves
from mhsa_book.plots.contribution import contributions as contributions
from mhsa_book.plots.heat import heads as heads
from mhsa_book.plots.heat import heat_map as heat_map
from mhsa_book.plots.heat import layers_by_heads as layers_by_heads
from mhsa_book.plots.intervals import intervals as intervals
from mhsa_book.plots.kinds import profiles as profiles
from mhsa_book.plots.language_model_boxes import language_model as language_model
from mhsa_book.plots.learning import learning as learning
from mhsa_book.plots.paths import path_patch as path_patch
from mhsa_book.plots.ratios import memory as memory
from mhsa_book.plots.ratios import ratios as ratios
from mhsa_book.plots.removal import kept_heads as kept_heads
from mhsa_book.plots.residual_stream import residual_stream as residual_stream
from mhsa_book.plots.signed import signed as signed
from mhsa_book.plots.spread import seeds as seeds
from mhsa_book.plots.squares import comparison_table as comparison_table
from mhsa_book.plots.squares import mask as mask
from mhsa_book.plots.sweep import sweep as sweep
from mhsa_book.plots.trace_boxes import pipeline as pipeline
from mhsa_book.plots.transformer_boxes import encoder_decoder as encoder_decoder

__all__ = [
    "arcs",
    "bars",
    "comparison_table",
    "contributions",
    "curves",
    "dot_products",
    "encoder_decoder",
    "heads",
    "heat_map",
    "intervals",
    "kept_heads",
    "language_model",
    "layers_by_heads",
    "learning",
    "mask",
    "memory",
    "path_patch",
    "pipeline",
    "profiles",
    "ratios",
    "residual_stream",
    "rotated",
    "seeds",
    "signed",
    "sweep",
]
