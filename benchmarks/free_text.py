"""How often free text and vectors differ without reason, what is found in them, and the cost (JSON lines).

python benchmarks/free_text.py null --draws 1000 --jobs 16 >> results/benchmarks/free_text.jsonl
python benchmarks/free_text.py planted --draws 200 --jobs 16 >> results/benchmarks/free_text.jsonl
python benchmarks/free_text.py cost >> results/benchmarks/free_text.jsonl

``null``: sentences of random words, vectors and numbers, with gaps; how often the test finds a difference, and how
often a word is named. ``planted``: a phrase of two words is in 5 % of the sentences of one table and in 20 % of the
other. ``cost``: processor seconds of a comparison of reviews of about 100 words, as frequent as in a language.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from everyday.plan import run_draws
from fewratio import compare_datasets
from fewratio.testing import LEVEL
from fewratio_bench.records import circumstances

SYLLABLES = ["ka", "lo", "mi", "nu", "re", "sa", "ti", "vo"]
WORDS = np.array([first + second for first in SYLLABLES for second in SYLLABLES])


def draw_table(rng: np.random.Generator, n: int, share: float = 0.0) -> dict[str, list[Any]]:
    """Draw sentences of which a share has a phrase, vectors, and numbers; some of each are missing."""
    texts = [" ".join(rng.choice(WORDS, rng.integers(5, 15))) for _ in range(n)]
    texts = [f"{text} full refund" if rng.random() < share else text for text in texts]
    gaps = rng.random((2, n)) < 0.05
    vectors = [row.tolist() for row in rng.normal(size=(n, 6))]
    return {
        "text": [None if gap else text for gap, text in zip(gaps[0], texts, strict=True)],
        "vector": [None if gap else vector for gap, vector in zip(gaps[1], vectors, strict=True)],
        "number": rng.normal(size=n).tolist(),
    }


def find_words(
    rng: np.random.Generator, sizes: tuple[int, int], shares: tuple[float, float], n_permutations: int
) -> tuple[bool, list[str]]:
    """Return whether two tables differ, and the words that are named."""
    tables = [draw_table(rng, n, share) for n, share in zip(sizes, shares, strict=True)]
    result = compare_datasets(*tables, n_permutations=n_permutations, random_state=rng)
    return result.p_value <= LEVEL, [each.text for each in result.words]


def measure_null(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a difference is found, and a word named, though nothing differs."""
    for sizes in ((60, 60), (20, 80)):
        found = run_draws(find_words, args.draws, args.seed, args.jobs, sizes, (0.0, 0.0), 39)
        differ, named = np.mean([[differ, bool(words)] for differ, words in found], axis=0).tolist()
        yield {"what": "null", "rows": sizes, "draws": args.draws, "differ": differ, "named": named}


def measure_planted(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a phrase of 5 % and of 20 % of the rows is found."""
    for n in (100, 200, 400):
        found = run_draws(find_words, args.draws, args.seed, args.jobs, (n, n), (0.05, 0.2), 99)
        counted = [[differ, words[:1] == ["full refund"], len(words) > 1] for differ, words in found]
        differ, first, more = np.mean(counted, axis=0).tolist()
        rates = {"differ": differ, "phrase_first": first, "others_named": more}
        yield {"what": "planted", "rows": [n, n], "draws": args.draws, **rates}


def measure_cost(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Time comparisons of reviews."""
    rng = np.random.default_rng(args.seed)
    known = np.array(["".join(rng.choice(SYLLABLES, rng.integers(1, 5))) for _ in range(20_000)])
    # Zipf's law.
    chances = 1 / np.arange(1, len(known) + 1)
    for n in (1_000, 5_000):
        tables = [
            {
                "review": [
                    " ".join(rng.choice(known, rng.integers(50, 150), p=chances / chances.sum())) for _ in range(n)
                ]
            }
            for _ in range(2)
        ]
        start = time.process_time()
        result = compare_datasets(*tables)
        n_words = len(result.words)
        yield {"what": "cost", "rows": [n, n], "words": n_words, "seconds": round(time.process_time() - start, 2)}


MEASURES = {"null": measure_null, "planted": measure_planted, "cost": measure_cost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(MEASURES))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    for record in MEASURES[args.what](args):
        print(json.dumps({**record, "seed": args.seed, **circumstances()}), flush=True)


if __name__ == "__main__":
    main()
