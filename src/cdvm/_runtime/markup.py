"""HTML and SVG made of calls, so that whatever is put in is escaped unless it is markup itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["Markup", "embedded_json", "join", "tag"]

_EMPTY = frozenset({"br", "col", "hr", "input", "meta", "link"})
_IN_SCRIPTS = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


class Markup(str):
    """Text that is put into a page as it is."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; children that are no markup are escaped, those that are None are left out.

    Attributes lose an underscore at their end and get dashes for others; None and False leave one out.

    >>> tag("p", "5 < 6", tag("b", "!"), class_="sum", aria_hidden="true")
    '<p class="sum" aria-hidden="true">5 &lt; 6<b>!</b></p>'
    >>> tag("input", disabled=True, value='"')
    '<input disabled value="&quot;">'
    """
    words = [name]
    for key, value in attributes.items():
        word = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(word)
        elif value is not None and value is not False:
            words.append(f'{word}="{escape(str(value))}"')
    opening = f"<{' '.join(words)}>"
    return Markup(opening) if name in _EMPTY else Markup(f"{opening}{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Markup, texts and lists of them one after the other.

    >>> join(["a & b", [tag("i", 1), None]])
    'a &amp; b<i>1</i>'
    """
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, list | tuple):
            parts.append(join(child))
        elif child is not None:
            parts.append(escape(str(child)))
    return Markup("".join(parts))


def embedded_json(values: Any) -> Markup:
    r"""Plain values for a ``<script type="application/json">``, which nothing in them can end.

    >>> embedded_json({"a": "</script>"})
    '{"a":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_IN_SCRIPTS))
