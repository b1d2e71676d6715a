"""Watch and change a forward pass from outside: wires, operations, and where numbers come from.

``wires`` has ``trace``, ``editing`` has ``edit``; both are made of the hooks in ``hooks`` and
look for the attention in ``find``. ``op_recorder`` lists what torch ran, ``provenance`` the
parents of every number, ``ledger`` draws a trace, ``difference`` a variant beside plain
attention; ``watched`` says where somebody else watches.
"""

from mhsa_lib.tracing.editing import edit as edit
from mhsa_lib.tracing.op_recorder import trace_ops as trace_ops
from mhsa_lib.tracing.wires import Wires as Wires
from mhsa_lib.tracing.wires import trace as trace
