"""BertViz's head view, model view and neuron view, safe to keep in a page."""

from mhsa_lib.bertviz_adapter.neuron import neuron_view as neuron_view
from mhsa_lib.bertviz_adapter.view import LIBRARIES as LIBRARIES
from mhsa_lib.bertviz_adapter.view import LONGEST_TOKEN as LONGEST_TOKEN
from mhsa_lib.bertviz_adapter.view import WIDTHS as WIDTHS
from mhsa_lib.bertviz_adapter.view import View as View
from mhsa_lib.bertviz_adapter.views import head_view as head_view
from mhsa_lib.bertviz_adapter.views import model_view as model_view
