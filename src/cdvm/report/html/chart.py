"""Scores over the rows kept as an SVG: drawn here, so that a page shows it without any script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cdvm._runtime.markup import Markup, tag

__all__ = ["Line", "percent", "score_chart", "ticks"]

_WIDTH, _HEIGHT = 400, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 14, 38
_APART = 34  # units between labels on the axis


@dataclass(frozen=True)
class Line:
    """A curve: a name, a CSS class for its colour, and for each fraction its score and what is around it."""

    name: str
    style: str
    at: Sequence[float]
    scores: Sequence[float]
    around: Sequence[float] | None = None


def ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Round numbers from low to high.

    >>> ticks(0.861, 0.972)
    [0.88, 0.9, 0.92, 0.94, 0.96]
    """
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, math.floor(high / step + 1e-9) + 1)]


def percent(fraction: float) -> str:
    """A fraction as one reads it on an axis.

    >>> percent(0.0501), percent(0.125), percent(0.0004), percent(1.0)
    ('5 %', '12.5 %', '0.04 %', '100 %')
    """
    number = 100 * fraction
    return f"{float(f'{number:.1f}' if number >= 0.1 else f'{number:.1g}'):g} %"


def score_chart(title: str, metric: str, lines: Sequence[Line], all_rows: float) -> Markup:
    """Curves over the fraction of rows kept, on a logarithmic axis, with all rows as a dashed line."""
    plane = _Plane.of(lines, all_rows)
    parts: list[Markup | None] = [_axes(plane, metric)]
    y = plane.y(all_rows)
    parts.append(tag("path", class_="all-rows", d=f"M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"))
    parts += [_band(line, plane) for line in lines]
    parts += [_curve(line, plane) for line in lines]
    return tag(
        "svg",
        tag("title", title),
        *parts,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=f"{title}. The numbers are in the table below.",
    )


@dataclass(frozen=True)
class _Plane:
    fractions: list[float]
    low: float
    high: float

    @classmethod
    def of(cls, lines: Sequence[Line], all_rows: float) -> _Plane:
        seen = [all_rows]
        for line in lines:
            around = line.around or [0.0] * len(line.scores)
            seen += [s + sign * a for s, a in zip(line.scores, around, strict=True) for sign in (-1, 1)]
        finite = [number for number in seen if math.isfinite(number)] or [0.0]
        low, high = min(finite), max(finite)
        room = 0.08 * (high - low) or 0.05 * max(abs(high), 1e-3)
        return cls(sorted({f for line in lines for f in line.at}), low - room, high + room)

    def x(self, fraction: float) -> float:
        first, last = math.log(self.fractions[0]), math.log(self.fractions[-1])
        inner, width = 24, _WIDTH - _LEFT - _RIGHT
        if last - first < 1e-9:
            return _LEFT + width / 2
        return _LEFT + inner + (width - 2 * inner) * (math.log(fraction) - first) / (last - first)

    def y(self, score: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (self.high - score) / (self.high - self.low)


def _axes(plane: _Plane, metric: str) -> Markup:
    parts = []
    for tick in ticks(plane.low, plane.high):
        y = plane.y(tick)
        parts.append(tag("path", class_="grid", d=f"M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"))
        parts.append(tag("text", f"{tick:g}", x=_LEFT - 6, y=f"{y + 4:.1f}", text_anchor="end"))
    last = -math.inf
    for fraction in plane.fractions:
        x = plane.x(fraction)
        parts.append(tag("path", class_="grid", d=f"M{x:.1f} {_HEIGHT - _BOTTOM}v4"))
        if x - last >= _APART:
            label = percent(fraction)
            parts.append(tag("text", label, x=f"{x:.1f}", y=_HEIGHT - _BOTTOM + 18, text_anchor="middle"))
            last = x
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(tag("text", "rows kept", class_="axis", x=middle, y=_HEIGHT - 4, text_anchor="middle"))
    parts.append(tag("text", metric, class_="axis", x=_LEFT, y=_TOP - 3, text_anchor="start"))
    return tag("g", parts)


def _band(line: Line, plane: _Plane) -> Markup | None:
    if line.around is None:
        return None
    found = [p for p in zip(line.at, line.scores, line.around, strict=True) if math.isfinite(p[1])]
    bars = [
        tag("path", class_="bar", d=f"M{plane.x(f):.1f} {plane.y(s + a):.1f}V{plane.y(s - a):.1f}")
        for f, s, a in found
    ]
    upper = [f"{plane.x(f):.1f} {plane.y(s + a):.1f}" for f, s, a in found]
    lower = [f"{plane.x(f):.1f} {plane.y(s - a):.1f}" for f, s, a in reversed(found)]
    area = tag("path", class_="band", d="M" + "L".join(upper + lower) + "Z") if len(found) > 1 else None
    return tag("g", area, bars, class_=line.style)


def _curve(line: Line, plane: _Plane) -> Markup:
    found = [(k, f, s) for k, (f, s) in enumerate(zip(line.at, line.scores, strict=True)) if math.isfinite(s)]
    way = "L".join(f"{plane.x(f):.1f} {plane.y(s):.1f}" for _, f, s in found)
    marks = []
    for k, fraction, score in found:
        spread = f" ± {line.around[k]:.3f}" if line.around is not None else ""
        tip = f"{line.name}, {percent(fraction)} of the rows: {score:.3f}{spread}"
        marks.append(
            tag("circle", cx=f"{plane.x(fraction):.1f}", cy=f"{plane.y(score):.1f}", r=4, data_tip=tip)
        )
    return tag(
        "g", tag("path", class_="curve", d=f"M{way}") if len(found) > 1 else None, marks, class_=line.style
    )
