# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The digest of a file is that of its contents, and each file is read once."""

import hashlib
import os

import pytest

from cccl_cache._plugin import file_digests
from cccl_cache._plugin.file_digests import contents_digest


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/cccl-cache/digests"


@pytest.fixture
def reads(monkeypatch):
    """Returns the digests that were computed from files."""
    made = []
    original = file_digests._digest
    monkeypatch.setattr(file_digests, "_digest", lambda files: made.append(files) or original(files))
    return made


def write(path, text, age=3600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    then = path.stat().st_mtime_ns - age * 10**9
    os.utime(path, ns=(then, then))
    return path


@pytest.fixture
def settled(monkeypatch):
    """Makes the files appear old. A second change of a recent file could have the same stamp."""

    def stamp(files):
        states = [(name, os.stat(path)) for name, path in files]
        fields = [(name, state.st_ino, state.st_size, state.st_ctime_ns) for name, state in states]
        return hashlib.sha256(repr(fields).encode()).hexdigest()

    monkeypatch.setattr(file_digests, "_stamp", stamp)


def test_a_digest_depends_on_names_and_contents(tmp_path, settled):
    tree = tmp_path / "tree"
    write(tree / "a/x.h", "1")
    first = contents_digest(str(tree))
    write(tree / "a/x.h", "2")
    second = contents_digest(str(tree))
    (tree / "a/x.h").rename(tree / "a/y.h")
    assert len({first, second, contents_digest(str(tree))}) == 3


def test_equal_contents_elsewhere_have_an_equal_digest(tmp_path):
    for name in ("one", "other"):
        write(tmp_path / name / "x.h", "1")
    assert contents_digest(str(tmp_path / "one")) == contents_digest(str(tmp_path / "other"))


def test_the_contents_of_a_linked_directory_count(tmp_path, settled):
    header = write(tmp_path / "elsewhere/x.h", "1")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/linked").symlink_to(tmp_path / "elsewhere")
    before = contents_digest(str(tmp_path / "tree"))
    header.write_text("2")
    assert contents_digest(str(tmp_path / "tree")) != before


def test_a_directory_with_a_link_to_itself_has_a_digest(tmp_path):
    for name in ("one", "other"):
        write(tmp_path / name / "x.h", "1")
    (tmp_path / "one/again").symlink_to(tmp_path / "one")
    assert contents_digest(str(tmp_path / "one")) == contents_digest(str(tmp_path / "other"))


def test_a_directory_that_can_not_be_read_has_no_digest(tmp_path, monkeypatch):
    write(tmp_path / "tree/closed/x.h", "1")
    read = os.scandir

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError("closed")
        return read(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        contents_digest(str(tmp_path / "tree"))


def test_a_second_digest_reads_no_file(tmp_path, settled, reads):
    file = write(tmp_path / "library.so", "1")
    first = contents_digest(str(file))
    assert contents_digest(str(file)) == first
    assert len(reads) == 1


def test_a_file_that_changed_just_now_is_read_again(tmp_path, reads):
    file = tmp_path / "library.so"
    file.write_text("1")
    contents_digest(str(file))
    contents_digest(str(file))
    assert len(reads) == 2


def test_compiled_python_does_not_count(tmp_path):
    write(tmp_path / "tree/x.py", "1")
    before = contents_digest(str(tmp_path / "tree"))
    write(tmp_path / "tree/__pycache__/x.pyc", "2")
    assert contents_digest(str(tmp_path / "tree")) == before


def test_a_record_that_others_may_have_written_is_ignored(tmp_path, settled, kept, reads):
    file = write(tmp_path / "library.so", "1")
    right = contents_digest(str(file))
    (note,) = kept.iterdir()
    note.write_text("0" * 64)
    assert contents_digest(str(file)) == "0" * 64
    note.chmod(0o666)
    assert contents_digest(str(file)) == right


def test_a_damaged_record_is_ignored(tmp_path, settled, kept):
    file = write(tmp_path / "library.so", "1")
    right = contents_digest(str(file))
    (note,) = kept.iterdir()
    note.write_text("short")
    assert contents_digest(str(file)) == right


def test_digests_work_without_a_writable_cache(tmp_path, settled, monkeypatch):
    write(tmp_path / "file", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(contents_digest(str(write(tmp_path / "library.so", "1")))) == 64
