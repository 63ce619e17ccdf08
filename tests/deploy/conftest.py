# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/ for administrators. The tests need no container engine, no Kubernetes and no Slurm: they read
and run the files as those programs do."""

import json
import os
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
sys.path.insert(0, str(ROOT / "tests/integration"))
# The path comes last, because it also holds packages that these tests have themselves.
sys.path.append(os.environ["CCCL_CACHED_TEST_KUBERNETES"])

from daemon_fixtures import directory, fake, make_daemon, toolkit  # noqa: E402,F401


class Containerfile:
    def __init__(self, path):
        text = re.sub(r"\\\n", " ", path.read_text())
        self.instructions = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]

    def all(self, instruction):
        return [value for name, value in self.instructions if name == instruction]

    @property
    def uid(self):
        [uid] = [value.removeprefix("UID=") for value in self.all("ARG") if value.startswith("UID=")]
        return int(uid)

    @property
    def entry_point(self):
        return json.loads(self.all("ENTRYPOINT")[0])

    @property
    def health(self):
        return json.loads(self.all("HEALTHCHECK")[0].split("CMD", 1)[1])

    def flag(self, name):
        return self.entry_point[self.entry_point.index(name) + 1]


@pytest.fixture(scope="session")
def image():
    return Containerfile(DEPLOY / "container/Containerfile")


@pytest.fixture(scope="session")
def manifests():
    """Returns all objects of the manifests, by kind. The pod for restricted namespaces is of the kind "Restricted"."""
    import yaml

    found = {}
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for each in yaml.safe_load_all(file.read_text()):
            found["Restricted" if file.stem == "pod-restricted" else each["kind"]] = each
    return found


@pytest.fixture(scope="session")
def pods(manifests):
    """Returns the pod templates of the manifests."""
    return {"daemon": manifests["DaemonSet"]["spec"]["template"]["spec"], "program": manifests["Pod"]["spec"]}
