# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots that another daemon inserts: the users who get the entries, and the files that it refuses."""

import json
import os

import grpc
import pytest
from snapshot_commands import ALICE, BOB, as_root, build, kernel, place, shared, snapshot  # noqa: F401

from cccl_cache.v1 import snapshot_pb2, snapshot_pb2_grpc


def output(daemon, number, user=None, *arguments):
    """Returns (`build --json`, the bytes)."""
    place = daemon.directory.parent / "files"
    file = place / f"out-{number}-{user}"
    done = daemon.cli("--json", "build", "-", "--arch", "sm_90", "-o", str(file), *arguments, input=kernel(number),
                      cwd="/", user=user)
    return json.loads(done.stdout), file.read_bytes()


@pytest.fixture
def fresh(make_daemon, toolkit):
    """Another daemon, without any entry."""
    return make_daemon("--socket-mode", "0666", roots=(toolkit.root,), name="fresh").start()


def test_a_package_ships_the_results_of_its_test_run(shared, fresh, place):
    """The snapshot is created on one daemon and inserted on a fresh one as another user. All builds are hits with
    equal bytes, also after a restart. Each hit saves the time of the original compile."""
    built = {number: output(shared, number, ALICE) for number in range(5)}
    for number in built:
        assert output(shared, number, ALICE)[0]["outcome"] == "hit"
    saved_there = round(shared.stats()["saved_seconds_total"] * 1e6)
    file = place / "package.snap"
    snapshot(shared, "create", file, user=ALICE)
    summary = snapshot(fresh, "insert", file, user=BOB)
    assert (summary["records"], summary["left_out"], summary["shared"]) == (5, 0, False)
    for _ in range(2):
        saved = fresh.stats()["saved_seconds_total"]
        for number, (told, contents) in built.items():
            hit = output(fresh, number, BOB)
            assert hit[0]["outcome"] == "hit"
            assert hit[0]["key"] == told["key"]
            assert hit[1] == contents
        stats = fresh.stats()
        assert stats["compiles_total"] == stats["saved_unknown_total"] == 0
        assert round((stats["saved_seconds_total"] - saved) * 1e6) == saved_there > 0
        fresh.kill()
        fresh.start()


def test_builds_over_headers_hit_where_the_headers_are_the_same(shared, fresh, place):
    text = '#include "local.h"\nextern "C" __global__ void k() {}\n'

    def over(daemon, checkout, header, user):
        directory = place / checkout
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
        (directory / "local.h").write_text(header)
        done = daemon.cli("--json", "build", "-", "--name", str(directory / "k.cu"), "--arch", "sm_90", "-o", os.devnull,
                          input=text, cwd="/", user=user)
        return json.loads(done.stdout)["outcome"]

    assert over(shared, "one", "// same", ALICE) == "built"
    file = place / "a.snap"
    snapshot(shared, "create", file, user=ALICE)
    snapshot(fresh, "insert", file, user=BOB)
    assert over(fresh, "another", "// same", BOB) == "hit"
    assert over(fresh, "another", "// other", BOB) == "built"
    assert over(fresh, "another", "// same", ALICE) == "built"


def test_entries_that_a_user_inserts_serve_that_user_alone(shared, fresh, place):
    build(shared, 1)
    file = place / "a.snap"
    snapshot(shared, "create", file)
    file.chmod(0o644)
    assert snapshot(fresh, "insert", file, user=BOB)["records"] == 1
    again = snapshot(fresh, "insert", file, user=BOB)
    assert (again["records"], again["left_out"]) == (0, 1)
    assert build(fresh, 1, user=BOB)["outcome"] == "hit"
    assert build(fresh, 1, user=ALICE)["outcome"] == "built"
    assert fresh.stats()["compiles_total"] == 1


def test_entries_that_an_administrator_inserts_serve_all_users(shared, fresh, place):
    build(shared, 1)
    file = place / "a.snap"
    snapshot(shared, "create", file)
    summary = snapshot(fresh, "insert", file)
    assert (summary["records"], summary["shared"]) == (1, True)
    assert snapshot(fresh, "insert", file)["left_out"] == 1
    for user in (ALICE, BOB, None):
        assert build(fresh, 1, user=user)["outcome"] == "hit"
    assert fresh.stats()["compiles_total"] == 0


def test_an_administrators_snapshot_has_no_entries_that_a_user_inserted(shared, fresh, place):
    """Otherwise a later insert of that file on another daemon would give them to all users."""
    build(shared, 1)
    file = place / "a.snap"
    snapshot(shared, "create", file)
    file.chmod(0o644)
    snapshot(fresh, "insert", file, user=BOB)
    assert build(fresh, 1, user=BOB)["outcome"] == "hit"
    refused = snapshot(fresh, "create", place / "all.snap", "--all-users", check=False)
    assert refused.returncode == 4 and not (place / "all.snap").exists()
    assert b"inserted it for themselves" in refused.stderr
    assert snapshot(fresh, "create", place / "bob.snap", user=BOB)["records"] == 1


@pytest.fixture
def broken(shared, place):
    """Returns (the damage, the bytes): a snapshot truncated and altered at its ends, at its seams and at many places
    between."""
    for number in range(2):
        build(shared, number)
    whole = place / "whole.snap"
    snapshot(shared, "create", whole)
    contents = whole.read_bytes()
    sizes = [record["stored_bytes"] for record in snapshot(shared, "list", whole)["records"]]
    seams = {0, 8, 12, 12 + sizes[0], 12 + sum(sizes), len(contents) - 84, len(contents) - 8, len(contents) - 1}
    places = sorted(seams | set(range(0, len(contents), len(contents) // 80)))
    made = []
    for offset in places:
        made.append((f"cut off at {offset}", contents[:offset]))
        altered = contents[:offset] + bytes([contents[offset] ^ 1]) + contents[offset + 1:]
        made.append((f"altered at {offset}", altered))
    return made


@pytest.mark.parametrize("user", [None, BOB])
def test_an_incomplete_file_is_refused_with_the_reason(fresh, place, broken, user):
    file = place / "broken.snap"
    for what, each in broken[::10]:
        file.write_bytes(each)
        refused = snapshot(fresh, "insert", file, check=False, user=user)
        assert refused.returncode == 4, what
        assert b"the snapshot is refused" in refused.stderr, what
    for number in range(2):
        assert build(fresh, number, user=user)["outcome"] == "built"


def test_the_daemon_verifies_a_snapshot_of_any_client(fresh, place, broken):
    """The daemon verifies a snapshot from any other client from end to end as well."""
    contents = (place / "whole.snap").read_bytes()
    with fresh.channel() as channel:
        stub = snapshot_pb2_grpc.SnapshotStub(channel)
        for what, sent in broken:
            with pytest.raises(grpc.RpcError) as refused:
                stub.Insert(iter([snapshot_pb2.SnapshotInsertRequest(data=sent, last=True)]))
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT, what
            assert "nothing of it was inserted: " in refused.value.details(), what
        assert fresh.stats()["entries"] == 0
        pieces = [contents[start:start + 1000] for start in range(0, len(contents), 1000)]
        requests = [snapshot_pb2.SnapshotInsertRequest(data=piece) for piece in pieces]
        requests[-1].last = True
        assert stub.Insert(iter(requests)).summary.records == 2
    assert build(fresh, 1)["outcome"] == "hit"


def test_a_snapshot_above_the_quota_is_refused_and_the_oldest_entries_are_evicted_first(shared, make_daemon, toolkit, place):
    small = make_daemon("--socket-mode", "0666", "--private-limit-per-uid", "50KiB", roots=(toolkit.root,),
                        name="small").start()
    files = []
    for number in range(4):
        build(shared, number)
        files.append(place / f"{number}.snap")
        arguments = ["delta", "--since", place / "all.snap"] if number else ["create"]
        snapshot(shared, *arguments, files[-1])
        snapshot(shared, "create", place / "all.snap")
    refused = snapshot(small, "insert", place / "all.snap", user=BOB, check=False)
    assert refused.returncode == 4
    assert b"private_limit_per_uid" in refused.stderr
    for file in files:
        assert snapshot(small, "insert", file, user=BOB)["records"] == 1
    outcomes = [build(small, number, user=BOB)["outcome"] for number in range(4)]
    assert outcomes == ["built", "built", "hit", "hit"]
