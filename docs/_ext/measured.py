"""Figures of the pages, made from the records in ``results/``: none of them is typed.

In a page, ``{measured} NAME`` shows a table of `TABLES`, and ``{experiment} NAME`` one of ``results/tables/``. In a
sentence, ``{measured}`NAME; KEY=VALUE; ...; FORMAT``` writes the last record with these values, as `str.format` does.
"""

import re

import tables_answers
import tables_guides
import tables_paper
from docutils import nodes
from records import RESULTS, only, value
from sphinx.util.docutils import SphinxDirective, SphinxRole

TABLES = {
    name: make
    for module in (tables_answers, tables_guides, tables_paper)
    for name, make in vars(module).items()
    if getattr(make, "__module__", "") == module.__name__ and not name.startswith("_")
}


class Measured(SphinxDirective):
    """Show a table."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        return self.parse_text_to_nodes(keep_hyphens(table(self.arguments[0])))


def keep_hyphens(text):
    """Write the name of a collection so that no cell of a table breaks it at its hyphen."""
    return text.replace("Mnist-r", "Mnist\u2011r")


def table(text):
    """Write the table of `TABLES` that a directive names, with its argument."""
    name, _, argument = text.partition(" ")
    return TABLES[name](*filter(None, [argument]))


class Figure(SphinxRole):
    """Write figures of one record."""

    def run(self):
        return [nodes.Text(figure(self.text))], []


def figure(text):
    """Write what a role says: the name of a benchmark, what its record must have, and the format."""
    name, *wanted, form = text.split("; ")
    pairs = (each.split("=", 1) for each in wanted)
    return re.sub(r"(?<=\d)%", " %", form.format(**only(name, **{key: value(given) for key, given in pairs})))


class ExperimentTable(SphinxDirective):
    """Show a table of ``results/tables/``, which a test compares with the records, without its title."""

    required_arguments = 1

    def run(self):
        path = RESULTS / "tables" / f"{self.arguments[0]}.md"
        self.env.note_dependency(str(path))
        text = path.read_text("utf-8").partition("\n")[2]
        return self.parse_text_to_nodes(keep_hyphens(re.sub(r"^## (.*)$", r"**\1**", text, flags=re.MULTILINE)))


def setup(app):
    app.add_directive("measured", Measured)
    app.add_role("measured", Figure())
    app.add_directive("experiment", ExperimentTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
