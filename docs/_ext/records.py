"""Reading records in ``results/``, and writing tables of them."""

import csv
import json
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "results"


def records(name, **wanted):
    """Read the records that have these values, of a benchmark or of a table of ``results/tables/``."""
    path = RESULTS / "benchmarks" / f"{name}.jsonl"
    if path.is_file():
        found = map(json.loads, path.read_text("utf-8").splitlines())
    else:
        with open(RESULTS / "tables" / f"{name}.csv", encoding="utf-8") as file:
            found = [{key: value(text) for key, text in row.items()} for row in csv.DictReader(file)]
    return [each for each in found if wanted.items() <= each.items()]


def only(name, **wanted):
    """Read the last record with these values; an earlier one was measured again."""
    found = records(name, **wanted)
    if not found:
        raise LookupError(f"results/ has no record of {name} with {wanted}")
    return found[-1]


def value(text):
    """Read a number where it is one."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def grid(header, rows, texts=1):
    """Write a table in Markdown; so many columns, from the left, are text."""
    lines = [header, ["---"] * texts + ["---:"] * (len(header) - texts), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def bold_best(numbers, digits, best=max):
    """Write numbers; the best, and those that look like it, in bold."""
    texts = [f"{number:.{digits}f}" for number in numbers]
    return [f"**{text}**" if float(text) == float(texts[numbers.index(best(numbers))]) else text for text in texts]


def both_halves(what, found, columns, digits, best=max):
    """Write a table of both halves of the everyday data; `found` has a number for each method, half and column."""
    methods = list(dict.fromkeys(method for method, *_ in found))
    places = [(half, column) for half in ("test", "development") for column in columns]
    header = [f"{half}: {column}" if column == columns[0] else column for half, column in places]
    numbers = [bold_best([found[method, *place] for method in methods], digits, best) for place in places]
    return grid([what, *header], zip(methods, *numbers, strict=True))
