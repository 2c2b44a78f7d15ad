"""The rates of `python -m trainer tune` as a picture.

python -m trainer tune DATASET | python benchmarks/tune_picture.py > tuning.svg
"""

import json
import os
import sys
from collections.abc import Mapping
from xml.sax.saxutils import escape

_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 640, 34, 150, 120, 44
_BAR, _BOUND, _CACHE = "#0b6e99", "#d9730d", "#4d6461"


def picture(title: str, rates: Mapping[str, float], bound: str) -> str:
    """Bars of records per second.

    Args:
        title: Above the bars.
        rates: By stage; those with a comma are of the whole pipeline with decoded images kept.
        bound: The stage to mark.
    """
    colours = {bound: _BOUND} | {stage: _CACHE for stage in rates if "," in stage}
    most = max(rates.values())
    height = _TOP + _ROW * len(rates) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="24" font-size="15">{escape(title)}</text>',
    ]
    for place, (stage, rate) in enumerate(rates.items()):
        y, colour = _TOP + place * _ROW, colours.get(stage, _BAR)
        length = max(1.0, (_WIDTH - _LEFT - _RIGHT) * rate / most)
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 17}" text-anchor="end">{escape(stage)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="24" fill="{colour}"/>',
            f'<text x="{_LEFT + length + 8:.1f}" y="{y + 17}">{rate:,.0f}/s</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    found = json.loads(sys.stdin.read().splitlines()[-1])
    title = f"Records a second, up to each stage ({os.cpu_count()} CPUs)"
    sys.stdout.write(picture(title, found["records_per_s"], found["bounds"]))
