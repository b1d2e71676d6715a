"""Watch and change a forward pass from outside: hooks, wires, operations, provenance."""

from mhsa_lib.trace.editing import edit as edit
from mhsa_lib.trace.find import the_attention as the_attention
from mhsa_lib.trace.op_recorder import trace_ops as trace_ops
from mhsa_lib.trace.wires import Wires as Wires
from mhsa_lib.trace.wires import trace as trace
