"""BertViz's head view and model view, safe to keep in a page."""

from mhsa_lib.bertviz_adapter.views import LIBRARIES as LIBRARIES
from mhsa_lib.bertviz_adapter.views import LONGEST_TOKEN as LONGEST_TOKEN
from mhsa_lib.bertviz_adapter.views import WIDTHS as WIDTHS
from mhsa_lib.bertviz_adapter.views import View as View
from mhsa_lib.bertviz_adapter.views import head_view as head_view
from mhsa_lib.bertviz_adapter.views import model_view as model_view
