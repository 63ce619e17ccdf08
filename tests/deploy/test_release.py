# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The version of a release: the public headers hold it, and scripts/set-version writes it to the files that can't read it
there."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER, CHANGES = "client/include/cccl_cache/c/base.h", "CHANGELOG.md"
IMAGE = r"\bcccl-cached:(\d\S*)"
PLACES = {"client/julia/Project.toml": r'^version = "(.+)"',
          **{str(path.relative_to(ROOT)): IMAGE for folder, form in (("deploy/kubernetes", "*.yaml"), ("docs", "guide-*.md"))
             for path in (ROOT / folder).glob(form)}}


def version_of(root):
    numbers = re.findall(r"^#define CCCL_CACHE_VERSION_(?:MAJOR|MINOR|PATCH|CANDIDATE) (\d+)$", (root / HEADER).read_text(),
                         re.MULTILINE)
    return ".".join(numbers[:3]) + ("" if numbers[3] == "0" else f"-rc{numbers[3]}")


def named(root):
    """Returns the versions in all places."""
    return {version for path, form in PLACES.items() for version in re.findall(form, (root / path).read_text(), re.MULTILINE)}


@pytest.fixture
def copy(directory):
    """Makes a copy of the files, whose changelog has an unreleased version."""
    for path in (HEADER, CHANGES, *PLACES, "scripts/set-version", "scripts/steps.sh"):
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, directory / path)
    (directory / CHANGES).write_text("# Changelog\n\n## 7.8.0 (unreleased)\n\n## 7.7.0 (2020-01-01)\n")
    return directory


def set_version(copy, version):
    return subprocess.run([copy / "scripts/set-version", version], capture_output=True, text=True, check=False)


def test_all_places_name_the_version_of_the_headers():
    assert named(ROOT) == {version_of(ROOT)}


def test_a_version_is_set_in_all_places(copy):
    for version in ("7.8.9-rc2", "7.8.9"):
        assert set_version(copy, version).returncode == 0
        assert named(copy) == {version_of(copy)} == {version}
        assert re.search(rf"\n## {version} \(\d{{4}}-\d\d-\d\d\)\n\n## 7\.7\.0 \(2020-01-01\)\n", (copy / CHANGES).read_text())


def test_a_version_that_is_set_keeps_its_day(copy):
    (copy / CHANGES).write_text("## 7.8.9 (2020-02-03)\n")
    assert set_version(copy, "7.8.9").returncode == 0
    assert (copy / CHANGES).read_text() == "## 7.8.9 (2020-02-03)\n"


def test_no_version_is_set_without_a_section_in_the_changelog(copy):
    (copy / CHANGES).write_text("## 7.8.9 (2020-02-03)\n")
    before = version_of(copy)
    done = set_version(copy, "7.9.0")
    assert done.returncode == 1
    assert "## 7.9.0 (unreleased)" in done.stderr
    assert version_of(copy) == before


@pytest.mark.parametrize("version", ["7.8", "7.8.9rc1", "7.8.9-rc0", "v7.8.9", ""])
def test_a_wrong_version_is_refused(copy, version):
    done = set_version(copy, version)
    assert done.returncode == 1
    assert "1.2.3-rc1" in done.stderr
