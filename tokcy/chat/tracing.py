"""The same sandbox, in which all text is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from jinja2 import nodes, pass_environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import Environment
from jinja2.filters import make_attrgetter

from .environment import ChatEnvironment
from .tojson import traced_tojson
from .trace import DATA, TEMPLATE, TracedStr, as_text, is_data, join

__all__ = ["TracingEnvironment"]


class _Literals(dict[str, TracedStr]):
    """The template's own texts as traced ones, each made when it is first needed."""

    def __missing__(self, text: str) -> TracedStr:
        self[text] = traced = TracedStr(text, TEMPLATE)
        return traced


class _TracingGenerator(CodeGenerator):
    """Compiles a template so that each text in it is taken from `_Literals`."""

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return f"environment.literals[{''.join(group)!r}]"

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        value = node.as_const(frame.eval_ctx)
        if isinstance(value, str):
            self.write(f"environment.literals[{value!r}]")
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:
        self.write(f"environment.literals[{node.data!r}]")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.concat_values((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class TracingEnvironment(ChatEnvironment):
    """One for each template, as it keeps the template's texts."""

    code_generator_class = _TracingGenerator
    concat = staticmethod(join)

    def __init__(self) -> None:
        super().__init__(finalize=as_text, optimized=False)
        self.literals = _Literals()
        for name, function in self.filters.items():
            self.filters[name] = _adopting(function)
        self.filters["join"] = _join
        self.filters["string"] = as_text
        self.filters["tojson"] = traced_tojson

    @staticmethod
    def concat_values(values: Iterable[Any]) -> TracedStr:
        """What ``~`` makes of values."""
        return join(map(as_text, values))


def _adopting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose new text, if it makes one of nothing but data, is data."""

    @wraps(function)
    def adopting(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(result, TracedStr) or not isinstance(result, str):
            return result
        seen = args[1:] if takes_context else args
        return TracedStr(result, DATA) if is_data(seen) and is_data(kwargs) else result

    takes_context = hasattr(function, "jinja_pass_arg")
    return adopting


@pass_environment
def _join(
    environment: Environment, value: Iterable[Any], d: str = "", attribute: str | int | None = None
) -> TracedStr:
    if attribute is not None:
        value = map(make_attrgetter(environment, attribute), value)
    return TracedStr(as_text(d)).join(map(as_text, value))
