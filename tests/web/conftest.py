"""The application in this process, with real workers."""

import numpy as np
import pytest
from starlette.testclient import TestClient

from fewratio_web.app import make_app
from fewratio_web.limits import Limits
from fewratio_web.worker import work

LIMITS = Limits(upload=2 * 2**20, members=50, unpacked=8 * 2**20, columns=500, cells=100_000, seconds=60, memory=2**30)


class Client(TestClient):
    """A user with cookies of their own."""

    def another(self):
        """Give another user of the same server."""
        other = Client(self.app, base_url="http://127.0.0.1")
        other.portal = self.portal
        return other

    def upload(self, name, content=b"", kind="files"):
        return self.post(f"/api/v1/{kind}", params={"name": name}, content=content)

    def start(self, verb, inputs, **rest):
        return self.post("/api/v1/jobs", json={"verb": verb, "inputs": inputs, **rest})

    def finish(self, job):
        while job["state"] in ("queued", "running"):
            job = self.get(f"/api/v1/jobs/{job['id']}", params={"wait": 20}).json()
        return job

    def run(self, verb, inputs, **rest):
        answer = self.start(verb, inputs, **rest)
        assert answer.status_code == 201, answer.text
        return self.finish(answer.json())

    def start_long(self):
        """Start a job of about a minute."""
        rows = np.random.default_rng(0).normal(size=(1500, 4)).round(3).tolist()
        text = "p,q,r,s\n" + "\n".join(",".join(map(str, row)) for row in rows)
        inputs = {side: self.upload(f"{side}.csv", text).json()["id"] for side in "ab"}
        return self.start("compare", inputs, options={"permutations": 100_000})

    def result(self, job, name):
        (id,) = [file["id"] for file in job["files"] if file["name"] == name]
        return self.get(f"/api/v1/files/{id}")


@pytest.fixture(scope="session")
def app():
    return make_app(work, limits=LIMITS, preload=["fewratio_web.worker_imports"])


@pytest.fixture(scope="session")
def client(app):
    with Client(app, base_url="http://127.0.0.1") as client:
        assert client.get("/api/v1/examples").status_code == 200
        yield client


@pytest.fixture
def stranger(client):
    return client.another()
