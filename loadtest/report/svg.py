"""Drawings of matplotlib as elements that take the page's colours and type."""

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

import matplotlib as mpl
from matplotlib.figure import Figure

from loadtest.report.elements import tag
from loadtest.report.palette import custom_properties, sentinel

UNIT = 72
"""Dots per inch: an SVG unit of matplotlib's is then a pixel of ours."""

_LONG = re.compile(r"(\.\d)\d+")
_FAMILY = re.compile(r"font-family: [^;]+; ?|(?<=px) '[^;]+")
_REFERENCE = re.compile(r"#([\w-]+)")

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": sentinel("line"),
    "axes.labelcolor": sentinel("muted"),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": sentinel("line"),
    "grid.linewidth": 1.0,
    "text.color": sentinel("ink"),
    "xtick.color": sentinel("line"),
    "ytick.color": sentinel("line"),
    "xtick.labelcolor": sentinel("muted"),
    "ytick.labelcolor": sentinel("muted"),
    "ytick.major.size": 0,
    "lines.solid_joinstyle": "round",
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.3,
    "legend.borderpad": 0,
    "legend.borderaxespad": 0,
}


def drawn(draw: Callable[[Figure], None], *, size: tuple[int, int], name: str, title: str, text: str) -> Element:
    """What `draw` puts on a figure of `size` pixels, as an `svg` element named by `title` and described by `text`.

    The same drawing gives the same element: ids come from `name`, which must be its own on a page.
    """
    output = io.BytesIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        # The reader's own fonts show it, so it need not be in matplotlib's.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(size[0] / UNIT, size[1] / UNIT), dpi=UNIT)
        draw(figure)
        figure.savefig(output, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ET.fromstring(output.getvalue())
    _plain(root)
    _own_ids(root, name)
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({"viewBox": box, "role": "img", "aria-labelledby": f"{name}-title {name}-text"})
    root[:0] = [tag("title", title, id=f"{name}-title"), tag("desc", text, id=f"{name}-text")]
    return root


def _plain(root: Element) -> None:
    """Without name spaces, long decimals, fonts, and the style sheet that would reach the whole page."""
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag.rpartition("}")[2] in ("metadata", "style")]:
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key in list(element.attrib):
            value = element.attrib.pop(key)
            short = key.rpartition("}")[2]
            if short == "style":
                value = _type(custom_properties(value))
            elif short not in ("id", "href", "clip-path"):
                value = _LONG.sub(r"\1", value).replace("\n", "")
            element.set(short, value)


def _type(style: str) -> str:
    """The style without fonts' names: the page has its own. Older matplotlib says size and name in one."""
    return _FAMILY.sub("", style).replace("font: ", "font-size: ").replace("; ", ";").replace(": ", ":")


def _own_ids(root: Element, name: str) -> None:
    """Keeps the ids that something refers to, under the drawing's name."""
    links = ("href", "clip-path")
    used = {found for element in root.iter() for key in links for found in _REFERENCE.findall(element.get(key, ""))}
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in used:
            element.set("id", f"{name}-{identity}")
        for key in links:
            if key in element.attrib:
                element.set(key, _REFERENCE.sub(rf"#{name}-\1", element.attrib[key]))
