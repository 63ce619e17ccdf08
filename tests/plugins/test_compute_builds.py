# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Builds through leases: the adopted builds, the own builds, and failures of the cache, which never reach a program."""

import contextlib
import threading

import cccl_cache
import pytest

from cccl_cache._plugin.canonical import Refused
from cccl_cache._plugin.leases import Key, Settings, pack, unpack
from cccl_cache._plugin.report import Report
from cccl_cache.compute import _builds
from cccl_cache.compute._builds import Builds


class Wrapper:
    """A built algorithm, as far as the cache uses it."""

    __slots__ = ["build_results", "_bound_build_result", "text"]

    def serialize(self):
        return self.text.encode()

    @classmethod
    def deserialize(cls, build):
        if build == b"unreadable":
            raise ValueError("unreadable")
        wrapper = cls.__new__(cls)
        wrapper.text, wrapper.build_results, wrapper._bound_build_result = build.decode(), object(), None
        return wrapper


class Lease:
    released, key = False, "key"

    def __init__(self, contents):
        self.contents, self.published, self.failed = contents, [], False

    def publish(self, data):
        self.published.append(data)

    def fail(self):
        self.failed = True


class Leases:
    """Leases that are always the same lease."""

    def __init__(self, contents=None):
        self.given = Lease(contents)
        self.open = self.asked = 0

    @contextlib.contextmanager
    def lease(self, *_, **__):
        self.open += 1
        self.asked += 1
        try:
            yield self.given
        finally:
            self.open -= 1


    def remove_deposit(self, key, *, timeout):
        self.given = Lease(None)
        return True


class Broken:
    def lease(self, *_, **__):
        raise ConnectionError("nobody there")


def original(wrapper, text="built", compute_capability=90):
    original.calls += 1
    wrapper.text, wrapper.build_results, wrapper._bound_build_result = text, object(), None


@pytest.fixture(autouse=True)
def keyed(monkeypatch):
    """The key is the first argument. None is refused."""
    original.calls = 0

    def key(release, wrapper, initializer, args, kwargs):
        if args and args[0] is None:
            raise Refused("no identity")
        return Key({"arguments": str(args)}, str(args))

    monkeypatch.setattr(_builds, "build_key", key)


def builds(leases, wait=1.0):
    report = Report("tests", ("hits", "hits_in_process", "builds", "published"))
    return Builds(Settings(lambda: leases, None, wait), "1.0", report)


def construct(cache, *args, function=original):
    wrapper = Wrapper()
    cache.construct(function, wrapper, args, {"compute_capability": 90})
    return wrapper


def outcome(cache):
    return {name: value for name, value in cache._report.snapshot().items() if value}


KEY = str(("built",))


def test_the_first_process_builds_and_publishes():
    leases = Leases()
    cache = builds(leases)
    assert construct(cache, "built").text == "built"
    assert [unpack(KEY, data) for data in leases.given.published] == [b"built"]
    assert outcome(cache) == {"builds": 1, "published": 1}
    assert leases.open == 0


def test_a_deposit_is_adopted_and_nothing_is_built():
    cache = builds(Leases(pack(KEY, b"built")))
    assert construct(cache, "built").text == "built"
    assert original.calls == 0
    assert outcome(cache) == {"hits": 1}


def test_a_second_call_in_a_process_asks_no_daemon_and_shares_the_loaded_code():
    leases = Leases()
    cache = builds(leases)
    first = construct(cache, "built")
    cache._client = Broken()
    second = construct(cache, "built")
    assert second.build_results is first.build_results
    assert original.calls == 1
    assert outcome(cache) == {"builds": 1, "published": 1, "hits_in_process": 1}


@pytest.mark.parametrize("deposit", [None, pack(KEY, b"built")], ids=["built here", "from the daemon"])
def test_threads_that_want_one_build_at_once_share_its_loaded_code(deposit):
    all_looked = threading.Barrier(8)
    looked = threading.local()
    leases = Leases(deposit)
    cache = builds(leases)
    look = cache._from_this_process

    def look_all_at_once(key, call):
        found = look(key, call)
        if not hasattr(looked, "once"):
            looked.once = True
            all_looked.wait(60)
        return found

    cache._from_this_process = look_all_at_once
    wrappers = [None] * 8

    def construct_one(number):
        wrappers[number] = construct(cache, "built")

    threads = [threading.Thread(target=construct_one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(wrapper.build_results) for wrapper in wrappers}) == 1
    assert leases.asked == 1
    assert original.calls == (1 if deposit is None else 0)
    assert outcome(cache)["hits_in_process"] == 7
    assert cache._deposits._turns == {}


def test_a_thread_after_a_failed_build_builds_again():
    failed = []

    def fails_once(wrapper, *args, **kwargs):
        if not failed:
            failed.append(True)
            raise ValueError("no memory")
        original(wrapper, *args, **kwargs)

    cache = builds(Leases())
    with pytest.raises(ValueError):
        construct(cache, "built", function=fails_once)
    assert construct(cache, "built", function=fails_once).text == "built"
    assert cache._deposits._turns == {}


def test_the_daemon_is_asked_again_after_a_clear():
    cache = builds(Leases())
    construct(cache, "built")
    cache.clear()
    construct(cache, "built")
    assert original.calls == 2


@pytest.mark.parametrize(
    "damaged",
    [b"", b"CCCLPYB1", pack(KEY, b"built")[:-1], pack(KEY, b"built") + b"x", pack("other", b"built")]
    + [bytes([*pack(KEY, b"built")[:20], 1, *pack(KEY, b"built")[21:]]), pack(KEY, b"unreadable")],
)
def test_a_damaged_deposit_is_built_and_deposited_again(damaged):
    leases = Leases(damaged)
    cache = builds(leases)
    assert construct(cache, "built").text == "built"
    assert original.calls == 1
    assert [unpack(KEY, data) for data in leases.given.published] == [b"built"]
    assert leases.open == 0


def test_without_a_daemon_the_program_builds_and_gets_the_reason():
    cache = builds(Broken())
    assert construct(cache, "built").text == "built"
    assert outcome(cache) == {"builds": 1, "errors": {"ConnectionError: nobody there": 1}}


def test_a_build_that_the_daemon_did_not_answer_is_kept_in_the_process():
    cache = builds(Broken())
    first = construct(cache, "built")
    assert construct(cache, "built").build_results is first.build_results
    assert outcome(cache) == {"builds": 1, "hits_in_process": 1, "errors": {"ConnectionError: nobody there": 1}}


class Hanging(Leases):
    """Leases for which every wait times out."""

    def __init__(self, error):
        super().__init__()
        self.hangs, self.waits, self.error = True, [], error

    def lease(self, *_, timeout, **__):
        self.waits.append(timeout)
        if self.hangs:
            raise self.error
        return super().lease()


@pytest.mark.parametrize("error", [
    TimeoutError("another caller holds the lease"), cccl_cache.Error("the daemon hangs", "unavailable")])
def test_after_a_timeout_each_call_waits_one_second_until_one_is_answered(error):
    leases = Hanging(error)
    cache = builds(leases, wait=120.0)
    for name in ("one", "two"):
        construct(cache, name)
    leases.hangs = False
    for name in ("three", "four"):
        construct(cache, name)
    assert leases.waits == [120.0, 1.0, 1.0, 120.0]


def test_an_algorithm_without_an_identity_is_built_and_the_reason_is_reported():
    cache = builds(Leases())
    assert construct(cache, None).text is None
    assert outcome(cache) == {"builds": 1, "not_cached": {"no identity": 1}}


def test_a_failing_build_raises_its_own_error_and_gives_the_lease_back():
    leases = Leases()

    def fails(wrapper, *_, **__):
        raise TypeError("unsuitable")

    with pytest.raises(TypeError, match="unsuitable"):
        construct(builds(leases), "built", function=fails)
    assert leases.open == 0 and not leases.given.published
    assert leases.given.failed  # the waiters therefore go on at once


def test_nothing_is_published_when_the_inputs_changed_meanwhile(monkeypatch):
    leases, digests = Leases(), iter(["before", "after"])
    monkeypatch.setattr(_builds, "build_key", lambda *_: Key({}, next(digests)))
    cache = builds(leases)
    assert construct(cache, "built").text == "built"
    assert not leases.given.published
    assert outcome(cache)["not_cached"] == {"what it is built from changed meanwhile": 1}


def test_only_the_outermost_algorithm_asks_the_daemon():
    leases = Leases()
    cache = builds(leases)

    def nesting(wrapper, *args, **kwargs):
        construct(cache, "inner")
        original(wrapper, *args, **kwargs)

    construct(cache, "built", function=nesting)
    assert len(leases.given.published) == 1


def test_the_key_of_the_present_build_is_known_during_the_build():
    seen = []

    def looking(wrapper, *args, **kwargs):
        seen.append(_builds.current_key())
        original(wrapper, *args, **kwargs)

    construct(builds(Leases()), "built", function=looking)
    assert seen == [KEY] and _builds.current_key() is None


def test_a_failed_publication_raises_no_error_in_the_program():
    leases = Leases()
    leases.given.publish = lambda data: Broken().lease()
    cache = builds(leases)
    assert construct(cache, "built").text == "built"
    assert outcome(cache)["errors"] == {"ConnectionError: nobody there": 1}
