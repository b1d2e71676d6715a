"""Watch and change a forward pass from outside: its wires, and the operations that torch runs.

``trace`` collects the wires and ``edit`` changes one; both are made of the hooks in ``hooks``
and look for the attention in ``find``. ``trace_ops`` lists what torch ran, and ``drawing``
draws a trace.
"""

from mhsa_lib.tracing.editing import edit as edit
from mhsa_lib.tracing.op_recorder import trace_ops as trace_ops
from mhsa_lib.tracing.wires import Wires as Wires
from mhsa_lib.tracing.wires import trace as trace
