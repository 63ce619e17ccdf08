# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What deploy/ has for those who run the cache for others. No container engine, Kubernetes or Slurm is needed: the tests
read what they would read, and do what they would do."""

import json
import os
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
sys.path.insert(0, str(ROOT / "tests/integration"))
# Behind all others, since it holds packages that these have, too.
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
    """All objects of the manifests, by kind."""
    import yaml

    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return {each["kind"]: each for file in files for each in yaml.safe_load_all(file.read_text())}


@pytest.fixture(scope="session")
def pods(manifests):
    """What the manifests make pods of."""
    return {"daemon": manifests["DaemonSet"]["spec"]["template"]["spec"], "program": manifests["Pod"]["spec"]}
