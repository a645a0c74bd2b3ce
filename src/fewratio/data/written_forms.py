"""Quantities and dates as people write them, which no program reads without being told how."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from fewratio.errors import name_parameter

_WRITTEN = "dates with a weekday or a year of two digits"
_DATES = {
    "dates with the day or month first": re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?:[ T].*)?"),
    _WRITTEN: re.compile(
        r"(?i:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? .*\d{4}.*"
        r"|\d{1,2}([ ./-])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\1\d{2}(?: .*)?)"
    ),
}
# A number does not begin with zeros before other digits: those are codes.
_SEPARATORS = r",.'\u2019 \u00a0\u202f"
_NUMBER = rf"(?:[1-9]\d{{0,2}}(?:[{_SEPARATORS}]\d{{3}})+|0|[1-9]\d*|(?=[.,]\d))(?:[.,]\d+)?(?:[eE][-+]?\d+)?"
# Two words are a text (4.1 and up), unless one is abbreviated or a sign.
_SIGNS = "°%‰$€£¥₹'\"′″"
_UNIT = rf"(?:[^\W\d_]{{1,4}}(?:\. | (?=[{_SIGNS}])))?(?:[{_SIGNS}]|°?[^\W\d_]+\.?)(?:[/^·*][^\W_]*)*"
# Letters before a number make it a code (sensor_12, Q1 2024, Room 7), unless they name a currency.
_CODES = "USD EUR GBP JPY CHF CNY INR SEK NOK DKK PLN CZK HUF AUD CAD NZD BRL MXN ZAR KRW TRY SGD HKD ILS"
_CURRENCY = rf"[A-Z]{{0,2}}[$€£¥₹]|(?:{_CODES.replace(' ', '|')}|(?:Rs|[Kk]r|Fr)\.?|zł|Kč) ?|[A-Z]{{3}} (?=\d+[.,]\d)|"
# Several numbers make one quantity (120/80, 5 1/4, 3h05, 52°30'N); with a year they may be a season or a month.
_YEAR = r"(?:19|20)\d\d(?!\d)"
_FRACTIONS = re.compile("[¼½¾⅐-⅞]")
_PARTS = rf"(?:\s\d+(?=/\d))?(?:\s?(?:[/×*·^{_SIGNS}]|[a-z])\s?(?!{_YEAR})\d+(?:[.,]\d+)?)+(?:\s?{_UNIT}[NSEW]?)?"
_QUANTITY = re.compile(
    rf"(?P<sign>[<>≤≥=~≈±+\u2212\u2013(-]*)\s?(?P<currency>{_CURRENCY})\s?[-+\u2212]?(?P<number>(?!{_YEAR}/){_NUMBER})"
    rf"(?:\s?(?:±|\+/?-)\s?{_NUMBER})?(?P<unit>:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?|{_PARTS}"
    rf"|\s?{_UNIT}(?:\s?{_NUMBER}\s?{_UNIT})?|)\)?"
)
_VAGUE = set("<>≤≥=~≈")
# Groups of digits of equal length may be a code, such as a number of a telephone.
_GROUPED = re.compile(r"\d{3}(?:[ .\u00a0\u202f]\d{3})+")
_DECIMAL_COMMA = re.compile(r"0?,\d+|.*[.'\u2019 ]\d*,\d+|\d+,(?!\d{3}(?!\d))\d+(?:[eE].*)?|\d{4,},\d+")
# From this many different numbers on, they are measured, not bounds of categories such as <18 and >65.
_MANY = 8
# Texts have the same form if at least this share of them are equal except for their numbers.
_ALIKE = 0.9
# Texts with fewer rows each than this, on average, seldom repeat.
_FEW_REPEATS = 4
_DIGITS, _MARKED = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(rf"\d[{_SEPARATORS}:]\d")
_DECIMAL = re.compile(r"\d[.,]\d")
DECIMAL_COMMAS, EITHER_COMMAS = "decimal commas", "numbers with commas"
_PARTED = "quantities of several numbers"
_TIMES = "durations, or times of day beyond 24 hours"


def find_forms(texts: Collection[str]) -> dict[str, str]:
    """Find the texts of a column that write dates or quantities in a form that is not read, and name their forms.

    Texts are quantities, not codes or categories, if they have one unit, or few and decimals. With neither unit nor
    separator nor decimals (<42), they need many different numbers.

    Examples
    --------
    >>> find_forms(["16.99 kg", "17.5 kg"])
    {'16.99 kg': "numbers with the unit 'kg'", '17.5 kg': "numbers with the unit 'kg'"}
    >>> find_forms(["<=50K", ">50K"]), find_forms(["sensor_12", "sensor_13"]), find_forms(["12A", "7B", "12C"])
    ({}, {}, {})
    """
    forms = {text: form for text in texts for form, pattern in _DATES.items() if pattern.fullmatch(text)}
    found = {text: match for text in texts if text not in forms and (match := _QUANTITY.fullmatch(text))}
    if len({sum(map(str.isdigit, text)) for text in texts}) == 1:
        found = {text: match for text, match in found.items() if not _GROUPED.fullmatch(text)}
    shapes = {text: _find_shape(match) for text, match in found.items()}
    units, numbers = {*shapes.values()} - {""}, {match["number"] for match in found.values()}
    if len(units) > 1 and len(parted := {_DIGITS.sub("0", unit) for unit in units}) == 1:
        units = parted
    exact = {text: match["number"] for text, match in found.items() if not _VAGUE & {*match["sign"]}}
    has_marks = [bool(re.search(f"[{_SEPARATORS}]", number)) for number in exact.values()]
    is_sure = any(has_marks) or any(shapes[text] for text in exact) or len(numbers) >= _MANY
    of_one_unit = len(units) <= 1 and is_sure and (len(numbers) > 1 or not units)
    if of_one_unit or (any(has_marks) and 2 * len(units) <= len(numbers)):
        form = _name_form(units, [match["number"] for match in found.values()])
        forms |= dict.fromkeys(found, form)
    return forms


def are_measured(texts: Collection[str], n_rows: int) -> bool:
    """Return whether texts with numbers are measurements, not categories: many, of several parts, or rarely repeated.

    Examples
    --------
    >>> are_measured(["4WD", "2WD"], 50), are_measured(["4 kg", "7 kg"], 3), are_measured(["4.5 kg", "7.1 kg"], 50)
    (False, True, True)
    """
    is_marked = any(map(_MARKED.search, texts)) or any(map(_DATES[_WRITTEN].fullmatch, texts))
    return len(texts) >= _MANY or 2 * len(texts) > n_rows or is_marked


def find_alike(texts: Collection[str], n_rows: int) -> str | None:
    """Return one of many texts that seldom repeat and differ in their numbers only, but may be quantities or codes.

    Letters before a number without decimals make it a code.

    Examples
    --------
    >>> find_alike([f"{n} sq ft" for n in range(20)], 20), find_alike([f"{n} {n}th St" for n in "abcdefghijk"], 20)
    ('0 sq ft', None)
    """
    skeletons = Counter(_DIGITS.sub("0", text) for text in texts)
    skeleton, count = skeletons.most_common(1)[0]
    is_code = not re.match(r"\W*0", skeleton) and not any(map(_DECIMAL.search, texts))
    is_alike = count >= _ALIKE * len(texts) and "0" in skeleton and not is_code
    may_be_measured = is_alike and len(texts) >= _MANY and _FEW_REPEATS * len(texts) > n_rows
    return next(text for text in texts if _DIGITS.sub("0", text) == skeleton) if may_be_measured else None


def advise(form: str) -> tuple[str, str]:
    """Return how values of a form must be written instead, and what to do."""
    if form.startswith("dates"):
        return "dates have the year first or the month as a word, as in 2024-01-31", "Rewrite the dates"
    if form == _PARTED:
        return "a column holds one number in each row", "Write one number, or a column for each part"
    if form == _TIMES:
        return "times of day end at 23:59, and durations have units, as in 35h 12min", "Rewrite the values"
    read = name_parameter("decimal", ",", "read_table(path, decimal=',')")
    points = f"replace the commas by points (in text files, {read} does so)"
    if form == DECIMAL_COMMAS:
        return "numbers have decimal points, as in 1366.8", points[0].upper() + points[1:]
    if form == EITHER_COMMAS:
        thousands = "If the commas divide thousands, as is likely where three digits follow each, remove them"
        return "numbers are written as 1366.8", f"{thousands}; if they are decimal marks, {points}"
    return (
        "numbers have no units, currency signs or thousands separators, as in 1366.8",
        "Remove what is not part of the numbers",
    )


def has_decimal_comma(number: str) -> bool:
    """Return whether a comma within a number cannot be a thousands separator.

    Examples
    --------
    >>> [number for number in ("1,5", "0,125", "1.250,5", "1,250", "1,250.5") if has_decimal_comma(number)]
    ['1,5', '0,125', '1.250,5']
    """
    return _DECIMAL_COMMA.fullmatch(number.lstrip("+-")) is not None


def _find_shape(match: re.Match[str]) -> str:
    """Return what is beside the numbers of a quantity: the unit, with what a number is divided by."""
    unit = match["unit"].strip()
    if _FRACTIONS.fullmatch(unit):
        return "0/0"
    # What a number is divided by is of the unit (4/5, 7 l/100km) if it is the same everywhere.
    return match["currency"].strip() + (":" if unit.startswith(":") else unit)


def _name_form(units: Collection[str], numbers: Collection[str]) -> str:
    if ":" in units:
        return _TIMES
    if len(units) == 1:
        unit = next(iter(units))
        return _PARTED if "0" in unit else f"numbers with the unit {unit!r}"
    commas = [number for number in numbers if "," in number]
    if units or not commas:
        return "numbers with separators, signs or units"
    if any(map(has_decimal_comma, commas)):
        return DECIMAL_COMMAS
    is_plain = all(re.fullmatch(r"\d+,\d{3}", number) for number in commas)
    return EITHER_COMMAS if is_plain else "numbers with thousands separators"
