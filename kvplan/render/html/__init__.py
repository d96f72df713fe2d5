"""A sizing report as one self-contained page."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from kvplan.render.html.part import Part
from kvplan.render.html.view import page as view

if TYPE_CHECKING:
    from jinja2 import Template


def page(document: Mapping[str, object]) -> str:
    """The page of a report's JSON. Raises RequestError where that holds something else than kvplan's answers."""
    return _template().render(page=view(Part(document)))


@cache
def _template() -> "Template":
    import jinja2

    templates = jinja2.PackageLoader("kvplan.render.html")
    environment = jinja2.Environment(
        loader=templates, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    return environment.get_template("page.html.j2")
