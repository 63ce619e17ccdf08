# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that share a real Redis compile each build once. A failing Redis never makes a node worse than no Redis."""

import concurrent.futures
import itertools
import json

import pytest
from conftest import PLACES, wait_for
from redis_server import Gate, Nonsense
from remote_nodes import (  # noqa: F401
    await_connected, await_shared, await_written, built, count, keys, make_node, redis, rights_in_the_guide, site)
from running_daemon import run_cli
from watched_terminal import WatchedTerminal


@pytest.fixture
def nodes(make_node, redis):
    """Two nodes that are connected to the Redis."""
    both = make_node("1", redis.url), make_node("2", redis.url)
    for node in both:
        await_connected(node)
    return both


def test_two_nodes_compile_a_program_once(nodes, redis, toolkit):
    one, two = nodes
    source = "//fake: take-number compiled\n"
    first, bytes_of_one = one.build_bytes(source)
    assert first["outcome"] == "built"
    wait_for(lambda: redis.ask("EXISTS", f"cccl-cached:a:{first['key']}"), "the entry in Redis")
    second, bytes_of_two = two.build_bytes(source)
    assert built(second) == ("hit", "remote")
    assert bytes_of_two == bytes_of_one
    assert toolkit.arrivals("compiled") == 1
    assert built(two.build_json(source)) == ("hit", "memory")
    two.stop()
    two.start()
    assert built(two.build_json(source)) == ("hit", "disk")


def test_results_over_headers_are_shared_by_the_contents_of_the_headers(nodes, toolkit, directory):
    one, two = nodes

    def build(node, place, value):
        (directory / place).mkdir(exist_ok=True)
        (directory / place / "value.h").write_text(f"// value {value}\n")
        return node.build_json("#include <value.h>\n", f"--option=-I{directory / place}")

    await_shared(one, two, lambda node, number: build(node, "a" if node is one else "b", number))
    await_shared(two, one, lambda node, number: build(node, "c" if node is one else "d", -1 - number))


@pytest.mark.parametrize("text", ["", "#include <value.h>\n"], ids=["no header", "a user's header"])
def test_a_node_waits_for_the_same_users_compile_on_another_node(nodes, toolkit, directory, text):
    one, two = nodes
    (directory / "value.h").write_text("// value\n")
    program = (f"{text}//fake: wait-for held\n", f"--option=-I{directory}")
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first = threads.submit(one.build_json, *program)
        toolkit.await_arrivals("held", 1)
        second = threads.submit(two.build_json, *program)
        wait_for(lambda: count(two, "remote_waits_total") > 0, "a wait for the other node")
        toolkit.open("held")
        assert first.result()["outcome"] == "built"
        assert built(second.result()) == ("hit", "remote")
    assert toolkit.arrivals("held") == 1


def test_the_lease_of_a_dead_node_expires(nodes, toolkit):
    one, two = nodes
    source = "//fake: wait-for held\n"
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        threads.submit(one.build_json, source, check=False)
        toolkit.await_arrivals("held", 1)
        second = threads.submit(two.build_json, source)
        wait_for(lambda: count(two, "remote_waits_total") > 0, "a wait for the other node")
        one.kill()
        toolkit.await_arrivals("held", 2)
        toolkit.open("held")
        assert second.result()["outcome"] == "built"


def test_a_redis_that_dies_while_a_node_waits_costs_a_compile(nodes, redis, toolkit):
    one, two = nodes
    source = "//fake: wait-for held\n"
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first = threads.submit(one.build_json, source)
        toolkit.await_arrivals("held", 1)
        second = threads.submit(two.build_json, source)
        wait_for(lambda: count(two, "remote_waits_total") > 0, "a wait for the other node")
        redis.stop()
        toolkit.await_arrivals("held", 2)
        toolkit.open("held")
        assert first.result()["outcome"] == "built"
        assert second.result()["outcome"] == "built"


def test_a_frozen_redis_is_soon_asked_no_more(make_node, redis):
    node = make_node("1", redis.url, "--remote-patience", "20ms")
    await_connected(node)
    redis.freeze()
    numbers = iter(range(1_000_000))

    def left_alone():
        assert node.build_json(f"// while it is frozen {next(numbers)}\n")["outcome"] == "built"
        return count(node, "remote_connected") == 0

    wait_for(left_alone, "the end of the connection")
    assert count(node, "remote_late_total") > 0
    before = count(node, "remote_lookups_total")
    assert node.build_json("// not asked for\n")["outcome"] == "built"
    assert count(node, "remote_lookups_total") == before
    redis.thaw()

    def asked_again():
        node.build_json(f"// after it was thawed {next(numbers)}\n")
        return count(node, "remote_lookups_total") > before

    wait_for(asked_again, "a question after the pause")


@pytest.fixture
def gate(directory, redis):
    held = Gate(directory, redis)
    yield held
    held.stop()


def test_a_slow_redis_delays_only_a_few_misses(make_node, gate):
    node = make_node("1", gate.url, "--remote-patience", "20ms")
    await_connected(node)
    assert node.build_json("// before\n")["outcome"] == "built"
    await_written(node, 1)
    gate.close()  # no answer passes from here on, so a build that ends has waited for none
    for number in itertools.count():
        lookups = count(node, "remote_lookups_total")
        assert built(node.build_json("// before\n")) == ("hit", "memory")
        assert count(node, "remote_lookups_total") == lookups  # a hit asks Redis nothing
        if count(node, "remote_connected") == 0:
            break
        assert node.build_json(f"// slow {number}\n")["outcome"] == "built"
    assert count(node, "remote_late_total") > 0
    lookups = count(node, "remote_lookups_total")
    for number in range(5):
        assert node.build_json(f"// alone {number}\n")["outcome"] == "built"
    assert count(node, "remote_lookups_total") == lookups
    gate.open()

    def asked_again():
        answer = node.build_json(f"// again {next(numbers)}\n")
        assert answer["outcome"] == "built"
        return count(node, "remote_lookups_total") > lookups

    numbers = itertools.count()
    wait_for(asked_again, "a question after the pause")


def test_an_answer_during_the_compile_is_used(make_node, redis, gate, toolkit):
    one, two = make_node("1", redis.url), make_node("2", gate.url, "--remote-patience", "20ms")
    for node in (one, two):
        await_connected(node)
    source = "//fake: wait-for held\n"
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first = threads.submit(one.build_json, source)
        toolkit.await_arrivals("held", 1)
        toolkit.open("held")
        assert first.result()["outcome"] == "built"
        await_written(one, 1)
        toolkit.close("held")
        gate.close()
        second = threads.submit(two.build_json, source)
        toolkit.await_arrivals("held", 2)
        gate.open()
        assert built(second.result()) == ("hit", "remote")
    assert count(two, "remote_late_total") == 1


def test_a_redis_that_was_restarted_is_used_again(make_node, redis):
    node = make_node("1", redis.url)
    await_connected(node)
    redis.stop()
    assert node.build_json("// while it is gone\n")["outcome"] == "built"
    redis.start()
    written = count(node, "remote_writes_total")
    numbers = iter(range(1_000_000))

    def written_again():
        node.build_json(f"// after its restart {next(numbers)}\n")
        return count(node, "remote_writes_total") > written

    wait_for(written_again, "an entry in the new Redis")


def test_a_full_redis_costs_only_compiles(make_node, redis):
    node = make_node("1", redis.url)
    await_connected(node)
    redis.ask("CONFIG", "SET", "maxmemory", "1")
    assert node.build_json("// while it is full\n")["outcome"] == "built"
    wait_for(lambda: count(node, "remote_writes_failed_total") > 0, "a write that failed")
    assert built(node.build_json("// while it is full\n")) == ("hit", "memory")
    assert count(node, "remote_waits_total") == 0


@pytest.mark.parametrize(
    "answer", [b"nonsense\r\n", b"$9999999999\r\n", b"*2147483647\r\n", b"+PONG\r\n$99999999999999999999\r\n", b"\0" * 4096],
    ids=["garbage", "a giant text", "a giant list", "an overflow", "zeros"])
def test_a_redis_with_malformed_replies_delays_no_build(make_node, directory, answer):
    nonsense = Nonsense(directory, answer)
    node = make_node("1", nonsense.url)
    wait_for(lambda: nonsense.calls > 1, "a second connection")
    for number in range(3):
        assert node.build_json(f"// {number}\n")["outcome"] == "built"
    nonsense.stop()


def test_a_node_without_a_key_only_reads(make_node, redis):
    reader, writer = make_node("1", redis.url, key=None), make_node("2", redis.url)
    for node in (reader, writer):
        await_connected(node)
    assert reader.build_json("// of the reader\n")["outcome"] == "built"
    assert redis.entries() == []
    await_shared(writer, reader, lambda node, number: node.build_json(f"// of the writer {number}\n"))


REASONS = ("untrusted", "forged", "other_key", "expired", "malformed", "oversized", "corrupt")


class Forgery:
    """An entry of one node that is changed before another node reads it."""

    def __init__(self, make_node, redis, **of_reader):
        self.redis = redis
        self.writer, self.reader = make_node("1", redis.url), make_node("2", redis.url, **of_reader)
        for node in (self.writer, self.reader):
            await_connected(node)

    def write(self, source):
        """Writes the entry. Returns its name in Redis."""
        name = f"cccl-cached:a:{self.writer.build_json(source)['key']}"
        wait_for(lambda: self.redis.ask("EXISTS", name), "the entry in Redis")
        return name

    def is_refused(self, source, reason):
        right = self.writer.build_bytes(source)[1]
        before = self.reader.stats()
        answer, contents = self.reader.build_bytes(source)
        assert answer["outcome"] == "built"
        assert contents == right
        # The counter has each look at Redis, and a build looks up to three times.
        stats = self.reader.stats()
        counts = [f"remote_{each}_total" for each in REASONS]
        assert [each for each in counts if stats[each] > before[each]] == [f"remote_{reason}_total"]


def test_an_entry_that_is_signed_with_an_untrusted_key_is_refused(make_node, redis, keys):
    _, public = keys.make("other.key")
    forgery = Forgery(make_node, redis, trust=keys.trust("others", public))
    forgery.write("// victim\n")
    forgery.is_refused("// victim\n", "untrusted")


def test_an_entry_that_is_signed_with_a_revoked_key_is_refused(make_node, redis, keys, site):
    forgery = Forgery(make_node, redis)
    forgery.write("// before\n")
    assert built(forgery.reader.build_json("// before\n")) == ("hit", "remote")
    forgery.write("// after\n")
    run_cli("remote", "revoke", f"{site[0]}.pub", "--list", str(site[1]))
    forgery.reader.process.send_signal(1)
    wait_for(lambda: "0 keys are trusted" in forgery.reader.log_text(), "the reload")
    forgery.is_refused("// after\n", "untrusted")


def altered_at(place):
    return lambda entry, other: entry[:place] + bytes([entry[place] ^ 1]) + entry[place:][1:]


FORGERIES = {
    "unsigned": (lambda entry, other: b"CCCLENT\n" + bytes(200), "malformed"),
    "swapped between keys": (lambda entry, other: other, "other_key"),
    "another signer": (altered_at(100), "untrusted"),
    "another signature": (altered_at(180), "forged"),
    "another end": (altered_at(-1), "corrupt"),
    "truncated": (lambda entry, other: entry[:-1], "corrupt"),
}


def test_an_entry_that_was_changed_in_redis_is_refused(make_node, redis):
    forgery = Forgery(make_node, redis)
    other = redis.ask("GET", forgery.write("// other\n"))
    for what, (forged, reason) in FORGERIES.items():
        name = forgery.write(f"// {what}\n")
        redis.ask("SET", name, forged(redis.ask("GET", name), other))
        forgery.is_refused(f"// {what}\n", reason)


def test_statistics_and_metrics_name_the_remote_tier(make_node, redis):
    node = make_node("1", redis.url)
    await_connected(node)
    assert node.stats()["hits_total"].keys() == {"memory", "disk", "shelf", "remote"}
    assert "remote_lookups_total" in node.cli("stats", "--openmetrics").stdout.decode()


def test_the_rights_in_the_guide_are_enough_for_a_redis_user(make_node, redis, directory):
    redis.ask("ACL", "SETUSER", "cccl", "on", ">secret", "~cccl-cached:*", "-@all",
              *rights_in_the_guide())
    redis.ask("ACL", "SETUSER", "default", "-@all", "+ping", "+acl")
    password = directory / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    flags = ("--remote-password-file", str(password))
    url = redis.url.replace("unix://", "unix://cccl@")
    one, two = make_node("1", url, *flags), make_node("2", url, *flags)
    for node in (one, two):
        await_connected(node)
    await_shared(one, two, lambda node, number: node.build_json(f"// {number}\n"))
    assert count(one, "remote_writes_failed_total") == 0
    for node in (one, two):
        node.stop()  # the node's leases have ended when it has stopped
    assert redis.ask("ACL", "LOG") == []


def test_a_wrong_password_is_named_and_fails_no_build(make_node, redis, directory):
    redis.ask("CONFIG", "SET", "requirepass", "secret")
    node = make_node("1", redis.url)
    wait_for(lambda: "--remote-password-file" in node.log_text(), "the way out in the log")
    assert node.build_json("// without Redis\n")["outcome"] == "built"


def test_remote_status_shows_the_connection_and_the_counts(make_node, redis, fake):
    assert b"no Redis is configured" in fake.cli("remote", "status").stdout
    node = make_node("1", redis.url)
    await_connected(node)
    node.build_json("\n")
    await_written(node, 1)
    status = json.loads(node.cli("--json", "remote", "status").stdout)
    assert (status["configured"], status["connected"], status["address"]) == (True, True, redis.url)
    assert (status["signs"], status["trusted_keys"], status["own_key_trusted"]) == (1, 1, 1)
    assert status["writes_total"] >= 1
    redis.stop()
    wait_for(lambda: f"not connected to {redis.url}: " in node.cli("remote", "status").stdout.decode(),
             "the loss of the connection")
    assert json.loads(node.cli("--json", "remote", "status").stdout)["problem"]
    node.await_log("remote")


def doctor(node):
    done = run_cli("--json", "--socket", str(node.socket), "doctor", check=False, environment={"PATH": "/nowhere"})
    return done.returncode, {each["name"]: each for each in json.loads(done.stdout)["checks"]}


def test_doctor_checks_redis_its_clock_and_the_keys(make_node, redis, keys):
    node = make_node("1", redis.url)
    await_connected(node)
    code, checks = doctor(node)
    assert code == 0
    for name in ("redis", "redis clock", "redis keys"):
        assert checks[name]["verdict"] == "pass", checks[name]
    assert redis.url in checks["redis"]["seen"]
    assert abs(count(node, "remote_clock_ahead_seconds")) < 300
    _, other = keys.make("other.key")
    keys.trust("trusted", other)
    stranger = make_node("2", redis.url, trust=keys.trust("others", other))
    assert doctor(stranger)[1]["redis keys"]["verdict"] == "warning"
    redis.stop()
    wait_for(lambda: count(node, "remote_connected") == 0, "the end of the connection")
    code, checks = doctor(node)
    assert code == 1
    assert [name for name, each in checks.items() if each["verdict"] == "failure"] == ["redis"]
    assert "redis.sock" in checks["redis"]["seen"]


def test_top_shows_the_redis_that_nodes_share(make_node, redis, fake):
    node = make_node("1", redis.url)
    await_connected(node)
    with WatchedTerminal(PLACES.cli, "--socket", node.socket, "top") as terminal:
        terminal.await_shown("remote  connected, 0 hits", "the connection")
        node.build_json("\n")
        terminal.await_shown("in the last minute), 1 lookups", "the lookup")
        redis.stop()
        terminal.await_shown("remote  not connected: ", "the loss of the connection")
    told = json.loads(node.cli("--json", "top").stdout)["remote"]
    assert (told["connected"], told["lookups"]) == (False, 1)
    assert told["problem"]
    assert "remote" not in fake.cli("top", "--once").stdout.decode()


def explained(node, source="// explained\n"):
    """Returns the result of `explain` for the program: the answer, and the finding of each tier with its reason."""
    told = json.loads(node.cli("--json", "explain", "--", "build", "-", "--arch", "sm_90", input=source).stdout)
    return told, {each["tier"]: (each["finding"], each["reason"]) for each in told["tiers"]}


def test_explain_shows_the_finding_of_each_tier_and_asks_redis_without_a_lease(nodes, make_node, redis, keys, fake):
    one, two = nodes
    told, tiers = explained(two)
    assert told["verdict"] == "never-seen"
    assert tiers == {"memory": ("no-entry", ""), "disk": ("no-entry", ""), "remote": ("no-entry", "")}
    assert redis.entries("l") == []
    assert one.build_json("// explained\n")["outcome"] == "built"
    await_written(one, 1)
    for _ in range(2):  # nothing is kept
        told, tiers = explained(two)
        assert (told["verdict"], told["tier"], tiers["remote"]) == ("hit", "remote", ("has-it", ""))
    assert count(two, "remote_lookups_total") == 0
    _, other = keys.make("other.key")
    stranger = make_node("3", redis.url, trust=keys.trust("others", other))
    await_connected(stranger)
    finding, reason = explained(stranger)[1]["remote"]
    assert finding == "refused" and "untrusted" in reason
    redis.stop()
    # The first reason is the closed connection, the second the missing socket.
    wait_for(lambda: "start it there" in explained(two)[1]["remote"][1], "the way out")
    assert explained(two)[1]["remote"][0] == "not-connected"
    assert explained(fake)[1]["remote"] == ("not-configured", "")


def test_explain_compares_files_with_the_manifest_of_other_nodes(nodes, directory):
    one, two = nodes
    (directory / "value.h").write_text("// value\n")
    words = ["build", "-", "--arch", "sm_90", f"--option=-I{directory}"]

    def explain():
        told = two.cli("--json", "explain", "--", *words, input="#include <value.h>\n")
        return json.loads(told.stdout)

    assert one.build_json("#include <value.h>\n", f"--option=-I{directory}")["outcome"] == "built"
    await_written(one, 2)
    assert (explain()["verdict"], explain()["tier"]) == ("hit", "remote")
    (directory / "value.h").write_text("// another\n")
    assert explain()["verdict"] == "never-seen"
    assert explain()["tiers"][-1] == {"tier": "remote", "finding": "no-entry", "reason": ""}
