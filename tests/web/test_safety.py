"""Who is let in, what is given to whom, and what is kept."""

import asyncio
import io
import re
import time
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewratio_web.app import make_app
from fewratio_web.guard import Guard, is_loopback
from fewratio_web.limits import Limits
from fewratio_web.names import safe_name, safe_path
from fewratio_web.worker import work
from tests.web.conftest import Client
from tests.web.failing import ENDS, fail

COMPARED = {"a": "example-grower_1", "b": "example-grower_2"}
# An application that was not started refuses before anything is asked of it.
IDLE = make_app(work)


def idle(host="127.0.0.1", token=None, address="http://127.0.0.1"):
    return Client(make_app(work, host, token), base_url=address, follow_redirects=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_own_hosts_are_let_in(host):
    assert idle().get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "192.168.1.5", "", "[::1", "a b"]
)
def test_other_hosts_are_not_so_that_names_of_others_cannot_lead_here(host):
    answer = idle().get("/", headers={"host": host})
    assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json")


def test_a_server_for_all_addresses_takes_addresses_but_no_foreign_names():
    client = idle("0.0.0.0", "secret")
    for host, status in {"192.168.1.5:80": 401, "evil.example": 421}.items():
        assert client.get("/", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:9"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
@pytest.mark.slow
@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "GET"])
def test_pages_of_other_sites_cannot_use_the_api(headers, method):
    answer = idle().request(method, "/api/v1/jobs", headers=headers)
    assert (answer.status_code, answer.json()["title"]) == (403, "Another site")


def test_the_own_page_can(client):
    headers = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
    assert client.post("/api/v1/files", params={"name": "a.csv"}, content=b"x\n1\n", headers=headers).status_code == 201


def test_every_answer_has_a_strict_policy(client):
    for path in ("/", "/page.js", "/nothing", "/api/v1/examples", "/api/v1/jobs/x"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


def test_a_report_is_alone_in_a_sandbox_and_other_results_are_saved(client):
    job = client.run("compare", COMPARED)
    policy = client.result(job, "report.html").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts allow-downloads; default-src 'none';")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy
    for name in ("rows.csv", "result.json"):
        assert client.result(job, name).headers["content-disposition"].startswith("attachment")


def test_users_do_not_see_each_others_files_and_jobs(client, stranger):
    sent = client.upload("mine.csv", b"x,y\n1,2\n2,3\n").json()
    job = client.run("columns", {"tables": sent["id"]})
    ids = [*(f"files/{file['id']}" for file in [sent, *job["files"]]), f"jobs/{job['id']}"]
    assert all(client.get(f"/api/v1/{id}").status_code == 200 for id in ids)
    assert all(stranger.get(f"/api/v1/{id}").status_code == 404 for id in ids)
    assert stranger.delete(f"/api/v1/jobs/{job['id']}").status_code == 404
    assert stranger.start("columns", {"tables": sent["id"]}).status_code == 404
    made = client.upload("folder", kind="folders").json()
    assert stranger.post(f"/api/v1/folders/{made['id']}/files", params={"name": "a.csv"}).status_code == 404
    assert len({file["id"] for file in [sent, *job["files"]]} | {job["id"]}) == 2 + len(job["files"])
    assert all(len(id.rpartition("/")[2]) >= 20 for id in ids)


def test_a_cookie_that_was_made_up_gives_no_session(app, client):
    forged = Client(app, base_url="http://127.0.0.1", headers={"cookie": f"{app.cookie}=abc"})
    answer = forged.get("/api/v1/examples")
    assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
    assert "abc" not in answer.headers["set-cookie"]


def test_a_token_is_asked_for_once():
    client = idle(token="a long secret")
    for path in ("/", "/api/v1/openapi.json", "/?token=", "/?token=wrong", "/?token=a+long+secre"):
        answer = client.get(path)
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
    assert client.get("/", headers={"authorization": "Bearer wrong"}).status_code == 401
    for path in ("/", "//evil.example/", "/docs.html"):
        let_in = client.get(f"http://127.0.0.1{path}?token=a+long+secret")
        assert (let_in.status_code, let_in.headers["location"]) == (303, "/")
    assert client.get("/api/v1/openapi.json").status_code == 200
    other = idle(token="a long secret")
    assert other.get("/api/v1/openapi.json", headers={"authorization": "Bearer a long secret"}).status_code == 200


def test_two_servers_have_cookies_of_different_names():
    assert make_app(work).cookie != make_app(work).cookie


def test_jobs_of_one_user_and_of_all_are_bounded():
    limits = Limits(running=1, waiting=2, per_user=2)
    app = make_app(work, limits=limits)
    with Client(app, base_url="http://127.0.0.1") as first:
        first.get("/api/v1/examples")
        second = first.another()
        assert [first.start_long().status_code for _ in range(3)] == [201, 201, 429]
        answers = [second.start_long() for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 503]
        assert answers[1].json()["title"] == "Too much work"


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_ended():
    with Client(make_app(work, limits=Limits(seconds=2)), base_url="http://127.0.0.1") as client:
        client.get("/api/v1/examples")
        job = client.finish(client.start_long().json())
        assert job["state"] == "failed"
        assert re.match(r"The (work took longer than 2 s|system ended the work)", job["message"])


@pytest.mark.slow
def test_results_are_forgotten_and_the_folder_is_private_and_goes_at_the_end():
    app = make_app(work, limits=Limits(kept=1))
    with Client(app, base_url="http://127.0.0.1") as client:
        client.get("/api/v1/examples")
        store = app.app.state.runner.store
        assert store.root.stat().st_mode & 0o777 == 0o700
        sent = client.upload("a.csv", b"x,y\n1,2\n").json()
        job = client.run("columns", {"tables": sent["id"]})
        result = job["files"][0]["id"]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and (store.jobs or any(file.owner for file in store.files.values())):
            time.sleep(0.2)
        for id in (sent["id"], result):
            assert client.get(f"/api/v1/files/{id}").status_code == 404
        assert client.get(f"/api/v1/jobs/{job['id']}").status_code == 404
        assert len(list(store.root.iterdir())) == 1  # the examples
        assert client.get("/api/v1/examples").json()
    assert not store.root.exists()


@pytest.mark.slow
def test_the_disk_is_bounded():
    app = make_app(work, limits=Limits(disk=100_000))
    with Client(app, base_url="http://127.0.0.1") as client:
        client.get("/api/v1/examples")
        assert client.upload("a.csv", b"x" * 90_000).status_code == 201
        kept = sorted(app.app.state.runner.store.root.iterdir())

        def slow():
            for _ in range(3):
                yield b"x" * 10_000
                time.sleep(1.1)  # counted once a second

        answers = [
            client.upload("a.csv", slow()),
            client.upload("b.csv", b"x\n1\n"),
            client.upload("c", kind="folders"),
        ]
        answers.append(client.start("compare", COMPARED))
        for answer in answers:
            assert (answer.status_code, answer.json()["title"]) == (507, "No room")
        assert sorted(app.app.state.runner.store.root.iterdir()) == kept


def test_what_is_unpacked_does_not_pass_the_disk_either():
    app = make_app(work, limits=Limits(disk=200_000))
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", "x,y\n" + "1,2\n" * 100_000)
    with Client(app, base_url="http://127.0.0.1") as client:
        client.get("/api/v1/examples")
        answer = client.upload("all.zip", zipped.getvalue(), kind="folders")
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith(
            "archive 'all.zip' unpacks to more than 0 MB; that is all the room there is now"
        )
        store = app.app.state.runner.store
        # Several at once share what is left.
        with store.reserve(10**9) as first, store.reserve(10**9) as second:
            assert (first > 0, second) == (True, 0)
        assert not store.is_full


def test_the_number_of_files_is_bounded():
    with Client(make_app(work, limits=Limits(files=60)), base_url="http://127.0.0.1") as client:
        n_examples = sum(file["files"] or 1 for file in client.get("/api/v1/examples").json())
        made = [client.upload(f"{number}", kind="folders").status_code for number in range(62 - n_examples)]
        assert made == [201] * (61 - n_examples) + [507]
        assert client.upload("a.csv").status_code == 507


def test_what_a_user_still_works_with_is_kept():
    limits = Limits(kept=3600)
    app = make_app(work, limits=limits)
    with Client(app, base_url="http://127.0.0.1") as client:
        client.get("/api/v1/examples")
        store = app.app.state.runner.store
        job = client.run("columns", {"tables": [*COMPARED.values()]})
        result = job["files"][0]["id"]
        store.jobs[job["id"]].used -= 7200
        store.forget()
        assert client.get(f"/api/v1/files/{result}").status_code == 200, "it was used just now"
        running = client.start_long().json()
        for each in (*store.jobs.values(), *store.files.values()):
            each.used -= 7200
        store.forget()
        assert client.get(f"/api/v1/files/{result}").status_code == 200, "a job of the user runs"
        client.delete(f"/api/v1/jobs/{running['id']}")
        for each in (*store.jobs.values(), *store.files.values()):
            each.used -= 7200
        store.forget()
        assert client.get(f"/api/v1/files/{result}").status_code == 404


def test_a_failure_is_said_to_be_what_it_is(capfd):
    with Client(make_app(fail), base_url="http://127.0.0.1") as client:
        client.get("/api/v1/examples")
        for number, said in enumerate(ENDS):
            job = client.run("compare", COMPARED, options={"seed": number + 1})
            assert (job["state"], job["message"][: len(said)]) == ("failed", said)
    # Whoever runs the server sees what a user does not.
    assert capfd.readouterr().err.count("ValueError: a mistake") == 1


@pytest.mark.parametrize(
    ("host", "is_it"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.org", False)],
)
def test_loopback(host, is_it):
    assert is_loopback(host) is is_it


@given(st.text(max_size=300))
def test_any_name_becomes_safe(name):
    safe = safe_name(name)
    assert safe
    assert len(safe.encode()) <= 110
    assert not safe.startswith(("-", ".", "~"))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\\/:\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", safe)
    assert safe_name(safe) == safe
    safe.encode()


@given(
    st.lists(st.sampled_from(["..", ".", "a", "b.csv", "", "/", "\\", "C:", "~", ".git"]), max_size=6),
    st.sampled_from("/\\"),
)
def test_no_path_leads_outside(parts, separator):
    found = safe_path(separator.join(parts))
    if found is not None:
        assert not found.is_absolute()
        assert not {"..", "~"} & set(found.parts)


def call_guard(limits, receive):
    """Send a request without an end to a guard, and return its answer and what the application has received."""
    received, answers = [], []

    async def application(scope, receive, send):
        received.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def keep(message):
        answers.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/v1/files", "query_string": b"", "client": ("::1", 1)}
    asyncio.run(Guard(application, "::1", None, limits)({**scope, "headers": [(b"host", b"[::1]")]}, receive, keep))
    return answers[0]["status"], received


async def never():
    await asyncio.Event().wait()


def test_a_body_that_does_not_come_is_not_waited_for():
    assert call_guard(Limits(body=0), never) == (200, [{"type": "http.disconnect"}])


def test_a_client_has_some_requests_at_once():
    assert call_guard(Limits(requests=0), never) == (429, [])
