"""HTML as elements, so that text can only ever be text."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

Child: TypeAlias = Element | str


def tag(name: str, /, *children: Child, **attributes: str) -> Element:
    """An element; `class_` is `class`, and `_` inside of an attribute's name is `-`."""
    element = Element(name, {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()})
    for child in children:
        append(element, child)
    return element


def append(element: Element, child: Child) -> None:
    """Adds a child, or text after what is there."""
    if not isinstance(child, str):
        element.append(child)
    elif len(element):
        element[-1].tail = (element[-1].tail or "") + child
    else:
        element.text = (element.text or "") + child


def table(header: Sequence[str], rows: Iterable[Sequence[Child]], *, label: str) -> Element:
    """A table, called `label`, whose first column names its rows; it scrolls by itself where the page is narrower."""
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in header)))
    body = tag("tbody")
    for first, *rest in rows:
        body.append(tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest)))
    inner = tag("table", head, body)
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=label)


def document(root: Element) -> bytes:
    """The file. Escaped throughout but for what the `style` and `script` elements hold."""
    text = ET.tostring(root, encoding="unicode", method="html")
    return f"<!doctype html>\n{text}\n".encode("utf-8", "xmlcharrefreplace")
