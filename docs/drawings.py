"""Draw the network of the paper and the rooms before and after: ``python docs/drawings.py``.

The pictures go to ``docs/images``; a test sees that they are current.
"""

from html import escape
from pathlib import Path

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


DRAWINGS = {"network.svg": network, "rooms.svg": rooms}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (IMAGES / name).write_text(draw(), "utf-8")
