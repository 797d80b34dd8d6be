"""An extension of Griffe: keeps the shapes of jaxtyping as they are written.

Griffe takes a string in an annotation for code, and would print `"time *inputs"` as a product.
"""

import ast
from typing import Any

import griffe


class Shapes(griffe.Extension):
    """Annotations of functions as they stand in the source."""

    def on_function_instance(self, *, node: Any, func: griffe.Function, **_: Any) -> None:
        """Replace the parsed annotations by their source."""
        if not isinstance(node, ast.FunctionDef):
            return
        arguments = node.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if each.annotation is not None:
                func.parameters[each.arg].annotation = ast.unparse(each.annotation)
        if node.returns is not None:
            func.returns = ast.unparse(node.returns)
