"""How often free text and vectors differ without reason, what is found in them, and the cost (JSON lines).

python benchmarks/free_text.py null --draws 300 >> results/benchmarks/free_text.jsonl
python benchmarks/free_text.py planted --draws 50 >> results/benchmarks/free_text.jsonl
python benchmarks/free_text.py cost >> results/benchmarks/free_text.jsonl

``null``: sentences of random words, vectors and numbers, with gaps; how often the test finds a difference, and how
often a word is named. ``planted``: a phrase of two words is in 5 % of the sentences of one table and in 20 % of the
other. ``cost``: processor seconds of a comparison of reviews of about 100 words, as frequent as in a language.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from fewratio import compare_datasets
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


def measure_null(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a difference is found, and a word named, though nothing differs."""
    rng = np.random.default_rng(args.seed)
    for sizes in ((60, 60), (20, 80)):
        found = []
        for _ in range(args.draws):
            result = compare_datasets(*(draw_table(rng, n) for n in sizes), n_permutations=39, random_state=rng)
            found.append([result.p_value <= 0.05, bool(result.words)])
        differ, named = np.mean(found, axis=0).tolist()
        yield {"what": "null", "rows": sizes, "draws": args.draws, "differ": differ, "named": named}


def measure_planted(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a phrase of 5 % and of 20 % of the rows is found."""
    rng = np.random.default_rng(args.seed)
    for n in (100, 200, 400):
        found = []
        for _ in range(args.draws):
            tables = draw_table(rng, n, 0.05), draw_table(rng, n, 0.2)
            result = compare_datasets(*tables, n_permutations=99, random_state=rng)
            words = [each.text for each in result.words]
            found.append([result.p_value <= 0.05, words[:1] == ["full refund"], len(words) > 1])
        differ, first, more = np.mean(found, axis=0).tolist()
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
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for record in MEASURES[args.what](args):
        print(json.dumps({**record, "seed": args.seed, **circumstances()}), flush=True)


if __name__ == "__main__":
    main()
