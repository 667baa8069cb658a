"""Colours by role, in a light and a dark dress, and the stand-ins that drawings are made with.

Series and outcomes were searched for the greatest smallest distance in Oklab between any two of a group, as seen with
normal vision and with protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes, "A
Physiologically-based Model for Simulation of Color Vision Deficiency", 2009), each at 3:1 or more from its surface;
text has 4.5:1 (WCAG 2.1, 1.4.11 and 1.4.3).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Colour:
    """One role's colours, as `#rrggbb`."""

    light: str
    dark: str


PALETTE: Mapping[str, Colour] = MappingProxyType(
    {
        "page": Colour("#f6f7f9", "#0f1318"),
        "surface": Colour("#ffffff", "#171c23"),
        "ink": Colour("#15191f", "#e8ecf1"),
        "muted": Colour("#545d69", "#a3adba"),
        "line": Colour("#dfe3e8", "#2b323c"),
        "link": Colour("#0a5ea8", "#7cc0f5"),
        "first": Colour("#1270f8", "#2697fe"),
        "second": Colour("#d96f00", "#fee5b3"),
        "third": Colour("#550025", "#f3385f"),
        "ok": Colour("#5e8eb3", "#2f86d8"),
        "degraded": Colour("#b78a05", "#f2ec9b"),
        "shed": Colour("#5932b5", "#c2b7ea"),
        "deadline": Colour("#8a4a14", "#f99711"),
        "error": Colour("#5c0620", "#c9555c"),
        "good": Colour("#0b6e4f", "#4cc9a0"),
        "warn": Colour("#8a5300", "#f0b24a"),
        "bad": Colour("#a8161f", "#ff8a8a"),
    }
)


def sentinel(role: str) -> str:
    """The colour that stands for `role` in a drawing, until `custom_properties` takes its place."""
    return f"#fe01{tuple(PALETTE).index(role):02x}"


def custom_properties(style: str) -> str:
    """A drawing's style with every stand-in replaced by `var(--role)`."""
    for role in PALETTE:
        style = style.replace(sentinel(role), f"var(--{role})")
    return style


def stylesheet() -> str:
    """Both themes: the reader's preference, unless `data-theme` on the root says otherwise."""
    light = "".join(f"--{role}:{colour.light};" for role, colour in PALETTE.items())
    dark = "".join(f"--{role}:{colour.dark};" for role, colour in PALETTE.items())
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n"
        f"@media print{{:root:root:root{{color-scheme:light;{light}}}}}\n"
    )
