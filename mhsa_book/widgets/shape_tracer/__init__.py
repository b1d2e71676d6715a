"""Dials for every size of multi-head attention, and the shape of every wire for them."""

from mhsa_book.widgets.shape_tracer.shape_tracer import ShapeTracer as ShapeTracer
from mhsa_book.widgets.shape_tracer.shape_tracer import recipe as recipe
