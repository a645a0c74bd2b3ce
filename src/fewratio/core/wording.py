"""Texts for messages: counts, lists, and numbers with enough digits to differ."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_DOWN, Context
from typing import Any, SupportsInt

_LISTED = 5
# Numbers at least as large, and smaller ones, are written with an exponent: nobody counts so many zeros.
_LARGE, _SMALL = 1e15, 1e-4

# Numbers of four digits, and those with groups of digits; a minus sign in front of a number.
_FOUR, _GROUPED = re.compile(r"([+-]?\d)(\d{3}(?:\.\d+)?)"), re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")

# Describes divergences if no rows are held out.
OF_FITTED_ROWS = "from the rows of the fit, so too large on average; a comparison of two tables uses other rows"
# Explains divergences of datasets if one of them is 0.
NONE_NEARER = "(a divergence of 0: the model sees no difference; several such datasets are equally near)"


def write_count(n: SupportsInt, noun: str) -> str:
    """Return ``"1 row"``, ``"2 rows"``."""
    return f"{write_fixed(int(n), 0)} {noun}{'' if n == 1 else 's'}"


def write_label(label: object) -> str:
    """Return the label of a column as its name: a year without a decimal point, a date without midnight.

    Examples
    --------
    >>> write_label(1960.0), write_label(("height", "mean")), write_label("size")
    ('1960', 'height mean', 'size')
    """
    if isinstance(label, tuple):
        # pandas has ("name", "") beside ("height", "mean").
        return " ".join(filter(None, map(write_label, label)))
    whole = isinstance(label, float) and label.is_integer()
    return str(label).removesuffix(".0" if whole else " 00:00:00" if not isinstance(label, str) else "")


def name_columns(labels: Iterable[object]) -> tuple[str, ...]:
    """Return the names of columns; those that have none are named by their number, as pandas does.

    Examples
    --------
    >>> name_columns(["", "Unnamed: 0", "size"])
    ('Unnamed: 0.1', 'Unnamed: 0', 'size')
    """
    names = list(map(write_label, labels))
    given = set(names)
    for place, name in enumerate(names):
        numbers = (f"Unnamed: {place}{f'.{n}' if n else ''}" for n in range(len(names)))
        names[place] = name or next(each for each in numbers if each not in given)
    return tuple(names)


def shorten(name: object, length: int = 40) -> str:
    """Cut out the middle of a long name: names of columns and files often differ at their ends."""
    text = str(name)
    half = (length - 1) // 2
    return text if len(text) <= length else f"{text[:half].rstrip()}…{text[-half:].lstrip()}"


def shorten_apart(names: Sequence[str], length: int) -> list[str]:
    """Shorten names such that different ones stay different, if one place to cut does that.

    Examples
    --------
    >>> shorten_apart(["a_first_column", "a_final_column"], 10)
    ['a_first_c…', 'a_final_c…']
    """
    found = [shorten(name, length) for name in names]
    # The more is kept of the end, the later.
    for n_first in range(length - 1, 0, -1):
        if len(set(found)) >= len(set(names)):
            break
        n_last = length - 1 - n_first
        cut = (f"{name[:n_first].rstrip()}…{name[len(name) - n_last :].lstrip()}" for name in names)
        found = [name if len(name) <= length else text for name, text in zip(names, cut, strict=True)]
    return found


def write_list(items: Iterable[str], most: int = _LISTED, separator: str = ", ") -> str:
    """Return the first few items, and how many more there are."""
    names = list(items)
    return separator.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def start_sentence(text: str, names: Iterable[object]) -> str:
    """Begin a sentence with a capital letter, unless it begins with one of some names.

    Examples
    --------
    >>> start_sentence("order_id is new", ["order_id"]), start_sentence("no difference", [])
    ('order_id is new', 'No difference')
    """
    return text if text.startswith(tuple(map(str, names))) else f"{text[:1].upper()}{text[1:]}"


def join_names(names: Sequence[str]) -> str:
    """Write names as people do.

    Examples
    --------
    >>> join_names(["age"]), join_names(["age", "city"]), join_names(["age", "city", "size"])
    ('age', 'age and city', 'age, city and size')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def quote_list(items: Iterable[object], most: int = _LISTED) -> str:
    """Return the first few items as Python would write them, and how many more there are."""
    return write_list(map(repr, items), most)


def write_fixed(value: float | int, n_decimals: int) -> str:
    """Write a number with some decimals; digits are grouped from 10,000 on, since four may be a year.

    Examples
    --------
    >>> write_fixed(1166248.2, 0), write_fixed(1985.0, 0), write_fixed(-0.5, 2)
    ('1,166,248', '1985', '-0.50')
    """
    text = f"{value:,.{n_decimals}f}"
    return text if round(abs(value), n_decimals) >= 10_000 else text.replace(",", "")


def write_number(value: float | int, digits: int = 4) -> str:
    """Write a number with some digits, and with all digits before the point; only extreme ones have an exponent.

    Examples
    --------
    >>> write_number(6.66187, 3), write_number(873450.2), write_number(0.00012), write_number(1.2e-7)
    ('6.66', '873,450', '0.00012', '1.2e-7')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if math.isnan(value) or abs(value) >= _LARGE or 0 < abs(value) < _SMALL:
        return f"{value:.{digits}g}".replace("e+", "e").replace("e-0", "e-")
    text = write_fixed(value, max(0, digits - 1 - math.floor(math.log10(abs(value) or 1.0))))
    return text.rstrip("0").rstrip(".") if "." in text else text


def write_p(p_value: float | None) -> str:
    """Write a p-value with two digits, and none as no text.

    Examples
    --------
    >>> write_p(2 / 924), write_p(0.001), write_p(1.0)
    ('0.0022', '0.001', '1')
    """
    return "" if p_value is None else write_number(p_value, 2)


def write_divergence(divergence: float) -> str:
    """Write a divergence with two digits, and with two decimals at least.

    Examples
    --------
    >>> write_divergence(0.4231), write_divergence(0.5), write_divergence(0.0191), write_divergence(0.0)
    ('0.42', '0.50', '0.019', '0')
    """
    if divergence == 0 or not 0.001 <= abs(divergence) < 100:
        return write_number(divergence, 2 if abs(divergence) < 1 else 3)
    return write_fixed(divergence, max(2, 1 - math.floor(math.log10(abs(divergence)))))


def group_alike(texts: Sequence[str]) -> list[str]:
    """Group the digits of numbers of one column alike; texts that are no numbers stay as they are.

    Examples
    --------
    >>> group_alike(["6363", "10,696", "May 2007"]), group_alike(["1952", "2007"])
    (['6,363', '10,696', 'May 2007'], ['1952', '2007'])
    """
    is_long = any(map(_GROUPED.fullmatch, texts))
    return [_FOUR.sub(r"\1,\2", text) if is_long and _FOUR.fullmatch(text) else text for text in texts]


def typeset_minus(text: str) -> str:
    r"""Replace hyphens in front of numbers by minus signs, as axes have them.

    Examples
    --------
    >>> typeset_minus("-0.50 in 2020-01-01, sample-1").encode("ascii", "namereplace").decode()
    '\\N{MINUS SIGN}0.50 in 2020-01-01, sample-1'
    """
    return _MINUS.sub("\u2212", text)


def write_alike(values: Sequence[float]) -> list[str]:
    """Write numbers of one column with the same number of decimals, unless their sizes are too different.

    Examples
    --------
    >>> write_alike([-1.4, -1.013, 0.0]), write_alike([3e5, 0.25])
    (['-1.40', '-1.01', '0.00'], ['300,000', '0.25'])
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    # With three digits of the largest, the smallest still has one.
    if not sizes or max(sizes) > 100 * min(sizes) or not _SMALL <= max(sizes) < _LARGE:
        return [write_number(value) for value in values]
    n_decimals = max(0, 2 - math.floor(math.log10(max(sizes))))
    return [write_fixed(value, n_decimals) if math.isfinite(value) else write_number(value) for value in values]


def write_apart(*values: float, write: Callable[[float, int], str] = write_number) -> list[str]:
    """Return numbers as texts, with enough digits to show that they differ, and by how much."""
    texts = {digits: [write(value, digits) for value in values] for digits in (4, 5, 6, 8, 12)}
    different = [digits for digits, written in texts.items() if len(set(written)) > 1]
    # One more digit, unless four are enough: 1013.27 and 1014.46, not 1013 and 1014.
    reach = max(values) - min(values)
    clear = [digits for digits in different if reach * 10.0 ** (digits - 1) >= 20 * abs(values[0])]
    return texts[(clear or different or [4])[0]]


def write_limit(value: float) -> str:
    """Write a lower limit of a divergence, rounded down.

    Examples
    --------
    >>> write_limit(0.4953), write_limit(0.409), write_limit(0.00299)
    ('0.49', '0.40', '0.0029')
    """
    return write_divergence(float(Context(prec=2, rounding=ROUND_DOWN).create_decimal(repr(float(value)))))


def write_signed(difference: float) -> str:
    """Return a difference with its sign and two digits; large ones with all digits before the point."""
    return f"{'+' if difference >= 0 else ''}{write_number(difference, 2)}"


def write_share(share: float) -> str:
    """Write a share as a percentage, small ones with a decimal.

    Examples
    --------
    >>> write_share(0.182), write_share(0.0042), write_share(0.0)
    ('18 %', '0.4 %', '0 %')
    """
    return f"{share * 100:.{int(0 < share < 0.01)}f} %"


def write_cell(value: Any, digits: int = 5) -> str:
    """Write a value of a table; of a vector only the first numbers, and a missing one as a dash.

    Examples
    --------
    >>> write_cell(2 / 3), write_cell("lamp"), write_cell([2 / 3, 1, 0.25, 7]), write_cell(None)
    ('0.66667', 'lamp', '[0.667, 1, 0.25, ...]', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, list) and all(isinstance(each, float | int) for each in value):
        return f"[{', '.join([*(write_number(each, 3) for each in value[:3]), *(['...'] if len(value) > 3 else [])])}]"
    if isinstance(value, bool) or not isinstance(value, float | int):
        return str(value)
    return write_number(value, digits) if isinstance(value, float) else write_fixed(value, 0)
