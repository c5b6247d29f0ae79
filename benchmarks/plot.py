"""A small line chart as SVG, so that the page needs no plotting library. Both axes are logarithmic: counts double, rates fall by tens."""

from __future__ import annotations

import math
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 60, 150, 30, 40
COLOURS = ("#1b6ac9", "#d1495b", "#2e8b57", "#b8860b", "#7b4fa3", "#555555")


class Line(NamedTuple):
    """One contender: its name and its points."""

    name: str
    points: list[tuple[float, float]]


def chart(title: str, across: str, up: str, lines: list[Line]) -> str:
    """The picture."""
    xs = sorted({x for line in lines for x, _ in line.points})
    ys = [y for line in lines for _, y in line.points if y > 0]
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys)))
    if low == high:
        high = low * 10

    def at(x: float, y: float) -> tuple[float, float]:
        right = (math.log(x) - math.log(xs[0])) / (math.log(xs[-1]) - math.log(xs[0]) or 1)
        above = (math.log(max(y, low)) - math.log(low)) / (math.log(high) - math.log(low))
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - above * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(LEFT, 18, title, weight="bold"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, across, anchor="middle"),
        _text(8, TOP - 6, up),
    ]
    tick = low
    while tick <= high:
        _, y = at(xs[0], tick)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{tick:g}", anchor="end"))
        tick *= 10
    for x in xs:
        px, _ = at(x, low)
        parts.append(f'<line x1="{px:.1f}" y1="{TOP}" x2="{px:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>')
        parts.append(_text(px, HEIGHT - BOTTOM + 16, f"{x:g}", anchor="middle"))
    for index, line in enumerate(lines):
        parts.extend(_drawn(line, COLOURS[index % len(COLOURS)], index, [at(x, y) for x, y in line.points]))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(line: Line, colour: str, index: int, points: list[tuple[float, float]]) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    y = TOP + 12 + index * 18
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points),
        f'<line x1="{WIDTH - RIGHT + 10}" y1="{y - 4}" x2="{WIDTH - RIGHT + 28}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>',
        _text(WIDTH - RIGHT + 34, y, line.name),
    ]


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    safe = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{safe}</text>'
