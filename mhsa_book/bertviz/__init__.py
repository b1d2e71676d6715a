"""BertViz's head view, model view and neuron view, safe to keep in a page."""

from mhsa_book.bertviz.neuron import neuron_view as neuron_view
from mhsa_book.bertviz.view import LIBRARIES as LIBRARIES
from mhsa_book.bertviz.view import LONGEST_TOKEN as LONGEST_TOKEN
from mhsa_book.bertviz.view import WIDTHS as WIDTHS
from mhsa_book.bertviz.view import View as View
from mhsa_book.bertviz.views import head_view as head_view
from mhsa_book.bertviz.views import model_view as model_view
