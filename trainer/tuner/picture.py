"""The ladder as an SVG."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from trainer.tuner.ladder import Rung

_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 640, 34, 150, 120, 44
_BAR, _BOUND, _CACHE = "#0b6e99", "#d9730d", "#4d6461"


def picture(title: str, ladder: Sequence[Rung], bound: str, cached: Sequence[Rung]) -> str:
    """Bars of records per second.

    Args:
        title: Above the bars.
        ladder: Stage after stage.
        bound: The stage to mark.
        cached: What the whole pipeline reaches with decoded images kept; may be empty.
    """
    rows = [(rung, _BOUND if rung.stage == bound else _BAR) for rung in ladder]
    rows += [(rung, _CACHE) for rung in cached]
    most = max(rung.records_per_s for rung, _ in rows)
    height = _TOP + _ROW * len(rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="24" font-size="15">{escape(title)}</text>',
    ]
    for place, (rung, colour) in enumerate(rows):
        y = _TOP + place * _ROW
        length = max(1.0, (_WIDTH - _LEFT - _RIGHT) * rung.records_per_s / most)
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 17}" text-anchor="end">{escape(rung.stage)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="24" fill="{colour}"/>',
            f'<text x="{_LEFT + length + 8:.1f}" y="{y + 17}">{rung.records_per_s:,.0f}/s</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
