# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots: their contents, and the users who may make them."""

from conftest import wait_for
from snapshot_commands import ALICE, BOB, as_root, build, keys, place, shared, snapshot  # noqa: F401


def test_a_snapshot_is_written_into_a_directory_that_its_user_can_not_read(shared, place):
    build(shared, 1, user=ALICE)
    place.chmod(0o333)
    file = place / "all.snap"
    assert snapshot(shared, "create", file, user=ALICE)["records"] == 1
    assert len(keys(shared, file)) == 1


def test_a_snapshot_holds_the_results_that_its_user_received(shared, place):
    built = [build(shared, number) for number in range(3)]
    file = place / "all.snap"
    summary = snapshot(shared, "create", file)
    assert (summary["records"], summary["left_out"]) == (3, 0)
    assert summary["bytes"] == file.stat().st_size
    listed = snapshot(shared, "list", file)["records"]
    assert [record["key"] for record in listed] == sorted(each["key"] for each in built)
    for record in listed:
        assert record["kind"] == "artifact"
        assert record["arch"] == "sm_90"
        assert record["toolchain"] == built[0]["toolchain"]
    assert snapshot(shared, "verify", file)["records"] == 3


def test_snapshots_of_equal_entries_have_equal_bytes(shared, place, make_daemon, toolkit):
    """One daemon makes the snapshot twice. The snapshot of another daemon differs only in compile times."""
    other = make_daemon(roots=(toolkit.root,), name="other").start()
    for number in (1, 2, 0):
        build(shared, number)
    for number in (2, 0, 1):
        build(other, number)
    files = [place / name for name in ("one", "two", "three")]

    def told(record):
        return {name: record[name] for name in ("kind", "key", "bytes", "toolchain", "arch")}

    for file, daemon in zip(files, (shared, shared, other)):
        snapshot(daemon, "create", file)
    assert files[0].read_bytes() == files[1].read_bytes()
    one, other = ([told(record) for record in snapshot(shared, "list", file)["records"]] for file in files[1:])
    assert one == other


def test_results_that_only_other_users_received_are_not_exported(shared, place):
    mine, both = build(shared, 1, user=ALICE), build(shared, 2, user=ALICE)
    other = build(shared, 3, user=BOB)
    assert build(shared, 2, user=BOB)["outcome"] == "hit"
    for user, expected in ((ALICE, [mine, both]), (BOB, [both, other])):
        file = place / f"{user}.snap"
        snapshot(shared, "create", file, user=user)
        assert keys(shared, file) == sorted(each["key"] for each in expected)
    refused = snapshot(shared, "create", place / "nothing.snap", check=False)
    assert refused.returncode == 4 and b"no build of yours" in refused.stderr
    assert not (place / "nothing.snap").exists()


def test_only_an_administrator_exports_results_of_other_users(shared, place):
    mine, other = build(shared, 1, user=ALICE), build(shared, 2, user=BOB)
    file = place / "a.snap"
    for filters in (["--uid", BOB], ["--all-users"]):
        refused = snapshot(shared, "create", file, *filters, user=ALICE, check=False)
        assert refused.returncode == 4
        assert b"root and the daemon's user" in refused.stderr
        assert not file.exists()
    snapshot(shared, "create", file, "--uid", BOB)
    assert keys(shared, file) == [other["key"]]
    snapshot(shared, "create", file, "--all-users")
    assert keys(shared, file) == sorted((mine["key"], other["key"]))
    assert file.stat().st_mode & 0o777 == 0o600


def test_filters_narrow_the_exported_entries(shared, place):
    one, two = build(shared, 1), build(shared, 2, arch="sm_80")
    everything = sorted((one["key"], two["key"]))
    toolchain = one["toolchain"]
    file = place / "a.snap"
    for filters, expected in (
        (["--arch", "sm_80"], [two["key"]]),
        (["--arch", "sm_70"], []),
        (["--toolchain", toolchain["version"]], everything),
        (["--toolchain", toolchain["version"].split(".")[0]], everything),
        (["--toolchain", toolchain["id"][:12]], everything),
        (["--toolchain", "12"], []),
        (["--after", "1h"], everything),
        (["--before", "1h"], []),
        (["--before", "2100-01-01", "--after", "2020-01-01T00:00:00"], everything),
    ):
        if expected:
            snapshot(shared, "create", file, *filters)
            assert keys(shared, file) == expected, filters
        else:
            assert snapshot(shared, "create", file, *filters, check=False).returncode == 4, filters


def test_a_delta_holds_exactly_the_new_entries(shared, place):
    for number in range(3):
        build(shared, number)
    first, delta = place / "first.snap", place / "delta.snap"
    snapshot(shared, "create", first)
    new = [build(shared, number)["key"] for number in range(3, 5)]
    assert build(shared, 0)["outcome"] == "hit"
    assert snapshot(shared, "delta", "--since", first, delta)["records"] == 2
    assert keys(shared, delta) == sorted(new)


def test_a_snapshot_has_earlier_results_after_a_restart_and_a_kill(shared, place):
    answered = [build(shared, number)["key"] for number in range(3)]
    file = place / "a.snap"
    shared.stop()
    shared.start()
    snapshot(shared, "create", file)
    assert keys(shared, file) == sorted(answered)
    shared.kill()
    shared.start()
    snapshot(shared, "create", file)
    assert keys(shared, file) == sorted(answered)


def test_entries_that_are_no_longer_kept_are_counted(make_daemon, toolkit, place):
    daemon = make_daemon("--store-limit", "4MiB", "--memory-limit", "1MiB", roots=(toolkit.root,)).start()
    for number in range(40):
        daemon.build_json(f"// {number}\n//fake: output-size 300000\n")
    wait_for(lambda: daemon.stats()["evictions_total"] > 0, "an eviction")
    summary = snapshot(daemon, "create", place / "a.snap")
    assert summary["records"] + summary["left_out"] == 40
    assert summary["left_out"] > 0


def test_a_snapshot_that_was_cut_off_or_altered_is_refused(shared, place):
    build(shared, 1)
    whole = place / "whole.snap"
    snapshot(shared, "create", whole)
    contents = whole.read_bytes()
    file = place / "broken.snap"
    for broken, words in (
        (contents[: len(contents) // 2], b"ends in the middle"),
        (contents[:100] + bytes([contents[100] ^ 1]) + contents[101:], b"altered"),
        (b"", b"ends in the middle"),
        (b"x" * 1000, b"no snapshot"),
    ):
        file.write_bytes(broken)
        refused = snapshot(shared, "verify", file, check=False)
        assert refused.returncode == 4
        assert words in refused.stderr
    assert snapshot(shared, "verify", place / "absent.snap", check=False).returncode == 5


def test_list_needs_no_daemon_and_create_no_seekable_output(shared, place):
    build(shared, 1)
    streamed = shared.cli("snapshot", "create", "-").stdout
    file = place / "a.snap"
    file.write_bytes(streamed)
    socket, shared.socket = shared.socket, "/nonexistent/socket"
    assert len(keys(shared, file)) == 1
    shared.socket = socket
    snapshot(shared, "create", place / "b.snap")
    assert (place / "b.snap").read_bytes() == streamed
    assert sorted(path.name for path in place.iterdir()) == ["a.snap", "b.snap"]
