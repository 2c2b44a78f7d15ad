"""Bar charts as SVG."""

from collections.abc import Mapping
from xml.sax.saxutils import escape

_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 640, 34, 190, 130, 44
_BAR, _MARKED = "#0b6e99", "#d9730d"


def bars(title: str, figures: Mapping[str, float], unit: str, *, marked: str = "") -> str:
    """Draws a bar chart; returns the text of an SVG.

    Args:
        title: Title above the bars.
        figures: Values by name, from top to bottom.
        unit: Unit after each value, such as "/s".
        marked: Name of the highlighted bar.
    """
    most = max(figures.values())
    height = _TOP + _ROW * len(figures) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="24" font-size="15">{escape(title)}</text>',
    ]
    for place, (name, figure) in enumerate(figures.items()):
        y, colour = _TOP + place * _ROW, _MARKED if name == marked else _BAR
        length = max(1.0, (_WIDTH - _LEFT - _RIGHT) * figure / most)
        shown = f"{figure:,.0f}" if most >= 100 else f"{figure:,.1f}"
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 17}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="24" fill="{colour}"/>',
            f'<text x="{_LEFT + length + 8:.1f}" y="{y + 17}">{shown}{escape(unit)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
