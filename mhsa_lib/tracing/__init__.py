"""Watch and change a forward pass from outside: its wires, and the operations torch runs."""

from mhsa_lib.tracing.editing import edit as edit
from mhsa_lib.tracing.find import find_attentions as find_attentions
from mhsa_lib.tracing.op_recorder import trace_ops as trace_ops
from mhsa_lib.tracing.wires import Wires as Wires
from mhsa_lib.tracing.wires import trace as trace
