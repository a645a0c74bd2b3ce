"""Categories that may be misprints of others."""

import re
from collections.abc import Collection
from difflib import SequenceMatcher, get_close_matches
from itertools import combinations

_DIGITS = re.compile(r"\d")
# What `difflib` calls similar; among more categories than that some are.
_SIMILAR, _MOST_COMPARED = 0.6, 100


def find_misprints(texts: Collection[str], known: Collection[str]) -> dict[str, str]:
    """Find texts that may be misprints of known categories: more like one than known ones are like each other.

    Examples
    --------
    >>> find_misprints(["ideal ", "Ideel", "Fair"], ["Ideal", "Very Good"])
    {'ideal ': 'Ideal', 'Ideel': 'Ideal'}
    """
    by_folded, found = {_fold(each): each for each in known}, {}
    are_few = max(len(texts), len(by_folded)) <= _MOST_COMPARED
    for text in texts:
        folded = _fold(text)
        near = [folded] if folded in by_folded else get_close_matches(folded, by_folded, 1, _SIMILAR) * are_few
        # Other numbers are no misprint.
        if near == [folded] or (near and _DIGITS.sub("", near[0]) != _DIGITS.sub("", folded)):
            found[text] = near[0]
    closest = _closest_pair(by_folded) if are_few and found else 0.0
    return {
        text: by_folded[near]
        for text, near in found.items()
        if near == _fold(text) or SequenceMatcher(None, near, _fold(text)).ratio() > closest
    }


def differ_in_a_letter(first: str, second: str) -> bool:
    """Return whether texts differ in case, blanks and at most one letter, or two that changed places.

    Examples
    --------
    >>> [differ_in_a_letter(*pair) for pair in (("Ideal ", "ideal"), ("mal", "male"), ("ALB", "LGB"))]
    [True, True, False]
    """
    short, long = sorted((_fold(first), _fold(second)), key=len)
    if len(short) < len(long):
        return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))
    n_other = sum(one != other for one, other in zip(short, long, strict=True))
    return n_other <= 1 or (n_other == 2 and sorted(short) == sorted(long))


def _fold(text: str) -> str:
    return "".join(text.casefold().split())


def _closest_pair(texts: Collection[str]) -> float:
    """Return how similar the most similar of these texts are, from 0 to 1."""
    return max((SequenceMatcher(None, *pair).ratio() for pair in combinations(texts, 2)), default=0.0)
