# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Shelves: directories of signed snapshots. The daemon answers builds from them without an insert and without a
copy."""

import concurrent.futures
import contextlib
import json
import os
import shutil
import signal

import grpc
import pytest
from conftest import PATIENCE, build_pb2, build_pb2_grpc, nvrtc_request, wait_for
from fuse_file import NAME, FuseFile
from remote_nodes import keys, redis, site  # noqa: F401
from running_daemon import run_cli

SOURCE = "//fake: take-number compiled\n// on the shelf\n"


class Shelf:
    """A directory of signed snapshots, and nodes that use it."""

    def __init__(self, directory, make_daemon, toolkit, site):
        self.place = directory / "shelf"
        self.place.mkdir()
        self.directory, self.make_daemon, self.toolkit = directory, make_daemon, toolkit
        self.key, self.trusted = site

    def start(self, name, *flags, place=None, patience="30s"):
        """Starts a node with a store of its own."""
        return self.make_daemon(
            "--shelf-path", str(place or self.place), "--remote-trust", str(self.trusted), "--remote-patience", patience,
            *flags, name=name, roots=(self.toolkit.root,)).start()

    def node(self, name, *flags, **keywords):
        """Starts a node, and waits until it has read a shelf with a snapshot and has compilers ready. While an open
        file on FUSE does not answer, the node starts no process (decision 19)."""
        node = self.start(name, *flags, **keywords)
        node.cli("toolchains")
        wait_for(lambda: count(node, "shelf_snapshots") + count(node, "shelf_problems") > 0, "the look at the shelf")
        return node

    def fill(self, *builds, name="kernels.snap", key=None, place=None):
        """Puts the results of these builds on a shelf, from a node that then ends. Returns the path of the snapshot."""
        maker = self.make_daemon(name=f"maker-{name}", roots=(self.toolkit.root,)).start()
        answers = [maker.build_json(source, *options) for source, *options in builds]
        assert {answer["outcome"] for answer in answers} == {"built"}
        self.compile_us = sum(answer["timing"]["compile_us"] for answer in answers)
        path = (place or self.place) / name
        maker.cli("snapshot", "create", str(path))
        maker.stop()
        self.sign(path, key or self.key)
        return path

    def sign(self, path, key):
        run_cli("snapshot", "sign", "--key", str(key), str(path))


def count(node, name):
    return node.stats().get(name, 0)


@contextlib.contextmanager
def on_fuse(directory, path):
    """Moves this snapshot to a file system that can stop answering."""
    mount = directory / "mount"
    mount.mkdir()
    file = FuseFile(mount, path.read_bytes())
    try:
        path.unlink()
        path.symlink_to(mount / NAME)
        yield file
    finally:
        file.close()


def found(answer):
    return answer["outcome"], answer["tier"]


def look_again(node):
    node.process.send_signal(signal.SIGHUP)


@pytest.fixture
def shelf(directory, make_daemon, toolkit, site):
    return Shelf(directory, make_daemon, toolkit, site)


def test_a_build_on_a_shelf_is_a_hit_and_is_not_copied_to_the_disk(shelf, toolkit):
    shelf.fill((SOURCE,))
    node = shelf.node("node")
    answer, contents = node.build_bytes(SOURCE)
    assert found(answer) == ("hit", "shelf")
    assert contents
    assert found(node.build_json(SOURCE)) == ("hit", "memory")
    assert 0 < count(node, "saved_seconds_total") <= 2 * shelf.compile_us / 1e6
    assert count(node, "saved_unknown_total") == 0
    assert toolkit.arrivals("compiled") == 1
    assert node.stats()["hits_total"]["shelf"] == 1
    assert count(node, "entries") == 0
    node.stop()
    node.start()
    wait_for(lambda: count(node, "shelf_snapshots") == 1, "the look at the shelf")
    assert found(node.build_json(SOURCE)) == ("hit", "shelf")


def test_a_build_that_refuses_misses_is_a_hit_of_a_shelf(shelf):
    def ask(daemon, source, on_miss):
        with daemon.channel() as channel:
            return build_pb2_grpc.BuildStub(channel).Build(nvrtc_request(source, on_miss=on_miss))

    maker = shelf.make_daemon(name="maker", roots=(shelf.toolkit.root,)).start()
    ask(maker, SOURCE, build_pb2.ON_MISS_WAIT)
    maker.cli("snapshot", "create", str(shelf.place / "kernels.snap"))
    shelf.sign(shelf.place / "kernels.snap", shelf.key)
    node = shelf.node("node")
    hit = ask(node, SOURCE, build_pb2.ON_MISS_REFUSE)
    assert (hit.outcome, hit.tier) == (build_pb2.OUTCOME_HIT, build_pb2.TIER_SHELF)
    with pytest.raises(grpc.RpcError) as missed:
        ask(node, "// not there\n", build_pb2.ON_MISS_REFUSE)
    assert missed.value.code() == grpc.StatusCode.NOT_FOUND
    assert node.stats()["compiles_total"] == 0


def test_the_bytes_of_a_shelf_are_those_that_were_compiled(shelf, make_daemon, toolkit):
    other = make_daemon(name="other", roots=(toolkit.root,)).start()
    _, compiled = other.build_bytes("// bytes\n")
    shelf.fill(("// bytes\n",))
    answer, served = shelf.node("node").build_bytes("// bytes\n")
    assert found(answer) == ("hit", "shelf")
    assert served == compiled


def test_builds_over_headers_are_found_by_the_contents_of_the_headers(shelf, directory):
    def place_of(name, value):
        (directory / name).mkdir()
        (directory / name / "value.h").write_text(f"// value {value}\n")
        return f"--option=-I{directory / name}"

    program = "#include <value.h>\n"
    shelf.fill((program, place_of("a", 1)), (program, place_of("b", 2)))
    node = shelf.node("node")
    assert found(node.build_json(program, place_of("c", 1))) == ("hit", "shelf")
    assert found(node.build_json(program, place_of("d", 2))) == ("hit", "shelf")
    assert node.build_json(program, place_of("e", 3))["outcome"] == "built"


def test_other_users_get_results_from_a_shelf_too(shelf):
    shelf.fill((SOURCE,))
    node = shelf.node("node", "--socket-mode", "0666")
    assert found(node.build_json(SOURCE, user=54321, cwd="/")) == ("hit", "shelf")


def test_added_changed_and_removed_snapshots_are_noticed(shelf):
    first = shelf.fill(("// first\n",), name="first.snap")
    node = shelf.node("node")
    shelf.fill(("// second\n",), ("// third\n",), name="second.snap")
    look_again(node)
    wait_for(lambda: count(node, "shelf_snapshots") == 2, "the second snapshot")
    assert found(node.build_json("// third\n")) == ("hit", "shelf")
    first.unlink()
    first.with_name("first.snap.sig").unlink()
    look_again(node)
    wait_for(lambda: count(node, "shelf_snapshots") == 1, "the end of the first snapshot")
    assert node.build_json("// first\n")["outcome"] == "built"


def test_a_new_snapshot_is_noticed_without_a_reload(shelf):
    node = shelf.start("node")
    shelf.fill((SOURCE,))
    wait_for(lambda: count(node, "shelf_snapshots") == 1, "the snapshot")
    assert found(node.build_json(SOURCE)) == ("hit", "shelf")


def refused(shelf, words):
    """Returns the node of a shelf whose only snapshot is refused for this reason."""
    node = shelf.node("node")
    wait_for(lambda: words in node.log_text(), f"{words!r} in the log")
    assert (count(node, "shelf_snapshots"), count(node, "shelf_problems")) == (0, 1)
    assert node.build_json(SOURCE)["outcome"] == "built"
    return node


def test_unsigned_snapshots_of_a_shelf_are_passed_over(shelf):
    path = shelf.fill((SOURCE,))
    path.with_name(f"{path.name}.sig").write_bytes(b"no signature")
    refused(shelf, "it is no signature of a snapshot")


def test_snapshots_signed_with_an_untrusted_key_are_not_used(shelf, keys):
    stranger, _ = keys.make("stranger.key")
    shelf.fill((SOURCE,), key=stranger)
    refused(shelf, "its key is not trusted")


def test_a_snapshot_with_the_signature_of_another_is_not_used(shelf):
    path = shelf.fill((SOURCE,), name="a.snap")
    other = shelf.fill(("// other\n",), name="b.snap")
    shutil.move(path, other)
    path.with_name("a.snap.sig").unlink()
    refused(shelf, "it is not the snapshot that was signed")


@pytest.mark.parametrize("name", ["kernels.snap", "kernels.snap.sig"])
def test_truncated_files_of_a_shelf_are_not_used(shelf, name):
    shelf.fill((SOURCE,))
    path = shelf.place / name
    path.write_bytes(path.read_bytes()[:-1])
    refused(shelf, name)


def test_a_record_that_is_altered_while_the_daemon_runs_is_a_miss(shelf):
    path = shelf.fill((SOURCE,))
    node = shelf.node("node")
    with path.open("r+b") as file:
        file.seek(40)
        byte = file.read(1)
        file.seek(40)
        file.write(bytes([byte[0] ^ 1]))
    assert node.build_json(SOURCE)["outcome"] == "built"
    assert count(node, "shelf_refused_total") >= 1


def test_a_snapshot_that_shrinks_while_the_daemon_runs_is_a_miss(shelf):
    path = shelf.fill((SOURCE,))
    node = shelf.node("node")
    path.write_bytes(b"")
    assert node.build_json(SOURCE)["outcome"] == "built"


def test_status_and_doctor_show_the_contents_of_the_shelves(shelf):
    shelf.fill((SOURCE,))
    (shelf.place / "more.snap.sig").write_text("no signature")
    node = shelf.node("node")
    node.build_json(SOURCE)
    status = json.loads(node.cli("--json", "remote", "status").stdout)["shelves"]
    assert (status["directories"], status["snapshots"], status["entries"], status["problems"]) == (1, 1, 1, 1)
    assert status["hits_total"] == 1
    shown = node.cli("remote", "status").stdout.decode()
    assert "Shelves   1; snapshots 1, entries 1; unusable 1" in shown
    assert "\nof those  1 hit, 0 answers too late, 0 refused\n" in shown
    checks = {check["name"]: check for check in json.loads(node.cli("--json", "doctor", check=False).stdout)["checks"]}
    assert checks["shelves"]["verdict"] == "warning"
    assert checks["shelves"]["seen"] == "snapshots: 1, entries: 1, unusable: 1"


def test_explain_shows_the_finding_of_a_shelf(shelf):
    shelf.fill((SOURCE,))
    node = shelf.node("node")

    def tiers(source):
        explained = node.cli("--json", "explain", "--", "build", "-", "--arch", "sm_90", input=source)
        return [(tier["tier"], tier["finding"]) for tier in json.loads(explained.stdout)["tiers"]]

    assert tiers(SOURCE) == [("memory", "no-entry"), ("disk", "no-entry"), ("shelf", "has-it")]
    assert tiers("// other\n") == [
        ("memory", "no-entry"), ("disk", "no-entry"), ("shelf", "no-entry"), ("remote", "not-configured")]
    assert count(node, "builds_total") == 0


def test_a_shelf_signed_by_a_revoked_key_is_not_used(shelf):
    shelf.fill((SOURCE,))
    node = shelf.node("node")
    run_cli("remote", "revoke", f"{shelf.key}.pub", "--list", str(shelf.trusted))
    look_again(node)
    wait_for(lambda: count(node, "shelf_snapshots") == 0, "the reload")
    assert node.build_json(SOURCE)["outcome"] == "built"


def test_a_missing_shelf_is_named_and_harms_nothing(shelf, directory):
    node = shelf.node("node", place=directory / "missing")
    wait_for(lambda: f"{directory / 'missing'}: No such file or directory" in node.log_text(), "the shelf's name in the log")
    assert node.build_json(SOURCE)["outcome"] == "built"


def test_a_shelf_is_asked_before_redis(shelf, redis):
    shelf.fill((SOURCE,))
    flags = ("--remote-url", redis.url, "--remote-key", str(shelf.key))
    one, two = shelf.node("one", *flags), shelf.node("two", *flags)
    for node in (one, two):
        wait_for(lambda node=node: count(node, "remote_connected") == 1, "a connection to Redis")
    assert found(one.build_json(SOURCE)) == ("hit", "shelf")
    assert count(one, "remote_lookups_total") == 0
    assert one.build_json("// in Redis\n")["outcome"] == "built"
    wait_for(lambda: count(one, "remote_writes_total") >= 1, "the entry in Redis")
    assert found(two.build_json("// in Redis\n")) == ("hit", "remote")


def test_a_shelf_on_a_hanging_mount_blocks_no_build(shelf, directory):
    """The file system of a snapshot stops answering. The first builds wait for it, and no later build does. Hits,
    other shelves and the end of the daemon do not wait at all."""
    path = shelf.fill((SOURCE,), *((f"// {number}\n",) for number in range(6)))
    good = directory / "good"
    good.mkdir()
    with on_fuse(directory, path) as file:
        shelf.fill(("// good\n",), name="good.snap", place=good)
        node = shelf.node("node", "--shelf-path", str(good), patience="50ms")
        wait_for(lambda: count(node, "shelf_snapshots") == 2, "the look at both shelves")
        assert found(node.build_json(SOURCE)) == ("hit", "shelf")
        file.answering.clear()
        for number in range(6):  # more than are read at a time
            assert node.build_json(f"// {number}\n")["outcome"] == "built"
        assert 1 <= count(node, "shelf_late_total") <= 4
        assert found(node.build_json(SOURCE)) == ("hit", "memory")
        assert found(node.build_json("// good\n")) == ("hit", "shelf")
        node.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not os.path.exists(node.socket), "the end of the service")
    assert node.process.wait(PATIENCE) == 0  # the kernel ends no process with an unanswered read


def test_a_shelf_that_hangs_from_the_start_is_named(shelf, directory):
    path = shelf.fill((SOURCE,))
    with on_fuse(directory, path) as file:
        file.answering.clear()
        node = shelf.start("node")
        assert node.build_json("// meanwhile\n")["outcome"] == "built"
        wait_for(lambda: count(node, "shelf_silent") == 1, "the end of patience")
        look_again(node)
        wait_for(lambda: f"the shelf {shelf.place} has not been read" in node.log_text(), "its name in the log")
        status = json.loads(node.cli("--json", "remote", "status").stdout)["shelves"]
        assert (status["snapshots"], status["problems"], status["silent"]) == (0, 0, 1)
        assert status["silent_seconds"] >= 5
        assert "silent 1, for " in node.cli("remote", "status").stdout.decode()
        checks = {check["name"]: check for check in json.loads(node.cli("--json", "doctor", check=False).stdout)["checks"]}
        assert checks["shelves"]["verdict"] == "warning"
        assert "silent: 1, for " in checks["shelves"]["seen"]
        file.answering.set()
        wait_for(lambda: f"the shelf {shelf.place} answers again" in node.log_text(), "the answer")
        assert count(node, "shelf_silent") == 0
        assert found(node.build_json(SOURCE)) == ("hit", "shelf")


def test_a_late_read_of_a_shelf_ends_the_compile(shelf, directory, toolkit):
    source = "//fake: wait-for held\n"
    toolkit.open("held")
    path = shelf.fill((source,))
    toolkit.close("held")
    with on_fuse(directory, path) as file:
        node = shelf.node("node", patience="5ms")
        file.answering.clear()
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            build = threads.submit(node.build_json, source)
            toolkit.await_arrivals("held", 2)
            file.answering.set()
            assert found(build.result()) == ("hit", "shelf")
        assert count(node, "shelf_late_total") == 1


def test_a_shelf_that_hung_serves_again(shelf, directory):
    path = shelf.fill(*((f"// {number}\n",) for number in range(40)))
    numbers = iter(range(40))
    with on_fuse(directory, path) as file:
        node = shelf.node("node", patience="50ms")
        file.answering.clear()
        for _ in range(5):  # more than are read at a time
            assert node.build_json(f"// {next(numbers)}\n")["outcome"] == "built"
        assert count(node, "shelf_late_total") == 4
        file.answering.set()
        wait_for(lambda: found(node.build_json(f"// {next(numbers)}\n")) == ("hit", "shelf"), "a hit of the shelf")


def test_sign_and_verify_name_the_error(shelf, keys, directory):
    path = shelf.fill((SOURCE,))
    assert b"signed by " in run_cli("snapshot", "verify", str(path), "--trust", str(shelf.trusted)).stdout
    answer = json.loads(run_cli("--json", "snapshot", "sign", "--key", str(shelf.key), str(path)).stdout)
    assert answer["signatures"] == [f"{path}.sig"]

    def error_of(*arguments):
        done = run_cli("snapshot", *arguments, check=False)
        assert done.returncode != 0
        return done.stderr.decode()

    _, stranger = keys.make("stranger.key")
    assert "is not trusted" in error_of("verify", str(path), "--trust", str(stranger))
    assert "this is a public key" in error_of("sign", "--key", str(stranger), str(path))
    assert "missing.snap" in error_of("sign", "--key", str(shelf.key), str(directory / "missing.snap"))
    broken = directory / "broken.snap"
    broken.write_bytes(path.read_bytes()[:-1])
    assert "broken.snap" in error_of("sign", "--key", str(shelf.key), str(broken))
    assert not (directory / "broken.snap.sig").exists()
