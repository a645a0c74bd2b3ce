"""Reading a file needs little memory besides the table that comes out: never its text, or the table twice."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

N_ROWS, N_FEATURES = 1_000_000, 20

PROGRAM = """
import json, re, sys
from pathlib import Path
from fewratio.data.readers.files import find_file, read_columns

def peak():
    # Not getrusage: there the peak of the process that started this one counts, too.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

path = Path(sys.argv[1])
small = path.with_name(f"small{path.suffix}")
read_columns(find_file(small))  # what the first call loads is not the table's doing
before = peak()
table = read_columns(find_file(path))
print(json.dumps({"table": table.nbytes, "beyond": peak() - before - table.nbytes, "rows": len(table)}))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_is_held_once(tmp_path, suffix):
    rng = np.random.default_rng(0)
    table = pa.table({f"c{j}": rng.random(N_ROWS) for j in range(N_FEATURES)})
    path = tmp_path / f"table.{suffix}"
    write = pc.write_csv if suffix == "csv" else pq.write_table
    write(table[:5], tmp_path / f"small.{suffix}")
    write(table, path)
    command = [sys.executable, "-c", PROGRAM, str(path)]
    measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    path.unlink()
    assert measured["rows"] == N_ROWS
    assert measured["table"] >= 8 * N_ROWS * N_FEATURES  # 160 MB
    # Blocks and buffers take about 70 and 110 MB however long the file is; its text would be 380, the table again 160.
    assert measured["beyond"] < 0.9 * measured["table"]
