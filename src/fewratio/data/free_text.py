"""Free text and vectors as a few numbers: the directions in which all rows together vary most.

A text is the sum of the vectors of its different words. A word is a hashed vector of itself and of its runs of three to
five letters, so that words that share a stem are alike. Nothing here knows which table a text is from.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# Numbers of a hashed word; runs of letters; and the most directions of texts and of vectors.
_BUCKETS, _LETTERS, _TEXT_DIRECTIONS, _VECTOR_DIRECTIONS = 2**12, (3, 4, 5), 8, 32
# Most texts from which directions are learned.
_MOST_TEXTS = 20_000
# Text of so many words on average, most of which differ, is free text.
_LEAST_WORDS, _DIFFERENT = 4, 0.5
# Fewest rows of a word or phrase to compare, and the most words and phrases.
_LEAST_ROWS, _MOST_TERMS = 5, 2_000
_TOKEN = re.compile(r"\w+(?:['\u2019-]\w+)*|[^\w\s]")
# A direction that is weaker than the strongest by this factor is rounding.
_ROUNDING = 1e-6

Directions = tuple[tuple[float, ...], ...]


class Terms(NamedTuple):
    """Which rows have which words and phrases of two words: an array of shape (n_rows, n_terms), and their texts."""

    rows: csr_array
    texts: list[str]


def is_free_text(counts: dict[str, int]) -> bool:
    """Return whether texts, each with its number of rows, have four words on average, and most rows their own text."""
    n_rows = sum(counts.values())
    if not n_rows or len(counts) <= _DIFFERENT * n_rows:
        return False
    return sum(n * len(text.split()) for text, n in counts.items()) >= _LEAST_WORDS * n_rows


def count_words(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return how many words each text has."""
    return np.array([len(text.split()) for text in texts], dtype=np.float64)


def learn_text(texts: Sequence[str]) -> Directions:
    """Return the directions in which different texts vary most, each with the mean of all texts as its last number."""
    from scipy.sparse.linalg import LinearOperator, svds

    texts = sorted(set(texts))
    texts = texts[:: -(-len(texts) // _MOST_TEXTS)]
    words, hashed = _hash_texts(texts)
    centre = hashed.T @ (words.T @ np.full(len(texts), 1 / len(texts)))
    most = min(_TEXT_DIRECTIONS, len(texts) - 1)
    if most < 1:
        return ()
    centred = LinearOperator(
        (len(texts), _BUCKETS),
        matvec=lambda direction: words @ (hashed @ direction.ravel()) - centre @ direction.ravel(),
        rmatvec=lambda rows: hashed.T @ (words.T @ rows.ravel()) - centre * rows.sum(),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).normal(size=min(centred.shape))
    _, sizes, directions = svds(centred, most, v0=start, return_singular_vectors="vh")
    return _write_directions(sizes, directions, centre)


def encode_texts(texts: Sequence[str], directions: Directions) -> NDArray[np.float64]:
    """Return texts as numbers of shape (n, n_directions)."""
    words, hashed = _hash_texts(texts)
    given = np.array(directions)
    return words @ (hashed @ given[:, :-1].T) - given[:, -1]


def learn_vectors(vectors: NDArray[np.float64]) -> Directions:
    """Return the directions in which vectors vary most, at least one, each with their mean as its last number."""
    vectors = vectors[np.lexsort(vectors.T)]
    centre = vectors.mean(0)
    squares, directions = np.linalg.eigh((vectors - centre).T @ (vectors - centre))
    sizes = np.sqrt(squares[-_VECTOR_DIRECTIONS:].clip(0))
    nothing = ((0.0,) * (len(centre) + 1),)
    return _write_directions(sizes, directions.T[-_VECTOR_DIRECTIONS:], centre) or nothing


def encode_vectors(vectors: NDArray[np.float64], directions: Directions) -> NDArray[np.float64]:
    """Return vectors as numbers of shape (n, n_directions)."""
    given = np.array(directions)
    return vectors @ given[:, :-1].T - given[:, -1]


def find_terms(codes: NDArray[np.intp], texts: Sequence[str]) -> Terms:
    """Find the words and phrases of two words that several rows have, and some rows have not.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        The number of each row's text; -1 where it is missing.
    texts : sequence of str
    """
    known, word, text = _split_words(texts)
    is_word = np.array([each[0].isalnum() or each[0] == "_" for each in known], dtype=np.bool_)
    follows = np.flatnonzero((text[1:] == text[:-1]) & is_word[word[1:]] & is_word[word[:-1]])
    phrases, phrase = np.unique(word[follows] * len(known) + word[follows + 1], return_inverse=True)
    own = np.flatnonzero(is_word[word])
    pairs = np.stack([np.r_[text[own], text[follows]], np.r_[word[own], len(known) + phrase]], axis=1)
    n_terms = len(known) + len(phrases)
    # The last text is that of missing ones.
    held = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(texts) + 1, n_terms))
    held.data[:] = 1
    times = np.bincount(codes[codes >= 0], minlength=len(texts) + 1)
    counts = held.T @ times
    kept = np.flatnonzero((counts >= _LEAST_ROWS) & (counts <= len(codes) - _LEAST_ROWS))
    written = [_write_term(place, known, phrases) for place in kept.tolist()]
    order = sorted(range(len(kept)), key=lambda place: (-counts[kept[place]], written[place]))[:_MOST_TERMS]
    return Terms(csr_array(held[:, kept[order]][codes]), [written[place] for place in order])


def _write_term(place: int, known: Sequence[str], phrases: NDArray[np.intp]) -> str:
    if place < len(known):
        return known[place]
    return " ".join(known[each] for each in divmod(int(phrases[place - len(known)]), len(known)))


def _split_words(texts: Sequence[str]) -> tuple[list[str], NDArray[np.intp], NDArray[np.intp]]:
    """Return the words and signs of texts in small letters, and of each of them, one after the other, word and text."""
    number = defaultdict[str, int]()
    number.default_factory = number.__len__
    words = [_TOKEN.findall(text.lower()) for text in texts]
    text = np.repeat(np.arange(len(texts)), list(map(len, words)))
    word = np.fromiter(map(number.__getitem__, chain.from_iterable(words)), dtype=np.intp, count=len(text))
    return list(number), word, text


def _hash_texts(texts: Sequence[str]) -> tuple[csr_array, Any]:
    """Return texts by their words, of length 1, and the words by their hashed numbers, of length 1 too."""
    from sklearn.feature_extraction.text import HashingVectorizer

    known, word, text = _split_words(texts)
    words = csr_array((np.ones(len(word)), (text, word)), shape=(len(texts), max(1, len(known))))
    words.data[:] = 1
    lengths = np.sqrt(np.maximum(np.diff(words.indptr), 1))
    words.data /= np.repeat(lengths, np.diff(words.indptr))
    hashed = HashingVectorizer(analyzer=_list_parts, n_features=_BUCKETS).transform(known or [""])
    return words, csr_array(hashed)


def _list_parts(word: str) -> list[str]:
    """Return a word and its runs of letters; a blank marks where it begins and ends."""
    marked = f" {word} "
    return [word, *(marked[start : start + n] for n in _LETTERS for start in range(len(marked) - n + 1))]


def _write_directions(
    sizes: NDArray[np.float64], directions: NDArray[np.float64], centre: NDArray[np.float64]
) -> Directions:
    """Return directions, given with ascending sizes, as plain numbers, the strongest first, without those of size 0."""
    found = []
    for size, direction in zip(sizes[::-1], directions[::-1], strict=True):
        if size > _ROUNDING * sizes[-1]:
            signed = direction * np.sign(direction[np.abs(direction).argmax()])
            rounded = np.array([float(f"{number:.6g}") for number in signed.tolist()])
            found.append((*rounded.tolist(), float(centre @ rounded)))
    return tuple(found)
