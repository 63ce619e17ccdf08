# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Directories as values of steps. Bytes that are no such value make no file outside the directory."""

import io
import os
import random
import tarfile

import pytest
from cccl_cache.steps import pack_tree, unpack_tree


@pytest.fixture
def tree(tmp_path):
    place = tmp_path / "tree"
    (place / "below/deep").mkdir(parents=True)
    (place / "b.txt").write_bytes(b"text")
    (place / "below/deep/run").write_bytes(bytes(range(256)) * 300)
    (place / "below/deep/run").chmod(0o755)
    (place / ("long" * 50)).write_bytes(b"")
    (place / "\u00e9").write_bytes(b"name")
    return place


def contents(place):
    return {str(path.relative_to(place)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
            for path in place.rglob("*") if path.is_file()}


def archive(*members):
    """Returns an archive of (name, type, bytes, changes) each."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as written:
        for name, kind, data, changes in members:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(data)
            for key, value in changes.items():
                setattr(member, key, value)
            written.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def test_a_directory_comes_back_with_its_files(tree, tmp_path):
    value = pack_tree(str(tree))
    unpack_tree(value, str(tmp_path / "again"))
    assert contents(tmp_path / "again") == contents(tree)
    assert pack_tree(str(tmp_path / "again")) == value
    assert sorted(os.listdir(tmp_path)) == ["again", "tree"]


def test_the_bytes_do_not_depend_on_times_and_owners(tree):
    value = pack_tree(str(tree))
    os.utime(tree / "b.txt", (1, 1))
    (tree / "b.txt").chmod(0o600)
    assert pack_tree(str(tree)) == value
    (tree / "b.txt").chmod(0o700)
    assert pack_tree(str(tree)) != value


def test_links_and_pipes_are_not_packed(tree):
    (tree / "link").symlink_to("b.txt")
    with pytest.raises(ValueError, match="link"):
        pack_tree(str(tree))
    (tree / "link").unlink()
    os.mkfifo(tree / "pipe")
    with pytest.raises(ValueError, match="pipe"):
        pack_tree(str(tree))


def test_as_many_files_are_packed_as_can_be_unpacked(tmp_path):
    (tmp_path / "tree").mkdir()
    for number in range(10_000):
        (tmp_path / f"tree/{number}").touch()
    unpack_tree(pack_tree(str(tmp_path / "tree")), str(tmp_path / "again"))
    (tmp_path / "tree/one more").touch()
    with pytest.raises(ValueError, match="10,000 files"):
        pack_tree(str(tmp_path / "tree"))


def test_paths_are_packed_that_can_be_unpacked(tmp_path):
    place = tmp_path / "tree" / "/".join(["n" * 200] * 5)  # 1,004 characters
    place.mkdir(parents=True)
    (place / ("n" * 19)).touch()
    unpack_tree(pack_tree(str(tmp_path / "tree")), str(tmp_path / "again"))
    (place / ("n" * 20)).touch()
    with pytest.raises(ValueError, match="1,024 characters"):
        pack_tree(str(tmp_path / "tree"))


def test_directories_that_are_too_deep_are_not_packed(tmp_path):
    (tmp_path / "tree" / "/".join("n" * 600)).mkdir(parents=True)
    with pytest.raises(ValueError, match="1,024 characters"):
        pack_tree(str(tmp_path / "tree"))


@pytest.mark.parametrize("name, kind, changes", [
    ("../out", tarfile.REGTYPE, {}), ("a/../../out", tarfile.REGTYPE, {}), ("/out", tarfile.REGTYPE, {}),
    ("./out", tarfile.REGTYPE, {}), ("a//out", tarfile.REGTYPE, {}), ("..", tarfile.REGTYPE, {}), ("", tarfile.REGTYPE, {}),
    ("n" * 2000, tarfile.REGTYPE, {}), ("out", tarfile.SYMTYPE, {"linkname": "/etc/passwd"}),
    ("out", tarfile.LNKTYPE, {"linkname": "/etc/passwd"}), ("out", tarfile.CHRTYPE, {"devmajor": 1, "devminor": 3}),
    ("out", tarfile.BLKTYPE, {}), ("out", tarfile.FIFOTYPE, {}), ("out", tarfile.DIRTYPE, {}), ("out", tarfile.CONTTYPE, {}),
    ("out", tarfile.GNUTYPE_SPARSE, {}), ("out", tarfile.REGTYPE, {"pax_headers": {"path": "../out"}}),
    ("out", tarfile.REGTYPE, {"pax_headers": {
        "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9" * 15}})])
def test_an_archive_of_another_kind_makes_nothing(tmp_path, name, kind, changes):
    value = archive(("first", tarfile.REGTYPE, b"text", {}), (name, kind, b"", changes))
    with pytest.raises(ValueError):
        unpack_tree(value, str(tmp_path / "tree"))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b", "a"), [str(number) for number in range(10_001)]])
def test_a_name_twice_and_too_many_files_make_nothing(tmp_path, names):
    with pytest.raises((ValueError, OSError)):
        unpack_tree(archive(*((name, tarfile.REGTYPE, b"", {}) for name in names)), str(tmp_path / "tree"))
    assert os.listdir(tmp_path) == []


def test_a_size_beyond_the_value_makes_nothing(tmp_path):
    value = bytearray(archive(("a", tarfile.REGTYPE, b"text", {})))
    value[124:136] = b"77777777777\0"  # 8 GiB
    header = value[:148] + b" " * 8 + value[156:512]
    value[148:156] = b"%06o\0 " % sum(header)
    with pytest.raises(ValueError):
        unpack_tree(bytes(value), str(tmp_path / "tree"))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_in_a_chain_make_nothing(tmp_path, kind):
    headers = archive(*(("a", kind, b"", {}) for _ in range(2000)))
    with pytest.raises(ValueError):
        unpack_tree(headers, str(tmp_path / "tree"))
    assert os.listdir(tmp_path) == []


def test_changed_bytes_make_a_directory_or_raise_an_error(tree, tmp_path):
    value, chance = pack_tree(str(tree)), random.Random(1)
    for number in range(300):
        changed = bytearray(value)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed) if number % 2 else 512)] = chance.randrange(256)
        place = tmp_path / str(number)
        try:
            unpack_tree(bytes(changed[: chance.randrange(len(changed))] if number % 3 == 0 else changed), str(place))
        except (ValueError, OSError):
            assert not place.exists()
    assert {name for name in os.listdir(tmp_path) if not name.isdigit()} == {"tree"}


def test_a_directory_that_is_there_stays(tree, tmp_path):
    value = pack_tree(str(tree))
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError):
        unpack_tree(value, str(tmp_path / "there"))
    assert sorted(os.listdir(tmp_path)) == ["there", "tree"] and os.listdir(tmp_path / "there") == []
