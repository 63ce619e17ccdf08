# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of other programs: made once, by one process, and never in the way."""

import asyncio
import contextlib
import gc
import inspect
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import types
import uuid
import weakref

import cccl_cache
import pytest
from asked_process import AskedProcess
from cccl_cache import steps
from cccl_cache._plugin.leases import LEASE_LIMIT, pack
from daemon_fixtures import lasting_daemon
from lease_client import wait_for_waiters
from patience import PATIENCE, wait_for
from places import PLACES

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(__file__).with_name("step_program.py")
FIELDS = {"name": "one"}
PYTHON = ([PROGRAM], sys.executable)
CPP = ([], PLACES.step_program)


class Node:
    """The processes of one test, and their builds. The programs run the processes in turn."""

    def __init__(self, directory, daemon, programs):
        self.directory, self.daemon, self._programs = directory, daemon, itertools.cycle(programs)
        self.gate = str(directory / "gate")
        os.mkfifo(self.gate)
        self._processes = []

    def start(self, *gate, socket=None):
        environment = {"PATH": os.environ["PATH"], "CCCL_CACHE_SOCKET": str(socket or self.daemon.socket)}
        program, executable = next(self._programs)
        self._processes.append(AskedProcess(environment, *program, self.directory, *gate, executable=executable))
        assert self._processes[-1].hear() == "ready"
        return self._processes[-1]

    def built(self):
        made = self.directory / "made"
        return made.read_text().split() if made.exists() else []

    def holder(self):
        """Returns a process whose build waits at the gate."""
        process = self.start(self.gate)
        process.tell("make", "one")
        wait_for(lambda: self.built() == ["one"], "a build that runs")
        return process

    def open(self, word):
        with open(self.gate, "w") as gate:
            gate.write(word)

    def end(self):
        for process in self._processes:
            process.end()


@pytest.fixture(params=[[PYTHON], [CPP], [PYTHON, CPP], [CPP, PYTHON]], ids=["python", "c++", "python-c++", "c++-python"])
def programs(request):
    return request.param


@pytest.fixture
def node(directory, fake, programs):
    node = Node(directory, fake, programs)
    yield node
    node.end()


@pytest.fixture(scope="module")
def daemon():
    """A daemon for all tests that have a namespace of their own."""
    with lasting_daemon(PLACES.fake13) as daemon:
        yield daemon


@pytest.fixture
def make_steps(daemon):
    """Makes `Steps` in a namespace of the test's own."""
    namespace = f"org.example.{uuid.uuid4()}"

    def make(kind=steps.Steps, **settings):
        return kind(namespace, **{"client": lambda: cccl_cache.Client(daemon.socket), "wait": PATIENCE, **settings})

    return make


def counts(of):
    return steps.counts()[of._namespace]


def forget():
    raise AssertionError("the value is there already")


def test_a_step_is_made_once_for_four_processes(node):
    holder, others = node.holder(), [node.start() for _ in range(3)]
    for other in others:
        other.tell("make", "one")
    wait_for_waiters(node.daemon, 3)
    node.open("go")
    assert [each.hear() for each in (holder, *others)] == ["value of one"] * 4
    assert node.built() == ["one"]
    assert node.start().ask("make", "one") == "value of one"
    assert node.built() == ["one"]
    told = [each.ask("counts")["org.example.test"] for each in (holder, *others)]
    assert [(each["made"], each["published"], each["hits"]) for each in told] == [(1, 1, 0)] + [(0, 0, 1)] * 3
    assert not any(each["errors"] for each in told)


def test_an_error_of_a_build_is_raised_unchanged_and_releases_all_waiting_processes(node):
    holder, others = node.holder(), [node.start() for _ in range(2)]
    for other in others:
        other.tell("make", "one")
    wait_for_waiters(node.daemon, 2)
    node.open("fail")
    assert holder.hear() == "Unmade('one')"
    assert [other.hear() for other in others] == ["value of one"] * 2
    assert node.built() == ["one"] * 3
    assert [other.ask("counts")["org.example.test"]["released"] for other in others] == [1, 1]


def holder_and_waiter(node):
    holder, waiter = node.holder(), node.start()
    waiter.tell("make", "one")
    wait_for_waiters(node.daemon, 1)
    return holder, waiter


def assert_makes(node, waiter):
    assert waiter.hear() == "value of one"
    assert node.built() == ["one"] * 2
    assert waiter.ask("counts")["org.example.test"]["published"] == 1


@pytest.mark.parametrize("end", [lambda node, holder: node.open("exit"), lambda node, holder: holder.signal(signal.SIGKILL)],
                         ids=["exit", "kill"])
def test_a_holder_that_ends_delays_no_other_process(node, end):
    holder, waiter = holder_and_waiter(node)
    end(node, holder)
    assert_makes(node, waiter)


def test_a_holder_that_stops_delays_others_for_a_bounded_time(directory, make_daemon, programs):
    strict = Node(directory, make_daemon("--lease-heartbeat", "1s").start(), programs)
    try:
        holder, waiter = holder_and_waiter(strict)
        holder.signal(signal.SIGSTOP)
        assert_makes(strict, waiter)
    finally:
        strict.end()


def test_a_program_in_cpp_has_one_more_thread_while_it_makes_a_step(directory, fake):
    node = Node(directory, fake, [CPP])

    def threads():
        return len(os.listdir(f"/proc/{holder.process.pid}/task"))

    try:
        holder = node.holder()
        assert threads() == 2
        node.open("go")
        assert holder.hear() == "value of one" and threads() == 1
    finally:
        node.end()


def test_a_process_may_wait_for_a_value_without_making_it(node):
    waiting = node.start()
    assert waiting.ask("wait", "one") is None
    holder = node.holder()
    waiting.tell("wait", "one")
    wait_for_waiters(node.daemon, 1)
    node.open("go")
    assert (waiting.hear(), holder.hear()) == ("value of one", "value of one")
    assert waiting.ask("wait", "one") == "value of one"
    assert node.built() == ["one"]
    assert node.daemon.stats()["leases_total"] == 1


def test_fields_of_all_types_are_the_same_in_each_process(node):
    assert [node.start().ask("kinds", "all") for _ in range(2)] == ["value of all"] * 2
    assert node.built() == ["all"]


def test_a_step_without_a_daemon_is_built(node, directory):
    process = node.start(socket=directory / "nobody")
    assert [process.ask("make", "one") for _ in range(2)] == ["value of one"] * 2
    assert process.ask("wait", "one") is None
    assert node.built() == ["one"] * 2
    told = process.ask("counts")["org.example.test"]
    assert (told["made"], told["published"]) == (2, 0) and told["errors"]


@pytest.mark.parametrize("other", [{"name": b"one"}, {"name": "One"}, {"names": "one"}, {"name": "one", "more": None}, {}])
def test_other_fields_are_another_step(make_steps, other):
    these = make_steps()
    assert these.make(FIELDS, lambda: b"one") == b"one"
    assert these.make(other, lambda: b"other") == b"other"
    assert these.make(dict(reversed(other.items())), forget) == b"other"
    assert not counts(these)["errors"]


def test_fields_of_any_size_are_a_step(make_steps):
    large = {str(number): "x" * 100_000 for number in range(100)}
    assert make_steps().make(large, lambda: b"made") == make_steps().make(large, forget) == b"made"


@pytest.mark.parametrize("namespace, settings, error", [
    ("", {}, "namespace must have 1 to 128 bytes, not 0"), ("n" * 129, {}, "not 129"),
    ("n", {"wait": "long"}, "wait must be a number of seconds"), ("n", {"hold": None}, "hold must be a number of seconds")])
def test_settings_that_no_step_can_have_are_refused(namespace, settings, error):
    with pytest.raises((TypeError, ValueError), match=error):
        steps.Steps(namespace, **settings)


@pytest.mark.parametrize("fields", [{"name": [1]}, {1: "name"}, ["name"]])
def test_fields_of_another_type_are_refused(make_steps, fields):
    with pytest.raises(TypeError):
        make_steps().make(fields, lambda: b"made")


def test_a_value_that_is_not_bytes_is_refused_and_the_step_is_made_by_the_next_caller(make_steps):
    these = make_steps()
    with pytest.raises(TypeError, match="value"):
        these.make(FIELDS, lambda: "text")
    assert these.make(FIELDS, lambda: b"made") == make_steps().make(FIELDS, forget) == b"made"


def test_a_step_inside_its_own_build_is_built_at_once(make_steps):
    outer, inner = make_steps(), make_steps()  # an adapter that was installed twice
    assert outer.make(FIELDS, lambda: inner.make(FIELDS, lambda: b"made")) == b"made"
    assert make_steps().make(FIELDS, forget) == b"made"
    assert (counts(outer)["made"], counts(outer)["published"]) == (2, 1)


def test_other_steps_inside_a_build_are_made_under_their_own_leases(make_steps):
    these = make_steps()
    assert these.make({"name": "outer"}, lambda: these.make({"name": "inner"}, lambda: b"made")) == b"made"
    assert counts(these)["published"] == 2


def test_a_step_inside_a_build_waits_for_no_lease_of_its_own_user(make_steps, daemon):
    these, leave, values = make_steps(), threading.Event(), []

    def build(number):
        leave.wait(PATIENCE)
        return these.make({"inner": number}, lambda: b"made")

    threads = [threading.Thread(target=lambda number=number: values.append(these.make({"outer": number}, lambda: build(number))))
               for number in range(64)]  # as many leases as a user may hold
    for thread in threads:
        thread.start()
    wait_for(lambda: daemon.stats()["leases"] == 64, "the leases of all threads")
    leave.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert values == [b"made"] * 64 and not counts(these)["errors"]
    assert these.make({"outer": 0}, forget) == b"made"


def test_threads_of_one_process_wait_for_the_first_of_them(make_steps, daemon):
    these, entered, leave, values = make_steps(), threading.Event(), threading.Event(), []

    def build():
        entered.set()
        assert leave.wait(PATIENCE)
        return b"made"

    threads = [threading.Thread(target=lambda: values.append(these.make(FIELDS, build))) for _ in range(4)]
    threads[0].start()
    assert entered.wait(PATIENCE)
    for thread in threads[1:]:
        thread.start()
    assert daemon.stats()["leases"] == 1 and daemon.stats()["lease_waiters"] == 0
    leave.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert values == [b"made"] * 4
    assert (counts(these)["made"], counts(these)["hits"]) == (1, 3)


def test_threads_that_wait_for_a_build_that_fails_build_for_themselves(make_steps):
    these, entered, leave = make_steps(), threading.Event(), threading.Event()

    def fail():
        entered.set()
        assert leave.wait(PATIENCE)
        raise KeyError("unmade")

    def first():
        with pytest.raises(KeyError, match="unmade"):
            these.make(FIELDS, fail)

    values = []
    threads = [threading.Thread(target=first), threading.Thread(target=lambda: values.append(these.make(FIELDS, lambda: b"made")))]
    threads[0].start()
    assert entered.wait(PATIENCE)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert values == [b"made"]


def test_a_child_of_a_build_does_not_wait_for_its_parent(make_steps):
    these = make_steps(wait=10 * PATIENCE)

    def build():
        child = os.fork()
        if child == 0:
            signal.alarm(int(PATIENCE))
            value = these.make(FIELDS, lambda: b"made")
            os._exit(0 if value == b"made" else 1)
        assert os.waitpid(child, 0)[1] == 0
        return b"made"

    assert these.make(FIELDS, build) == make_steps().make(FIELDS, forget) == b"made"


def test_a_child_leaves_the_block_of_its_parent_while_another_thread_has_the_locks(make_steps, daemon):
    locked, leave = threading.Event(), threading.Event()
    step = make_steps().get(FIELDS)

    def lock():
        with step._lock, step._seat.flight._changed, step._timer.finished._cond:
            locked.set()
            assert leave.wait(PATIENCE)

    other = threading.Thread(target=lock)
    other.start()
    assert locked.wait(PATIENCE)
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        step.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    leave.set()
    other.join(PATIENCE)
    assert step.held and daemon.stats()["leases"] == 1
    step.put(b"made")
    assert make_steps().make(FIELDS, forget) == b"made"


def forked(call):
    """Returns the number of a child process that makes the call."""
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        with contextlib.suppress(BaseException):
            call()
            os._exit(0)
        os._exit(1)
    return child


def test_a_child_of_a_build_finds_the_value_after_its_own_build(make_steps):
    these, built, leave, children = make_steps(), os.pipe(), os.pipe(), []

    def run():
        assert these.make(FIELDS, lambda: b"its own") == b"its own"
        os.write(built[1], b"1")
        os.read(leave[0], 1)
        assert these.make(FIELDS, forget) == b"made"

    def build():
        children.append(forked(run))
        assert os.read(built[0], 1) == b"1"
        return b"made"

    assert these.make(FIELDS, build) == b"made"
    os.write(leave[1], b"1")
    assert os.waitpid(children[0], 0)[1] == 0


def test_another_thread_of_a_child_waits_for_the_build_of_the_parent(make_steps, daemon):
    these, children = make_steps(), []

    def run():
        found = []
        thread = threading.Thread(target=lambda: found.append(these.make(FIELDS, forget)))
        thread.start()
        thread.join(PATIENCE)
        assert found == [b"made"]

    def build():
        children.append(forked(run))
        wait_for_waiters(daemon, 1)
        return b"made"

    assert these.make(FIELDS, build) == b"made"
    assert os.waitpid(children[0], 0)[1] == 0


def test_steps_that_are_dropped_leave_nothing_behind(make_steps):
    left = weakref.ref(make_steps()._deposits)
    gc.collect()
    assert left() is None


def test_a_step_waits_as_long_as_a_lease_may_last():
    [minutes] = re.findall(r"minutes kLeaseLimit\{(\d+)\}", (ROOT / "proto/lease_limit.h").read_text())
    defaults = [inspect.signature(kind).parameters for kind in (steps.Steps, steps.AsyncSteps)]
    assert LEASE_LIMIT == 60 * int(minutes)
    assert {each[name].default for each in defaults for name in ("wait", "hold")} == {LEASE_LIMIT}


def no_client():
    raise cccl_cache.NoDaemonError("no daemon", "unavailable")


def test_a_step_without_a_lease_has_no_thread_and_bounds_the_waits_of_others(make_steps):
    these, before = make_steps(client=no_client, hold=0.01), threading.active_count()
    with these.get(FIELDS) as step:
        assert step.value is None and not step.held and threading.active_count() == before
        values = []
        other = threading.Thread(target=lambda: values.append(these.make(FIELDS, lambda: b"other")))
        other.start()
        other.join(PATIENCE)
        assert values == [b"other"]
        step.put(b"made")


def test_a_held_step_ends_with_its_value(make_steps, daemon):
    step = make_steps().get(FIELDS)
    assert step.value is None and step.held and "to be made" in repr(step)
    step.put(b"made")
    assert step.value == b"made" and not step.held and daemon.stats()["leases"] == 0
    with pytest.raises(ValueError, match="already"):
        step.put(b"other")
    found = make_steps().get(FIELDS)
    assert found.value == b"made" and not found.held
    with pytest.raises(ValueError, match="already"):
        found.put(b"other")


def test_a_value_that_a_program_can_not_use_is_replaced(make_steps):
    make_steps().make(FIELDS, lambda: b"of no use")
    with make_steps().get(FIELDS, replace=True) as step:
        assert step.value is None and step.held
        step.put(b"useful")
    assert make_steps().get(FIELDS).value == b"useful"


def test_a_value_that_another_thread_finds_meanwhile_is_replaced(make_steps, daemon):
    make_steps().make(FIELDS, lambda: b"of no use")
    asked, leave, got = threading.Event(), threading.Event(), []
    client = cccl_cache.Client(daemon.socket)

    def lease(*given, **named):
        asked.set()
        assert leave.wait(PATIENCE)
        return client.lease(*given, **named)

    these = make_steps(client=lambda: types.SimpleNamespace(lease=lease))
    finding = threading.Thread(target=lambda: got.append(these.get(FIELDS).value))
    finding.start()
    assert asked.wait(PATIENCE)
    [flight] = steps._flights._flights.values()
    replacing = threading.Thread(target=lambda: got.append(these.get(FIELDS, replace=True)))
    replacing.start()
    wait_for(lambda: flight._changed._waiters, "a thread that waits")
    leave.set()
    for thread in (finding, replacing):
        thread.join(PATIENCE)
    [step] = [each for each in got if each != b"of no use"]
    assert step.value is None and step.held
    step.put(b"useful")
    assert make_steps().get(FIELDS).value == b"useful"


def test_a_late_replacement_is_dropped(make_steps):
    make_steps().make(FIELDS, lambda: b"of no use")
    these = make_steps(hold=0.01)
    step = these.get(FIELDS, replace=True)
    wait_for(lambda: counts(these)["expired"] == 1, "the end of the lease")
    step.put(b"late")
    assert make_steps().make(FIELDS, forget) == b"of no use"


@pytest.mark.parametrize("ending, failed", [("fail", 1), ("close", 0)])
def test_a_held_step_that_is_given_up_is_made_by_the_next_caller(make_steps, daemon, ending, failed):
    before = daemon.stats()["leases_failed_total"]
    step = make_steps().get(FIELDS)
    getattr(step, ending)()
    assert daemon.stats()["leases"] == 0 and daemon.stats()["leases_failed_total"] == before + failed
    assert make_steps().make(FIELDS, lambda: b"made") == b"made"
    getattr(step, ending)()
    assert make_steps().get(FIELDS).value == b"made"


def test_a_held_step_expires_and_its_late_value_is_deposited(make_steps, daemon):
    before, these = daemon.stats()["leases_failed_total"], make_steps(hold=0.01)
    step = these.get(FIELDS)
    wait_for(lambda: counts(these)["expired"] == 1, "the end of the lease")
    assert not step.held and daemon.stats()["leases"] == 0 and daemon.stats()["leases_failed_total"] == before + 1
    step.put(b"made")
    assert make_steps().make(FIELDS, forget) == b"made"


def test_a_late_value_does_not_replace_another(make_steps):
    these = make_steps(hold=0.01)
    step = these.get(FIELDS)
    wait_for(lambda: counts(these)["expired"] == 1, "the end of the lease")
    assert make_steps().make(FIELDS, lambda: b"made") == b"made"
    step.put(b"late")
    assert make_steps().make(FIELDS, forget) == b"made"


def test_the_values_of_a_group_are_found_by_callers_that_name_the_group(make_steps):
    group = str(os.getgid())
    assert make_steps(group=group).make(FIELDS, lambda: b"of the group") == b"of the group"
    assert make_steps().make(FIELDS, lambda: b"own") == b"own"
    assert make_steps(group=group).make(FIELDS, forget) == b"of the group"


def test_the_counts_have_the_time_that_hits_have_saved(make_steps, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(steps._steps, "time", types.SimpleNamespace(monotonic=lambda: now[0]))

    def build():
        now[0] += 780.0
        return b"made"

    these = make_steps()
    these.make(FIELDS, build)
    these.make(FIELDS, forget)
    told = counts(these)
    assert (told["hits"], told["made"], told["saved_seconds"]) == (1, 1, 780.0)
    assert (told["hit_bytes"], told["made_bytes"], told["waited_seconds"], told["errors"]) == (4, 4, 0.0, {})


def test_a_deposit_without_a_time_is_made_again(make_steps, daemon):
    these = make_steps()
    key = steps._steps._key(FIELDS)
    with cccl_cache.Client(daemon.socket).lease(these._namespace, key.fields) as lease:
        lease.publish(pack(key.digest, b"short"))
    assert these.make(FIELDS, lambda: b"made") == make_steps().make(FIELDS, forget) == b"made"


def test_the_coroutines_are_those_of_the_blocking_classes():
    def calls(kind):
        return {name for name, each in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}

    assert calls(steps.AsyncSteps) == calls(steps.Steps)
    assert calls(steps.AsyncStep) == calls(steps.Step)


def test_tasks_of_one_loop_wait_for_the_first_of_them(make_steps):
    async def main():
        these, built, leave = make_steps(steps.AsyncSteps), [], asyncio.Event()

        async def build():
            built.append(await these.make({"name": "inner"}, inner))
            assert await these.wait(FIELDS) is None, "a build does not wait for itself"
            await leave.wait()
            return b"made"

        async def inner():
            return b"inner"

        tasks = [asyncio.ensure_future(these.make(FIELDS, build)) for _ in range(40)]
        while not built:
            await asyncio.sleep(0)
        leave.set()
        assert await asyncio.gather(*tasks) == [b"made"] * 40
        assert built == [b"inner"]
        assert await these.wait(FIELDS) == b"made"

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_an_error_or_the_cancellation_of_an_asynchronous_build_gives_the_step_up(make_steps, daemon):
    async def main():
        before = daemon.stats()["leases_failed_total"]
        these, entered = make_steps(steps.AsyncSteps), asyncio.Event()

        async def fail():
            raise KeyError("unmade")

        async def hang():
            entered.set()
            await asyncio.Event().wait()

        async def build():
            return b"made"

        with pytest.raises(KeyError, match="unmade"):
            await these.make(FIELDS, fail)
        assert daemon.stats()["leases"] == 0 and daemon.stats()["leases_failed_total"] == before + 1
        hanging = asyncio.ensure_future(these.make(FIELDS, hang))
        await entered.wait()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert daemon.stats()["leases"] == 0
        assert await these.make(FIELDS, build) == b"made"

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_a_cancelled_wait_gives_up_the_lease_that_it_gets_later(make_steps, daemon):
    async def main():
        these = make_steps(steps.AsyncSteps)
        with cccl_cache.Client(daemon.socket).lease(these._steps._namespace, steps._steps._key(FIELDS).fields):
            waiting = asyncio.ensure_future(these.get(FIELDS))
            while daemon.stats()["lease_waiters"] == 0:
                await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        wait_for(lambda: daemon.stats()["leases"] == daemon.stats()["lease_waiters"] == 0, "the end of the lease")

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def run(*command, socket, directory):
    told = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE,
                          cwd=directory, env={"PATH": os.environ["PATH"], "CCCL_CACHE_SOCKET": str(socket)})
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_the_example_compiles_a_file_once(daemon, directory):
    source = directory / "one.c"
    source.write_text("int one(void) { return 1; }\n")
    told = [run(ROOT / "examples/compile_step.py", source, socket=daemon.socket, directory=directory) for _ in range(2)]
    assert "made" in told[0] and "found" in told[1]
    made = (directory / "one.o").read_bytes()
    source.write_text("int one(void) { return 2; }\n")
    assert "made" in run(ROOT / "examples/compile_step.py", source, socket=daemon.socket, directory=directory)
    assert (directory / "one.o").read_bytes() != made


@pytest.mark.parametrize("number", range(4))
def test_each_example_of_the_guide_finds_what_its_first_run_made(daemon, directory, number):
    example = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/guide-steps.md").read_text(), re.DOTALL | re.MULTILINE)[number]
    told = [run("-c", example, socket=daemon.socket, directory=directory) for _ in range(2)]
    assert [line.split()[0] for line in told] == ["made", "found"]
