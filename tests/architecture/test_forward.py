"""The forward pass is five lines and takes x, context and mask."""

import ast

from tests.architecture.library import definition

FORWARD = """
context = x if context is None else context
q, k, v = self.project(x, context)
q, k, v = self.split(q, k, v)
z = self.attend(q, k, v, mask)
z = self.concat(z)
return self.W_O(z)
"""


def test_the_forward_pass_is_the_five_lines():
    docstring, *body = definition("mhsa_lib.attention", "MultiHeadAttention", "forward").body
    assert isinstance(docstring.value, ast.Constant)
    assert ast.unparse(ast.Module(body, [])) == FORWARD.strip()


def test_the_forward_pass_takes_x_context_and_mask():
    for module, name, more in (
        ("mhsa_lib.attention", "MultiHeadAttention", []),
        ("mhsa_lib.fused.attention", "FusedMultiHeadAttention", ["cache"]),
    ):
        arguments = [argument.arg for argument in definition(module, name, "forward").args.args]
        assert arguments == ["self", "x", "context", "mask", *more]
