"""Draw how a comparison works, the network of the paper, and the rooms before and after: ``python docs/drawings.py``.

The pictures go to ``docs/images``; a test sees that they are current.
"""

from html import escape
from itertools import combinations
from pathlib import Path
from statistics import NormalDist, fmean

IMAGES = Path(__file__).parent / "images"
FIRST, SECOND, INK, MUTED, PALE, BLUE = "#009e73", "#9a6fb0", "#1f2328", "#6b7280", "#f3f4f6", "#0072b2"


def box(x, y, width, height, *lines, fill=PALE, stroke=MUTED, size=14, bold=False):
    """Draw a rounded box with lines of text in its middle."""
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" stroke="{stroke}"/>']
    first = y + height / 2 - (len(lines) - 1) * size * 0.62
    for number, line in enumerate(lines):
        weight = "bold" if bold and not number else "normal"
        place = f'x="{x + width / 2}" y="{first + number * size * 1.24:.1f}" font-size="{size}" font-weight="{weight}"'
        parts.append(f'<text {place} text-anchor="middle" dominant-baseline="middle">{escape(line)}</text>')
    return "".join(parts)


def text(x, y, line, size=13, colour=MUTED, anchor="start"):
    """Write a line."""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{escape(line)}</text>'


def arrow(*points, colour=MUTED):
    """Draw an arrow along points."""
    path = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6" marker-end="url(#head)"/>'


def rows(x, y, colour, shape):
    """Draw the five rows of a sample."""
    found = []
    for dx, dy in ((8, 10), (26, 4), (44, 13), (18, 27), (38, 30)):
        if shape == "o":
            found.append(f'<circle cx="{x + dx}" cy="{y + dy}" r="5" fill="{colour}"/>')
        else:
            place = f"{x + dx},{y + dy - 6} {x + dx - 6},{y + dy + 5} {x + dx + 6},{y + dy + 5}"
            found.append(f'<polygon points="{place}" fill="{colour}"/>')
    return "".join(found)


def page(width, height, title, *parts):
    """Put parts on a white card, which is readable on dark pages too."""
    head = '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    head = f'<defs>{head}<path d="M0,0 L10,5 L0,10 z" fill="{MUTED}"/></marker></defs>'
    card = f'<rect width="{width}" height="{height}" rx="10" fill="white"/>'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
    opening += f'width="{width}" height="{height}" role="img" fill="{INK}" '
    opening += 'font-family="Helvetica, Arial, sans-serif">'
    return "\n".join([opening, f"<title>{escape(title)}</title>", head, card, *parts, "</svg>"]) + "\n"


def curve(points, colour, fill="none"):
    """Draw a curve along points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="{fill}" fill-opacity="0.18" stroke="{colour}" stroke-width="2.5"/>'


def comparison():
    """Draw the steps of a comparison: five rows of each table, the ratio, and the permutations."""
    first, second = NormalDist(0, 1), NormalDist(2, 1)
    grid = [-2.6 + 7.2 * number / 72 for number in range(73)]
    quantiles = [(number + 0.5) / 5 for number in range(5)]
    drawn = [first.inv_cdf(share) for share in quantiles], [second.inv_cdf(share) for share in quantiles]

    def place(x, left):
        return left + (x + 2.6) / 7.2 * 270

    titles = ("1. A few rows of each table", "2. The ratio of each row", "3. Could it be chance?")
    parts = [text(left, 30, title, 16, INK) for left, title in zip((24, 344, 664), titles, strict=True)]
    for density, values, colour, y in ((first, drawn[0], FIRST, 216), (second, drawn[1], SECOND, 236)):
        heights = [(place(x, 24), 190 - 300 * density.pdf(x)) for x in grid]
        parts.append(curve([(heights[0][0], 190), *heights, (heights[-1][0], 190)], colour, fill=colour))
        parts += [f'<circle cx="{place(x, 24):.1f}" cy="{y}" r="6" fill="{colour}"/>' for x in values]
    ratios = [2 * first.pdf(x) / (first.pdf(x) + second.pdf(x)) for x in grid]
    for ratio, words in ((2, "2: only in the first table"), (1, "1: in both equally"), (0, "0: only in the second")):
        y = 190 - 60 * ratio
        parts.append(f'<line x1="344" x2="614" y1="{y}" y2="{y}" stroke="{MUTED}" stroke-dasharray="3 4"/>')
        parts.append(text(614 if ratio else 344, y - 7, words, 13, MUTED, "end" if ratio else "start"))
    parts.append(curve([(place(x, 344), 190 - 60 * ratio) for x, ratio in zip(grid, ratios, strict=True)], INK))
    for values, colour in zip(drawn, (FIRST, SECOND), strict=True):
        for x in values:
            y = 190 - 120 * first.pdf(x) / (first.pdf(x) + second.pdf(x))
            parts.append(f'<circle cx="{place(x, 344):.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>')
    rows_of_both = [*drawn[0], *drawn[1]]
    differences = [
        abs(fmean(rows_of_both[i] for i in chosen) - fmean(rows_of_both[i] for i in range(10) if i not in chosen))
        for chosen in combinations(range(10), 5)
    ]
    observed = differences[0]
    counts = [sum(number <= 7 * each < number + 1 for each in differences) for number in range(16)]
    for number, count in enumerate(counts):
        size = f'x="{664 + 17 * number}" y="{190 - 2.3 * count:.1f}" width="15" height="{2.3 * count:.1f}"'
        parts.append(f'<rect {size} fill="#c9ced6"/>')
    x = 664 + 17 * 7 * observed
    parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="62" y2="190" stroke="{INK}" stroke-width="2.5"/>')
    parts.append(text(x - 8, 72, "your tables", 13, INK, "end"))
    parts.append(text(664, 72, "shuffled rows", 13))
    parts.append('<line x1="664" x2="936" y1="190" y2="190" stroke="#6b7280"/>')
    extreme = sum(each >= observed - 1e-9 for each in differences)
    parts.append(text(664, 220, f"{extreme} of {len(differences)} ways to shuffle the rows", 13, INK))
    parts.append(text(664, 238, f"differ as much: p = {extreme / len(differences):.3f}", 13, INK))
    parts.append(text(344, 220, "The further the ratios are from 1,", 13, INK))
    parts.append(text(344, 238, "the larger the divergence.", 13, INK))
    return page(960, 262, "How a comparison works", *parts)


def network():
    """Draw the network: samples, their vectors, features, weights, ratio."""
    parts = []
    for y, colour, shape, name in ((30, FIRST, "o", "nu"), (130, SECOND, "^", "de")):
        word = {"nu": "numerator", "de": "denominator"}[name]
        parts += [
            rows(24, y, colour, shape),
            text(20, y + 58, f"few rows of the {word}", 12),
            arrow((82, y + 18), (118, y + 18)),
            box(120, y, 60, 36, "f", fill="white"),
            arrow((180, y + 18), (210, y + 18)),
            box(212, y, 66, 36, "mean"),
            arrow((278, y + 18), (308, y + 18)),
            box(310, y, 60, 36, "g", fill="white"),
            arrow((370, y + 18), (400, y + 18)),
            box(402, y, 66, 36, f"z {name}", stroke=colour),
        ]
    parts += [
        '<circle cx="435" cy="258" r="6" fill="#d55e00"/>',
        text(420, 262, "an instance x", 13, INK, "end"),
        arrow((468, 48), (505, 48), (505, 134), (528, 134)),
        arrow((468, 148), (528, 148)),
        arrow((444, 258), (505, 258), (505, 162), (528, 162)),
        box(530, 112, 130, 72, "h", "[x, z nu, z de]", fill="white", bold=True),
        arrow((660, 148), (694, 148)),
        box(696, 122, 96, 52, "φ(x) > 0", "100 features", size=13),
        arrow((792, 148), (826, 148)),
        box(828, 118, 128, 60, "ratio", "r(x) = w′φ(x)", stroke="#d55e00", bold=True),
        box(
            690, 226, 266, 62, "weights in closed form, Eq. 5", "w = (K + λI)⁻¹ k", fill="white", stroke=BLUE, bold=True
        ),
        arrow((744, 174), (744, 224), colour=BLUE),
        arrow((892, 226), (892, 180), colour=BLUE),
        text(736, 204, "φ of the samples' own rows", 12, MUTED, "end"),
        text(530, 100, "three layers, softplus", 12),
        text(150, 24, "three layers", 12, MUTED, "middle"),
        text(340, 24, "two layers", 12, MUTED, "middle"),
        text(150, 108, "the same f and g for both samples", 12),
    ]
    return page(976, 306, "The network of the paper", *parts)


BEFORE = (
    "cli",
    "web",
    "demos",
    "applications",
    "report",
    "charts",
    "checks",
    "estimators",
    "training",
    "optim, nn",
    "data",
    "core",
)
# Rooms from the top to the bottom, each with what it was made from.
AFTER = (
    ("fewratio_web", ("web",)),
    ("app.py", ("cli",)),
    ("demo, learn, ratio", ("cli", "demos")),
    ("compare, outliers, changes, weights, many", ("cli", "applications", "report", "charts")),
    ("cli: the frame", ("cli",)),
    ("report, charts: what tasks share", ("report", "charts")),
    ("testing", ("applications",)),
    ("estimators: base, contract, choose, samples", ("applications", "checks", "estimators")),
    ("kernel, classifier, closed_form, mixtures", ("estimators",)),
    ("networks: nn, optim, training", ("estimators", "training", "optim, nn", "core")),
    ("data", ("data",)),
    ("core: also units, draws, files", ("estimators", "core")),
)


def rooms():
    """Draw where each part of the old packages is now; a room imports only from rooms below it."""
    middles = {name: 50 + 44 * number for number, name in enumerate(BEFORE)}
    parts = [text(20, 22, "before: packages by kind", 14, INK), text(470, 22, "after: rooms by task", 14, INK)]
    for number, (_, made_from) in enumerate(AFTER):
        y = 50 + 44 * number
        for name in made_from:
            start = middles[name]
            colour = FIRST if name in ("cli", "applications", "report", "charts") else MUTED
            curve = f"M200,{start} C320,{start} 350,{y} 470,{y}"
            parts.append(f'<path d="{curve}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    parts += [box(20, y - 16, 180, 32, name) for name, y in middles.items()]
    for number, (name, made_from) in enumerate(AFTER):
        stroke, fill = (FIRST, "white") if len(made_from) == 4 and "cli" in made_from else (MUTED, PALE)
        parts.append(box(470, 34 + 44 * number, 360, 32, name, stroke=stroke, fill=fill))
    return page(850, 574, "The rooms of fewratio before and after", *parts)


DRAWINGS = {"comparison.svg": comparison, "network.svg": network, "rooms.svg": rooms}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (IMAGES / name).write_text(draw(), "utf-8")
