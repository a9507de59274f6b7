"""The page: served with files beside it, or as one file with all that it needs."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

__all__ = ["ASSETS", "asset", "export_page", "served_page"]

ASSETS = {
    "browse.css": "text/css",
    "rules.js": "text/javascript",
    "rows.js": "text/javascript",
    "charts.js": "text/javascript",
    "app.js": "text/javascript",
}
"""The page's own files and their media types; scripts in the order in which they are run."""


def asset(name: str) -> str:
    """The text of one of ``ASSETS``."""
    return (files("pipeline") / "resources" / "browse" / name).read_text(encoding="utf-8")


def served_page(title: str) -> str:
    """The page that asks its server for data."""
    return _render(title=title, style=None, scripts=[n for n in ASSETS if n.endswith(".js")])


def export_page(about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The page with its data in it; it opens no connection, and its policy forbids it to.

    Args:
        about: what ``corpus.describe`` says.
        rows: what the page shows, in order.
    """
    style = asset("browse.css")
    script = "\n".join(asset(name) for name in ASSETS if name.endswith(".js"))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
    )
    # In a script element only "<" could end the data, or begin a comment.
    data = json.dumps({"about": about, "rows": rows}, ensure_ascii=False, allow_nan=False)
    return _render(
        title=str(about["name"]),
        style=Markup(style),  # noqa: S704 - our own file
        scripts=[],
        script=Markup(script),  # noqa: S704 - our own files
        policy=policy,
        data=Markup(data.replace("<", "\\u003c")),  # noqa: S704 - no markup can begin in it
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _render(**context: Any) -> str:
    environment = Environment(
        loader=PackageLoader("pipeline", "resources/browse"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(**context)
