# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots from Python."""

import datetime
import os
import time

import cccl_cache
import pytest


def build(client, number, arch="sm_90"):
    return client.build(f"// program {number}", arch=arch)


@pytest.fixture
def client(fake):
    return cccl_cache.Client(fake.socket)


@pytest.fixture
def fresh(make_daemon, toolkit):
    """A client of another daemon without entries."""
    return cccl_cache.Client(make_daemon(roots=(toolkit.root,), name="fresh").start().socket)


def test_a_compile_of_one_daemon_is_a_hit_of_another(client, fresh, directory):
    built = [build(client, number) for number in range(3)]
    file = directory / "kernels.snap"
    made = client.snapshot(file)
    assert (made.records, made.bytes, made.left_out, made.shared) == (3, file.stat().st_size, 0, False)
    assert fresh.insert(file).records == 3
    for number, each in enumerate(built):
        hit = build(fresh, number)
        assert (hit.outcome, hit.key, hit.cubin) == ("hit", each.key, each.cubin)


def test_a_delta_holds_the_new_entries_and_filters_narrow_both(client, directory):
    build(client, 1)
    client.snapshot(directory / "first")
    build(client, 2)
    build(client, 3, arch="sm_80")
    assert client.delta(directory / "more", directory / "first").records == 2
    assert client.delta(directory / "more", directory / "first", arch="sm_80").records == 1
    hour_ago = time.time() - 3600
    for filters, records in (({"arch": "sm_90"}, 2), ({"toolchain": "1"}, 0), ({"after": hour_ago}, 3),
                             ({"before": hour_ago}, 0), ({"uids": [os.geteuid()]}, 3),
                             ({"after": datetime.datetime.fromtimestamp(hour_ago, datetime.timezone.utc)}, 3)):
        assert client.snapshot(directory / "some", **filters).records == records, filters


def test_a_snapshot_includes_deposits(client, fresh, directory):
    with client.lease("org.example", {"code": "1"}) as lease:
        lease.publish(b"what a client made")
    build(client, 1)
    file = directory / "kernels.snap"
    assert client.snapshot(file).records == 2
    assert client.snapshot(directory / "deposits.snap", namespace="org.example").records == 1
    assert client.snapshot(directory / "none.snap", namespace="another").records == 0
    assert fresh.insert(file).records == 2
    assert (fresh.insert(file).records, fresh.insert(file).left_out) == (0, 2)
    with fresh.lease("org.example", {"code": "1"}) as lease:
        assert lease.contents == b"what a client made"
    assert build(fresh, 1).outcome == "hit"


def test_equal_snapshots_have_equal_bytes(client, directory):
    build(client, 1)
    client.snapshot(directory / "one")
    client.snapshot(str(directory / "two"))
    assert (directory / "one").read_bytes() == (directory / "two").read_bytes()


def test_a_file_that_was_altered_is_refused_with_the_reason(client, fresh, directory):
    build(client, 1)
    file = directory / "kernels.snap"
    client.snapshot(file)
    contents = bytearray(file.read_bytes())
    contents[100] ^= 1
    file.write_bytes(contents)
    with pytest.raises(cccl_cache.Error, match="altered") as refused:
        fresh.insert(file)
    assert refused.value.status == "invalid-request"
    assert build(fresh, 1).outcome == "built"


def test_only_the_snapshots_file_is_written(client, directory):
    """The other files beside it keep their kind: a link stays a link and a pipe a pipe."""
    build(client, 1)
    other, target, link = directory / "other", directory / "target", directory / "link"
    other.write_text("another's")
    for name in (f"kernels.snap.{os.getpid()}.part", "kernels.snap.part"):
        (directory / name).symlink_to(other)
    link.symlink_to(target)
    made = client.snapshot(directory / "kernels.snap")
    client.snapshot(os.fsencode(link))
    assert other.read_text() == "another's"
    assert link.is_symlink() and target.stat().st_size == made.bytes
    mask = os.umask(0o027)
    try:
        client.snapshot(directory / "masked")
    finally:
        os.umask(mask)
    assert (directory / "masked").stat().st_mode & 0o777 == 0o640
    read, write = os.pipe()
    try:
        assert client.snapshot(f"/proc/self/fd/{write}").bytes == len(os.read(read, 1 << 16))
    finally:
        os.close(read)
        os.close(write)


def test_a_file_is_on_the_disk_when_the_call_returns(client, directory, monkeypatch):
    """The contents are synced before the rename, and the directory before the call returns."""
    build(client, 1)
    done = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor):
        done.append("directory" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        sync(descriptor)

    def noted_replace(*names):
        done.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    client.snapshot(directory / "kernels.snap")
    assert done == ["file", "name", "directory"]


def test_after_an_error_no_file_is_left(client, directory):
    kept = directory / "kept.snap"
    kept.write_bytes(b"an earlier one")
    with pytest.raises(cccl_cache.Error):
        client.snapshot(kept, arch="no such\narch")
    with pytest.raises(cccl_cache.Error):
        client.delta(kept, kept)
    with pytest.raises(FileNotFoundError):
        client.insert(directory / "absent")
    assert kept.read_bytes() == b"an earlier one"
    assert [each.name for each in directory.glob("*.snap*")] == ["kept.snap"]
