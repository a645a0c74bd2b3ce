"""What the API answers is what the command line answers."""

import io
import json
import re
import runpy
import shlex
import shutil
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load
from typer.testing import CliRunner

import fewratio_web as web
from fewratio.app import app as command_line
from fewratio.cli.frame import _finite
from fewratio.data.readers.files import COMPRESSED, SUFFIXES
from fewratio.demo.examples import write_examples
from fewratio_web.limits import Limits

STATIC = Path(web.__file__).parent / "static"
LISTS = ("TABLES", "COMPRESSED", "LARGEST_MB")
COMPARED = {"a": "example-grower_1", "b": "example-grower_2"}
INPUTS = {
    "compare": COMPARED,
    "outliers": {"normal": "example-grower_1", "unlabelled": "example-delivery"},
    "changes": {"series": "example-machine"},
    "monitor": {"reference": "example-line_reference", "batches": ["example-line_monday", "example-line_tuesday"]},
    "weights": {"train": "example-delivery", "target": "example-grower_1"},
    "compare-all": {"folder": "example-sensors"},
    "judge": {"folder": "example-sensors", "new": "example-sensor_41"},
    "train": {"sources": "example-sensors"},
}
STAGES = {"judge": "compare-all"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the example tables, in which lines of the page can be run."""
    write_examples(tmp_path)
    for path in (*tmp_path.glob("wines/*"), *tmp_path.glob("line/*"), *tmp_path.glob("new/*")):
        path.rename(tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# A model's header is in another order in each process; that of the page is looked at below.
@pytest.mark.slow
@pytest.mark.parametrize("verb", [verb for verb in INPUTS if verb != "train"])
def test_the_shell_line_gives_the_same_files(client, folder, verb):
    job = client.run(STAGES.get(verb, verb), INPUTS[verb])
    assert (job["state"], job["message"]) == ("done", None)
    _, *arguments = shlex.split(job["shell"].partition(" > ")[0])
    done = CliRunner().invoke(command_line, arguments)
    assert done.exit_code == 0, done.output
    printed = "result.json" if ">" in job["shell"] else "answer.txt"
    assert client.result(job, printed).text == done.stdout
    written = {file["name"] for file in job["files"]} - {printed}
    assert written
    # The header of a state, too, is in another order in each process.
    for name in written - {"state.fewratio"}:
        assert client.result(job, name).content == (folder / name).read_bytes()


def test_every_question_of_the_page_is_asked_here(client):
    pages = client.get("/api/v1/pages").json()["pages"]
    asked = [page for each in pages for page in (each, *each["next"])]
    # That of new tables is `compare` with a model.
    assert {page["verb"] for page in asked} == {STAGES.get(name, name) for name in INPUTS}


def run_python(job, result=True):
    """Run the Python lines of a job, and return their result as JSON has it."""
    Path("same.py").write_text(job["python"])
    found = runpy.run_path("same.py")
    return json.loads(json.dumps(_finite(found["result"].to_dict()))) if result else None


def read_result(client, job):
    assert job["state"] == "done", job
    return json.loads(client.result(job, "result.json").text)


# What files are called is not known in Python, and of outliers the command explains those that are flagged.
NOT_IN_PYTHON = {"names", "explanations", "row_names", "batches", "skipped"}


@pytest.mark.parametrize(
    ("verb", "with_model"),
    [
        *(pytest.param(verb, False, marks=[pytest.mark.slow] * (verb == "train")) for verb in INPUTS),
        *(pytest.param(verb, True, marks=pytest.mark.slow) for verb in ("compare", "compare-all", "judge")),
    ],
)
def test_the_python_lines_give_the_same_result(client, folder, capsys, verb, with_model):
    is_folder = verb in ("compare-all", "judge", "train")
    dropped = "row" if is_folder else "length" if verb == "monitor" else "ash"
    inputs, columns = INPUTS[verb], {"drop": [dropped]} if verb != "changes" else {}
    options = {"seed": 3, **({"contamination": 0.2} if verb == "outliers" else {}), **columns}
    if with_model:
        trained = client.run("train", INPUTS["train"])
        (model,) = [file["id"] for file in trained["files"] if file["name"] == "sensors.safetensors"]
        Path("sensors.safetensors").write_bytes(client.result(trained, "sensors.safetensors").content)
        new = {"a": "example-sensor_41", "b": "example-sensor_42"} if verb == "compare" else inputs
        inputs, options = {**new, "model": model}, {"seed": 3}
    job = client.run(STAGES.get(verb, verb), inputs, options=options)
    assert job["state"] == "done", job
    if verb == "train":
        run_python(job, result=False)
        models = [
            load(content)
            for content in (client.result(job, "sensors.safetensors").content, Path("sensors.safetensors").read_bytes())
        ]
        assert models[0].keys() == models[1].keys()
        assert all((models[0][name] == models[1][name]).all() for name in models[0])
        return
    of_command, of_python = read_result(client, job), run_python(job)
    for found in (of_command, of_python):
        for name in NOT_IN_PYTHON:
            found.pop(name, None)
    assert of_python == of_command


def test_the_python_lines_read_a_file_as_the_command_does(client, tmp_path, monkeypatch, capsys):
    # pandas takes these codes for numbers, and a zone that is called NA for a gap.
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sent = {}
    for number, side in enumerate("ab"):
        zones = ["NA" if chance < (0.9, 0.1)[number] else "EU" for chance in rng.random(40)]
        rows = [f"0{rng.integers(10, 30)},{zone},{rng.normal():.3f}" for zone in zones]
        Path(f"{side}.csv").write_text("\n".join(["code,zone,size", *rows, ""]))
        sent[side] = client.upload(f"{side}.csv", Path(f"{side}.csv").read_bytes()).json()["id"]
    job = client.run("compare", sent)
    with pytest.warns(UserWarning, match="'code' has leading zeros, such as '0[0-9]+'; it is read as text"):
        of_python = run_python(job)
    assert of_python["p_value"] == read_result(client, job)["p_value"] < 0.05


def test_the_python_lines_decide_on_a_header_as_the_command_does(client, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng, sent = np.random.default_rng(0), {}
    for side in "ab":
        rows = [f"{first:.3f},{second:.3f}" for first, second in rng.normal(size=(9, 2))]
        Path(f"{side}.csv").write_text("\n".join(["12,1.25", *rows, ""]))
        sent[side] = client.upload(f"{side}.csv", Path(f"{side}.csv").read_bytes()).json()["id"]
    job = client.run("compare", sent)
    assert any("as it is the same in all files" in note for note in job["notes"])
    with pytest.warns(UserWarning, match="same in all files"):
        assert run_python(job)["n_rows"] == [9, 9]
    job = client.run("compare", sent, options={"header": "false"})
    assert run_python(job)["n_rows"] == read_result(client, job)["n_rows"] == [10, 10]


KINDS = {
    ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    ".tsv.gz": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    ".csv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    ".tsv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    ".arrow": lambda frame, path: frame.to_feather(path),
    ".feather": lambda frame, path: frame.to_feather(path),
    ".npy": lambda frame, path: np.save(path, frame),
    ".npz": lambda frame, path: np.savez(path, is_outlier=np.zeros(len(frame), bool), X=frame),
    "1.npz": lambda frame, path: np.savez(path, frame),
}


# Two kinds at once: each job has a process of its own.
@pytest.mark.parametrize(
    "endings", [(".csv", ".tsv"), (".jsonl", ".tsv.gz"), (".arrow", ".feather"), (".npy", ".npz"), ("1.npz", "1.npz")]
)
def test_the_python_lines_read_files_of_every_kind(client, tmp_path, monkeypatch, capsys, endings):
    monkeypatch.chdir(tmp_path)
    rng, sent = np.random.default_rng(0), {}
    for number, (side, ending) in enumerate(zip("ab", endings, strict=True)):
        KINDS[ending](pd.DataFrame(rng.normal(number, 1, (12, 2)), columns=["x", "y"]), f"{side}{ending}")
        sent[side] = client.upload(f"{side}{ending}", Path(f"{side}{ending}").read_bytes()).json()["id"]
    marks = {"separator": ";", "decimal": ","} if ".csv" in endings else {}
    job = client.run("compare", sent, options={"permutations": 9, **marks})
    assert job["state"] == "done", job
    assert run_python(job)["divergence"] == read_result(client, job)["divergence"]


def test_what_is_said_of_columns_reaches_the_command(client):
    job = client.run("compare", COMPARED, options={"drop": ["ash", "hue"], "id": "bottle", "categorical": ["closure"]})
    assert "--drop ash --drop hue --id bottle --categorical closure" in job["shell"]
    assert job["state"] == "done"


def test_columns_tell_what_they_are_taken_for(client):
    found = json.loads(client.result(client.run("columns", {"tables": [*COMPARED.values()]}), "result.json").text)
    assert found["rows"] == [20, 10]
    kinds = {each["name"]: each["kind"] or each["left_out"] for each in found["columns"]}
    assert kinds["bottle"] == "id"
    assert kinds["analysed"] == "shows which table came first"
    notes = {each["name"]: each["note"] for each in found["columns"]}
    assert notes["alcohol"].startswith("alcohol alone separates all rows: ")
    assert (kinds["closure"], kinds["proline"]) == ("category", "number")


def test_groups_of_one_table_are_compared(client, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = "x,team\n" + "".join(f"{number + 5 * (number % 3)},{'abc'[number % 3]}\n" for number in range(30))
    Path("teams.csv").write_text(table)
    sent = client.upload("teams.csv", table).json()["id"]
    job = client.run("compare", {"a": sent}, options={"by": "team"})
    assert job["state"] == "done", job
    assert "compare_datasets(a, by='team', random_state=0)" in job["python"]
    assert run_python(job)["p_value"] == read_result(client, job)["p_value"]
    assert len(json.loads(client.result(job, "result.json").text)["groups"]) == 3
    assert "expected two tables" in client.run("compare", {"a": sent})["message"]


def test_own_tables_of_the_same_name_are_kept_apart(client):
    sent = [client.upload("data.csv", "x,y\n" + "1,2\n2,1\n3,3\n" * count).json() for count in (1, 2)]
    job = client.run("compare", {"a": sent[0]["id"], "b": sent[1]["id"]})
    assert job["state"] == "done", job
    assert shlex.split(job["shell"])[2:4] == ["data.csv", "2-data.csv"]


@pytest.mark.parametrize("name", ["rows.csv", "Rows.csv", "2-rows.csv"])
def test_tables_with_names_of_results_are_kept_apart(client, name):
    table = "x,y\n" + "1,2\n2,1\n3,3\n" * 3
    sent = [client.upload(each, table).json()["id"] for each in (name, "rows.csv")]
    job = client.run("compare", {"a": sent[0], "b": sent[1]})
    assert job["state"] == "done", job
    assert "ratio" in client.result(job, "rows.csv").text


@pytest.mark.parametrize("name", ["messages.txt", "result.json", "answer.txt", "report.html", "all.ZIP.zip"])
def test_folders_may_have_any_name(client, name):
    content = {f"{each}.csv": f"x,y\n{each},2\n2,{each}\n3,3\n" for each in range(3)}
    made = client.upload(name, kind="folders").json()["id"] if "zip" not in name else None
    for each, text in content.items():
        if made:
            client.post(f"/api/v1/folders/{made}/files", params={"name": each}, content=text)
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for each, text in content.items():
            archive.writestr(f"v1..2/{each}", text)
    sent = client.upload(f"{name}.zip", zipped.getvalue(), kind="folders")
    assert sent.status_code == 201, sent.text
    job = client.run("compare-all", {"folder": made or sent.json()["id"]})
    assert job["state"] == "done", job


def test_a_name_is_taken_once_into_a_folder(client, app):
    made = client.upload("tables", kind="folders").json()["id"]

    def send(name):
        return client.post(f"/api/v1/folders/{made}/files", params={"name": name}, content=b"x\n1\n")

    assert [send(name).status_code for name in ("a.csv", "b.csv/c.csv")] == [201, 201]
    for name, taken in {"a.csv": "a.csv", "a.csv/b.csv": "a.csv", "b.csv": "b.csv"}.items():
        answer = send(name)
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith(f"folder 'tables' has {taken!r} already; each name must be unique")
    folder = app.app.state.runner.store.files[made].path
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a.csv", "c.csv"]


@pytest.mark.slow
def test_a_model_judges_new_tables_and_can_be_sent_again(client):
    trained = client.run("train", INPUTS["train"])
    model = client.result(trained, "sensors.safetensors")
    again = client.upload("mine.safetensors", model.content).json()
    new = {"a": "example-sensor_41", "b": "example-sensor_42"}
    (kept,) = [file["id"] for file in trained["files"] if file["name"] == "sensors.safetensors"]
    jobs = [client.run("compare", {**new, "model": id}, options={"permutations": 99}) for id in (kept, again["id"])]
    first, second = (json.loads(client.result(job, "result.json").text) for job in jobs)
    assert first == second
    assert "--model mine.safetensors" in jobs[1]["shell"]
    judged = client.run("compare-all", {**INPUTS["judge"], "model": kept})
    assert json.loads(client.result(judged, "result.json").text)["new_p_values"]["sensor_41"] > 0.05
    assert "Nothing shows that sensor_41 is unlike the 40 other datasets" in client.result(judged, "report.html").text


@pytest.mark.slow
def test_a_folder_is_sent_file_by_file_or_as_a_zip_file(client, folder):
    made = client.upload("sensors", kind="folders").json()
    for path in sorted(folder.glob("sensors/*")):
        made = client.post(
            f"/api/v1/folders/{made['id']}/files", params={"name": f"a/{path.name}"}, content=path.read_bytes()
        ).json()
    archive = Path(shutil.make_archive("sensors", "zip", folder / "sensors"))
    unpacked = client.upload("sensors.zip", archive.read_bytes(), kind="folders").json()
    assert made["files"] == unpacked["files"] == 40
    jobs = [client.run("compare-all", {"folder": each["id"]}) for each in (made, unpacked)]
    assert client.result(jobs[0], "rows.csv").text == client.result(jobs[1], "rows.csv").text


@pytest.mark.slow
def test_a_job_can_be_cancelled_and_is_gone_at_once(client):
    job = client.start_long().json()
    while job["progress"] is None and job["state"] in ("queued", "running"):
        job = client.get(f"/api/v1/jobs/{job['id']}", params={"wait": 5}).json()
    assert job["progress"]["total"] == 100_000, job
    # A page that is loaded again counts on from here.
    assert 0 < job["seconds"] < 60
    before = time.monotonic()
    assert client.delete(f"/api/v1/jobs/{job['id']}").json()["state"] == "cancelled"
    assert time.monotonic() - before < 10
    assert client.run("compare", COMPARED)["state"] == "done"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"verb": "compare", "inputs": {"b": "example-grower_1"}}, "compare.inputs.a cannot be used (Field required)"),
        ({"verb": "compare", "inputs": {**COMPARED, "c": "x"}}, "compare.inputs.c cannot be used"),
        ({"verb": "compare", "inputs": COMPARED, "options": {"clip": 2}}, "compare.options.clip cannot be used"),
        ({"verb": "compare", "inputs": COMPARED, "options": {"id": ["ash", "hue"]}}, "compare.options.id cannot"),
        ({"verb": "delete", "inputs": {}}, "the request cannot be used"),
        (
            {"verb": "compare", "inputs": {**COMPARED, "b": "example-sensors"}},
            "'sensors' is a folder; input b is a table",
        ),
        (
            {"verb": "train", "inputs": {"sources": "example-machine"}},
            "'machine.csv' is a file; input sources is a folder",
        ),
        (
            {"verb": "outliers", "inputs": INPUTS["outliers"], "options": {"contamination": 2}},
            "outliers.options.contamination cannot be used",
        ),
    ],
)
def test_wrong_requests_are_problems_in_three_parts(client, asked, said):
    answer = client.post("/api/v1/jobs", json=asked)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    problem = answer.json()
    assert problem["status"] == 422
    assert problem["detail"].startswith(said)
    found, needed = problem["detail"].split("; ", 1)
    assert found
    assert len(needed.rstrip(".").split(". ")) == 2


def test_a_table_that_cannot_be_read_is_said_in_the_words_of_the_command_line(client):
    sent = client.upload("bad.csv", b"a,b\n1,2\n3\n").json()
    job = client.run("compare", {"a": sent["id"], "b": "example-grower_1"})
    assert job["state"] == "failed"
    assert job["message"].startswith("file 'bad.csv' cannot be read (line 1 has 2 fields but line 3 has 1")


def test_a_file_that_only_ends_as_a_workbook_is_refused(client):
    answer = client.upload("mine.xlsx", b"a,b\n1,2\n")
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("file 'mine.xlsx' is not an Excel workbook")


def test_the_api_is_described(client):
    api = client.get("/api/v1/openapi.json").json()
    assert set(api["paths"]) == {
        *("/api/v1/files", "/api/v1/files/{id}", "/api/v1/folders", "/api/v1/folders/{id}/files"),
        *("/api/v1/examples", "/api/v1/jobs", "/api/v1/jobs/{id}", "/api/v1/pages"),
    }
    for page in ("/", "/docs.html"):
        assert "//" not in client.get(page).text.replace("http://www.w3.org", "")


def test_the_page_is_small():
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 300_000


def test_the_page_takes_what_the_server_takes():
    text = (STATIC / "api.js").read_text()
    found = {name: json.loads(re.search(rf"const {name} = ([^;]*);", text)[1]) for name in LISTS}
    assert found == {"TABLES": list(SUFFIXES), "COMPRESSED": list(COMPRESSED), "LARGEST_MB": Limits().upload / 2**20}
