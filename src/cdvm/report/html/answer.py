"""The question, the answer and how sure it is; scores over the rows kept; the ways that were compared."""

from __future__ import annotations

import math
from typing import Any

from cdvm._runtime.markup import Markup, join, tag
from cdvm.report.html.chart import Line, percent, score_chart
from cdvm.report.html.tables import Column, columns, note, table
from cdvm.report.summary import PARTS, Verdict, judge, part_of

__all__ = ["answer", "curves", "leaderboard"]

_WORDS: dict[Verdict, str] = {
    "better": "better than random rows",
    "unclear": "not clearly better than random rows",
    "no better": "no better than random rows",
    "all rows": "all rows",
}
_STYLES: dict[Verdict, str] = {"better": "good", "unclear": "unsure", "no better": "bad", "all rows": "good"}


def answer(report: dict[str, Any], outside: list[int]) -> Markup:
    """Sentence, cards and doubts; ``outside`` has the evaluation rows outside each budget's set."""
    told = (
        tag("p", f"{_first_up(report['smallest']['told'])}.", class_="lead") if "smallest" in report else None
    )
    if not report["budgets"]:
        return join([told])
    first = next(iter(report["budgets"].values()))
    part = part_of(first["evaluated_with"][report["learner"]])
    found = first["evaluated_with"][report["learner"]][part]
    n = {"test": report["test_rows"], "validation": report["validation_rows"], "outside": outside[0]}[part]
    lead = [
        f"Of {report['candidates']:,} rows, ",
        tag("strong", f"{first['rows']:,} ({first['fraction']:.1%}) give {report['learner']} "),
        tag("strong", f"{_article(report['metric'])} of {found['kept']:.3f}"),
        f" on {n:,} {PARTS[part]}: {_compared(found['kept'] - found['random'], 'random rows')} and "
        f"{_compared(found['kept'] - found['all_rows'], 'all rows')}.",
    ]
    cards = [_card(report, line, part) for line in report["budgets"].values()]
    return join(
        [
            told,
            tag("p", lead, class_="lead"),
            tag("ul", cards, class_="cards"),
            [note(sentence) for sentence in _uncertainty(report, found, part, n)],
        ]
    )


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]


def _article(metric: str) -> str:
    return f"{'an' if metric[0] in 'aeiR' else 'a'} {metric}"


def _compared(above: float, what: str) -> str:
    if abs(above) < 0.0005:
        return f"as much as {what}"
    return f"{abs(above):.3f} {'above' if above > 0 else 'below'} {what}"


def _card(report: dict[str, Any], line: dict[str, Any], part: str) -> Markup:
    found, verdict = line["evaluated_with"][report["learner"]][part], judge(report, line)
    std, above = found["random_std"], found["kept"] - found["random"]
    random = f"random rows {found['random']:.3f} ± {std:.3f}"
    if std > 0 and above > 0:
        random = f"{above / std:.1f} standard deviations above {random}"
    return tag(
        "li",
        tag("h3", f"{line['fraction']:.1%}", tag("span", f" · {line['rows']:,} rows")),
        tag("p", f"{found['kept']:.3f}", class_="score"),
        tag("p", _WORDS[verdict], class_=f"verdict {_STYLES[verdict]}"),
        tag("p", random),
        tag("p", f"all rows {found['all_rows']:.3f}"),
    )


def _uncertainty(report: dict[str, Any], found: dict[str, Any], part: str, n: int) -> list[str]:
    draws = report["random_draws"]
    told = [
        f"Random rows: mean ± standard deviation of {draws} draws of as many rows. A set counts as better "
        "than random rows if it is above their mean by more than two standard errors of that mean."
    ]
    if report["metric"] == "accuracy" and 0 < found["kept"] < 1:
        error = 1.96 * math.sqrt(found["kept"] * (1 - found["kept"]) / n)
        told.append(
            f"The {n:,} {PARTS[part]} are a sample themselves: other rows of the same kind would move an "
            f"accuracy by up to ± {error:.3f} (95 %), and kept and random rows mostly together."
        )
    if part == "outside":
        told.append(
            "The other rows are those outside each set, which choosing has seen; all rows are scored by "
            "five-fold cross-validation. Rows held out for the report would tell more."
        )
    optimism = [line["optimism"] for line in report["budgets"].values() if line.get("optimism") is not None]
    if optimism and max(optimism) >= 0.0005:
        told.append(
            "Rows were exchanged for better ones by retraining; evaluation rows held back from that saw up "
            f"to {max(optimism):.3f} less of the gain."
        )
    return told


def curves(report: dict[str, Any], series: list[str]) -> Markup:
    """A chart for each model and part, and its numbers; ``series`` has each budget's method."""
    budgets = list(report["budgets"].values())
    first = budgets[0]["evaluated_with"] if budgets else {}
    figures = [_searched(report)] if "curve" in report else []
    figures += [
        _figure(report, model, part, series)
        for model, parts in first.items()
        for part in sorted(parts, key=list(PARTS).index)
    ]
    return tag("div", figures, class_="figures")


def _searched(report: dict[str, Any]) -> Markup:
    """The curve by rows that had no part in choosing, everything done anew without them."""
    points = sorted(report["curve"], key=lambda point: float(point["fraction"]))
    at = [point["fraction"] for point in points]
    kept, random = (
        Line(name, style, at, [p[key] for p in points], [p[f"{key}_error"] for p in points])
        for name, style, key in (
            (f"{report['method']}, ± standard error", "ours", "score"),
            ("random rows, ± standard error", "random", "random"),
        )
    )
    title = f"{report['curve_metric']} on {points[0]['n_rows']:,} rows that had no part in choosing"
    rows = [
        [
            percent(p["fraction"]),
            *(f"{p[key]:.3f} ± {p[f'{key}_error']:.3f}" for key in ("score", "random", "all_rows", "loss")),
        ]
        for p in points
    ]
    heads = columns("Kept#", "Score#", "Random rows#", "All rows#", "Loss#")
    return _drawn(title, report["curve_metric"], [random, kept], points[0]["all_rows"], heads, rows)


def _figure(report: dict[str, Any], model: str, part: str, series: list[str]) -> Markup:
    budgets = list(report["budgets"].values())
    found = [line["evaluated_with"][model][part] for line in budgets]
    lines = [_random(budgets, found)]
    for number, name in enumerate(dict.fromkeys(series)):
        some = [k for k, other in enumerate(series) if other == name]
        style = "ours" if number == 0 else f"other-{(number - 1) % 4}"
        lines.append(
            Line(name, style, [budgets[k]["fraction"] for k in some], [found[k]["kept"] for k in some])
        )
    all_rows = found[0]["all_rows"]
    rows = [
        [
            name,
            f"{budget['fraction']:.1%}",
            budget["rows"],
            f["kept"],
            f"{f['random']:.3f} ± {f['random_std']:.3f}",
            all_rows,
        ]
        for name, budget, f in zip(series, budgets, found, strict=True)
    ]
    heads = columns("Method", "Kept#", "Rows#", "Score#", "Random rows#", "All rows#")
    title = f"{report['metric']} of {model} on {PARTS[part]}"
    return _drawn(title, report["metric"], [_sorted(line) for line in lines], all_rows, heads, rows)


def _drawn(
    title: str, metric: str, lines: list[Line], all_rows: float, heads: list[Column], rows: list[list[Any]]
) -> Markup:
    legend = [
        *(tag("li", tag("i", class_=line.style), line.name) for line in reversed(lines)),
        tag("li", tag("i", class_="all-rows"), f"all rows, {all_rows:.3f}"),
    ]
    return tag(
        "figure",
        tag("figcaption", _first_up(title)),
        score_chart(title, metric, lines, all_rows),
        tag("ul", legend, class_="legend"),
        tag("details", tag("summary", "The numbers"), table(title, heads, rows, quiet=True)),
    )


def _random(budgets: list[dict[str, Any]], found: list[dict[str, Any]]) -> Line:
    sizes = {b["fraction"]: f for b, f in zip(budgets, found, strict=True)}
    return Line(
        "random rows, ± standard deviation",
        "random",
        list(sizes),
        [f["random"] for f in sizes.values()],
        [f["random_std"] for f in sizes.values()],
    )


def _sorted(line: Line) -> Line:
    order = sorted(range(len(line.at)), key=lambda k: line.at[k])

    def of(numbers: Any) -> list[float]:
        return [numbers[k] for k in order]

    around = None if line.around is None else of(line.around)
    return Line(line.name, line.style, of(line.at), of(line.scores), around)


def leaderboard(report: dict[str, Any]) -> Markup | None:
    """How each way of choosing did, with a bar for its doubt; None where there was but one."""
    parts = []
    for line in report["budgets"].values():
        ways = line.get("leaderboard") or []
        if not ways:
            continue
        low = min(w["score"] - w["standard_error"] for w in ways)
        high = max(w["score"] + w["standard_error"] for w in ways)
        rows = [
            [
                tag("strong", w["name"], " – kept") if w["kept"] else w["name"],
                f"{w['score']:.3f} ± {w['standard_error']:.3f}",
                _range(w, low, high),
                w["fits"],
                f"{w['seconds']:.1f}",
            ]
            for w in ways
        ]
        title = f"Ways to choose {line['rows']:,} rows ({line['fraction']:.1%})"
        heads = columns("Way", "Score#", "Among the others", "Fits#", "Seconds#")
        parts.append(table(title, heads, rows))
    if not parts:
        return None
    why = (
        f"Each way's rows were given to {report['learner']} itself and scored on the rows outside "
        f"({report['ways_compared_by']}); ± is the standard error of the gain over random sets."
    )
    return join([note(why), parts])


def _range(way: dict[str, Any], low: float, high: float) -> Markup:
    def x(score: float) -> float:
        return 6 + 108 * (score - low) / ((high - low) or 1)

    error, middle = way["standard_error"], x(way["score"])
    bar = f"M{x(way['score'] - error):.1f} 8H{x(way['score'] + error):.1f}"
    parts = [tag("path", class_="bar", d=bar), tag("circle", cx=f"{middle:.1f}", cy=8, r=4)]
    style = "range ours" if way["kept"] else "range random"
    return tag("svg", parts, viewBox="0 0 120 16", class_=style, aria_hidden="true")
