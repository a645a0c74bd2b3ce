"""Reading needs little memory besides the collection that comes out: never the whole table twice."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

N_BLOCKS, BLOCK_ROWS, N_FEATURES = 12, 100_000, 30

PROGRAM = """
import json, resource, sys
import pyarrow as pa, pyarrow.parquet as pq
from fewratio import Collection

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

def read(path, **options):
    if path.endswith(".parquet"):
        return Collection.from_table(path, "site", **options)
    return Collection.from_folder(path, **options)

path, options = sys.argv[1], json.loads(sys.argv[2])
small = path.removesuffix(".parquet").removesuffix("/") + "_small.parquet"
pq.write_table(pa.table({"site": ["u"], "c0": [1.0]}), small)
read(small, **options)  # what the first call loads is not the table's doing
before = peak()
collection = read(path, **options)
result = sum(dataset.X.nbytes for dataset in collection)
print(json.dumps({"result": result, "beyond": peak() - before - result, "rows": int(collection.sizes.sum())}))
"""


@pytest.fixture(scope="module")
def block():
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.random(BLOCK_ROWS) for j in range(N_FEATURES)}
    return pa.table({"site": [f"s{row % 50}" for row in range(BLOCK_ROWS)], **columns})


def measure(path, options):
    command = [sys.executable, "-c", PROGRAM, str(path), json.dumps(options)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="needs the resource module")
@pytest.mark.parametrize("kind", ["one table", "a folder"])
def test_a_table_is_never_held_twice(tmp_path, block, kind):
    path = tmp_path / "table.parquet"
    if kind == "one table":
        with pq.ParquetWriter(path, block.schema, compression="none", use_dictionary=["site"]) as writer:
            for _ in range(N_BLOCKS):
                writer.write_table(block)
    else:
        path = tmp_path / "folder"
        path.mkdir()
        for number in range(N_BLOCKS):
            pq.write_table(block.drop_columns("site"), path / f"{number}.parquet", compression="none")
    measured = measure(path, {"missing": "median"} if kind == "one table" else {})
    assert measured["rows"] == N_BLOCKS * BLOCK_ROWS
    assert measured["result"] == 8 * N_BLOCKS * BLOCK_ROWS * N_FEATURES  # 288 MB
    # What one piece takes, and some bytes a row to sort by; the table once more would be 1.
    assert measured["beyond"] < 0.7 * measured["result"]
