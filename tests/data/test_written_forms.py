"""Quantities that people write are found; codes, names and categories that hold digits are not."""

import numpy as np
import pandas as pd
import pytest

from fewratio.data.columns import ColumnRules
from fewratio.data.encoding import encode_together
from fewratio.data.written_forms import find_alike, find_forms
from fewratio.errors import FewRatioWarning, InputError

QUANTITIES = {
    "unit": "{x}°C",
    "unit of two words": "{x} Mio. €",
    "abbreviation": "{x} Mio.",
    "divided": "{x} µg/m³",
    "per": "{x} l/100km",
    "currency before": "USD {x}",
    "another currency": "NOK {x}",
    "sign of a currency": "¥{n}",
    "dollars": "US$ {n}",
    "percentage": "{n} %",
    "negative": "({x})",
    "about": "~{n}",
    "less": "<{n}",
    "at least": "≥{n}",
    "with an error": "{x} ± 0.2",
    "of five": "{x}/5",
    "of ten": "{n}/10",
    "beyond a day": "{late}:12:07",
    "hours or minutes": "{late}:30",
    "feet and inches": "{n}'11\"",
    "feet and other inches": "{n}'{late}\"",
    "two numbers": "{n}/{late}",
    "hours and minutes": "{n}h{late}",
    "minutes and seconds": "{n}m{late}s",
    "degrees": "{n}°{late}'N",
    "degrees to the second": "{n}°{late}'{day}\"N",
    "power of ten": "{n}×10^{day}",
    "size": "{n}x{late}",
    "pounds and ounces": "{n} lb {day} oz",
    "currency attached": "USD{n}",
    "abbreviated currency": "Rs. {n}",
    "crowns": "kr {n}",
    "crowns after": "{n} kr",
    "code of a currency": "SEK {n}",
    "fraction": "{n} 3/4",
    "sign of a fraction": "{n}½",
    "thousands of as many digits": "7 1{late}",
    "thousands": "{n},262",
    "thousands by blanks": "{n} 262",
    "thousands by points": "{n}.262.100",
    "thousands by apostrophes": "{n}\u2019262",
    "date": "{day}.01.2024",
}
CODES = {
    "underscore": "sensor_{n}",
    "hyphen": "A-{n}",
    "padded": "SKU-{n:04}",
    "padded after a blank": "SKU {n:04}",
    "word": "Room {n}",
    "postal code": "{n}123-4567",
    "British postal code": "SW{n} 1AA",
    "telephone": "+49 30 12345{n}",
    "telephone in brackets": "(030) 12345{n}",
    "telephone in groups": "612 345 1{late}",
    "version": "1.{n}.3",
    "version with a letter": "v1.{n}",
    "quarter": "Q1 20{late}",
    "year first": "20{late}-Q1",
    "season": "20{late}/{n}",
    "range": "{n}-{late}",
    "address": "192.168.0.{n}",
    "book": "978-3-16-{n:06}-0",
    "number sign": "#{n}",
    "abbreviated word": "No. {n}",
    "sentence": "{n} of the best rooms",
    "and up": "{x} and up",
    "street": "{n} Main St",
    "month": "{day}/2024",
}


def write(form):
    rng = np.random.default_rng(0)
    return [
        form.format(n=n, x=f"{n}.{n % 9 + 1}", late=24 + n, day=n % 28 + 1) for n in rng.integers(1, 70, 12).tolist()
    ]


@pytest.mark.parametrize("form", QUANTITIES.values(), ids=QUANTITIES)
def test_quantities_are_found(form):
    assert find_forms(write(form)).keys() == {*write(form)}


@pytest.mark.parametrize("form", CODES.values(), ids=CODES)
def test_codes_are_not(form):
    assert find_forms(write(form)) == {}


@pytest.mark.parametrize(
    ("texts", "is_measured"),
    [
        (["<=50K", ">50K"], False),
        (["<18", "18-65", ">65"], False),
        (["<18 years", "18-65 years", ">65 years"], False),
        (["12A", "12B", "13A", "14C", "2D", "30F"], False),
        (["1st", "2nd", "3rd", "4th", "5th"], False),
        (["1012 AB", "1013 XY", "1015 GH"], False),
        (["3 Oak Street", "4 Elm Street", "12 Main Street", "9 Oak Street"], False),
        (["4 m", "5 kg"], False),
        (["ISO 9001", "ISO 14001"], False),
        (["8.7M", "201k", "19M", "3.3M"], True),
        (["1.5 kg", "300 g", "2.5 kg", "120 g"], True),
        (["EUR 4", "EUR 12"], True),
        (["<0.1", "3.5", "2"], True),
    ],
)
def test_few_units_with_decimals_are_measured_and_bounds_of_categories_are_not(texts, is_measured):
    assert bool(find_forms(texts)) == is_measured


def test_several_numbers_in_one_text_are_refused_as_such():
    table = pd.DataFrame({"height": write("{n}'{day}\""), "x": range(12)})
    needed = r"looks like quantities of several numbers \(such as .*; a column holds one .*a column for each part"
    with pytest.raises(InputError, match=needed):
        encode_together({"A": table})


@pytest.mark.parametrize(
    ("form", "n_rows", "is_open"),
    [
        ("{n} sq ft", 12, True),
        ("{n}-{late}", 20, True),
        ("20{late}/{n}", 20, True),
        ("{n} sq ft", 200, False),
        # Letters before a number make a code, unless it has decimals.
        ("Room {n}", 20, False),
        ("kr {n}.5", 20, True),
        ("{n} {word} St", 20, False),
        ("{word}", 20, False),
    ],
)
def test_texts_that_differ_in_their_numbers_only_may_be_measured(form, n_rows, is_open):
    numbers = [int(text) for text in write("{n}")]
    texts = [form.format(n=n, late=24 + n, word="abcdefghijkl"[place]) for place, n in enumerate(numbers)]
    assert (find_alike(texts, n_rows) is not None) == is_open


@pytest.mark.parametrize("others", [["X1", "M15"], ["12A", "7b"], ["G0438", "G0439"]])
def test_whole_numbers_beside_codes_are_codes_and_that_is_said(others):
    table = pd.DataFrame({"line": [*map(str, range(7, 19)), *others], "x": range(14)})
    tables = {"A": table, "B": table[::-1]}
    with pytest.warns(FewRatioWarning, match="'line' has texts that are whole numbers, and others such as"):
        assert encode_together(tables)[0].columns[0].left_out == "id"
    with pytest.raises(InputError, match="the first other value is 'unknown'"):
        encode_together({"A": table.replace(others, "unknown")})


def test_what_may_be_measured_is_said():
    table = pd.DataFrame({"area": [f"{n % 9} sq ft" for n in range(12)], "x": range(12)})
    with pytest.warns(FewRatioWarning, match="'area' has texts that differ in their numbers only, such as '0 sq ft'"):
        assert encode_together({"A": table})[0].columns[0].kind == "category"
    assert encode_together({"A": table}, ColumnRules.of({"categorical": "area"}))[0].columns[0].kind == "category"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["4:40", "3:05", "12:10"], ["hours and minutes. For durations, write 4min 40s"]),
        (["0:04:40", "1:03:05", "0:12:10.5"], ["not as durations. For durations, write 0h 04min 40s"]),
        (["9:30", "14:05", "8:00"], []),
        (["09:30:10", "10:05:00", "08:00:00"], []),
    ],
)
def test_short_times_may_be_durations(recwarn, texts, said):
    tables = {name: pd.DataFrame({"length": texts * 4}) for name in "AB"}
    encode_together(tables)
    messages = [str(each.message) for each in recwarn]
    assert len(messages) == len(said)
    assert all(f"read as times of day, {part}" in message for part, message in zip(said, messages, strict=True))
