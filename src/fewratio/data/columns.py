"""What a column may hold, how the columns of two tables compare, and words for messages about both."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from fewratio.errors import FewRatioError, InputError

# The kinds of columns; any other is named after its type.
NUMBER, BOOLEAN, TEXT, CATEGORY, DATE, MISSING = "number", "boolean", "text", "category", "date", "nothing"
PLURALS = {NUMBER: "numbers", BOOLEAN: "booleans", CATEGORY: "categories", DATE: "dates"}
# The names of columns, or only how many there are.
Features: TypeAlias = "int | tuple[str, ...]"

_LISTED = 5
_SAME = "both must have the same columns. Select the same ones in both."


def counted(n: int, noun: str) -> str:
    """Return ``"1 row"``, ``"2 rows"``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def first_few(items: Iterable[str], most: int = _LISTED) -> str:
    """Return the first few items, and how many more there are."""
    names = list(items)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def listed(items: Iterable[object], most: int = _LISTED) -> str:
    """Return the first few items as Python would write them, and how many more there are."""
    return first_few(map(repr, items), most)


def told_apart(
    first: float, second: float, write: Callable[[float, int], str] = lambda value, digits: f"{value:.{digits}g}"
) -> list[str]:
    """Return two numbers as texts, with as many digits as it takes to tell them apart and how far."""
    texts = {digits: [write(value, digits) for value in (first, second)] for digits in (4, 5, 6, 8, 12)}
    different = [digits for digits, (one, other) in texts.items() if one != other]
    # One digit more, unless four tell enough: 1013.27 and 1014.46, not 1013 and 1014.
    clear = [digits for digits in different if abs(second - first) * 10.0 ** (digits - 1) >= 20 * abs(first)]
    return texts[(clear or different or [4])[0]]


def signed(difference: float) -> str:
    """Return a difference with its sign and two digits; of large ones all before the point."""
    return f"{difference:+.2g}" if abs(difference) < 100 else f"{difference:+.0f}"


def is_number(text: str) -> bool:
    """Tell whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_features(
    table: str,
    found: Features,
    reference: str,
    needed: Features,
    error: type[FewRatioError] = InputError,
    need: str = _SAME,
) -> None:
    """Raise an error of the given type if the features of one table differ from another's; `need` ends its message.

    Names count only if both tables have them.
    """
    count, needed_count = (each if isinstance(each, int) else len(each) for each in (found, needed))
    problem, details = f"has {counted(count, 'column')} but {reference} has {needed_count}", ""
    if isinstance(found, tuple) and isinstance(needed, tuple):
        if found == needed:
            return
        pairs = (("missing", needed, set(found)), ("unexpected", found, set(needed)))
        parts = {part: [name for name in these if name not in those] for part, these, those in pairs}
        details = "; ".join(f"{part}: {listed(names)}" for part, names in parts.items() if names)
        if count == needed_count:
            kind = "other column names than" if details else "another order of columns than"
            problem = f"has {kind} {reference}"
    elif count == needed_count:
        return
    raise error(f"{table} {problem}{f' ({details})' if details else ''}; {need}")
