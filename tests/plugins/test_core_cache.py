# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The cache for cuda.core's compiles: one process compiles, the others wait, and failures of the cache never reach a
program."""

import contextlib
import os
import subprocess
import sys
import threading

import cccl_cache
import pytest
from cuda.core import Program, ProgramOptions
from directory_leases import DirectoryLeases

from cccl_cache._records import Deposit
from cccl_cache.core import ProgramCache
from patience import PATIENCE, wait_for

SOURCE = "extern \"C\" __global__ void f(int* p) { *p = %d; }"


class Leases:
    """The leases of one process: contents under one lock."""

    def __init__(self):
        self.kept, self.held = {}, threading.Lock()
        self.waits, self.hangs, self.removed = [], False, []

    @contextlib.contextmanager
    def lease(self, namespace, fields, *, group=None, timeout=None):
        self.waits.append(timeout)
        if self.hangs or not self.held.acquire(timeout=timeout):
            raise TimeoutError("waited too long")
        try:
            yield Entry(self.kept, fields["key"])
        finally:
            self.held.release()

    def deposits(self):
        places = [("cuda.core", None), ("cuda.core", 4), ("another", None)]
        return [Deposit(name + str(gid), name, gid, 1, 0, 0) for name, gid in places] + [
            Deposit(key.decode(), "cuda.core", None, len(value), 0, 0) for key, value in self.kept.items()]

    def remove_deposit(self, key):
        self.removed.append(key)
        return self.kept.pop(key.encode(), None) is not None


class Entry:
    def __init__(self, kept, key):
        self._kept, self._key = kept, key
        self.contents, self.key = kept.get(key), key.decode()

    def publish(self, data):
        self._kept[self._key] = data


def program(value=1):
    return Program(SOURCE % value, "c++", ProgramOptions(arch="sm_90", name="f"))


@pytest.fixture
def leases():
    return Leases()


@pytest.fixture
def cache(leases):
    with ProgramCache(client=lambda: leases, wait=0.01) as cache:
        yield cache


def test_a_stored_value_is_found_under_text_and_bytes(cache):
    with pytest.raises(KeyError):
        cache["key"]
    cache["key"] = b"contents"
    assert cache[b"key"] == cache.get("key") == b"contents"
    assert len(cache) == 1


def test_a_second_compile_is_answered_from_the_cache(cache, tmp_path):
    first = program().compile("cubin", cache=cache)
    with ProgramCache(client=lambda: cache._client) as other:
        second = program().compile("cubin", cache=other)
    assert bytes(first.code) == bytes(second.code)
    assert program(2).compile("cubin", cache=cache).code != first.code


def test_a_second_cache_waits_for_the_first_compile_and_gets_its_result(leases):
    found = []
    first = ProgramCache(client=lambda: leases)
    second = ProgramCache(client=lambda: leases)
    assert first.get("key") is None
    waiting = threading.Thread(target=lambda: found.append(second.get("key")))
    waiting.start()
    wait_for(lambda: len(leases.waits) == 2, "the other one to ask")
    first["key"] = b"contents"
    waiting.join()
    assert found == [b"contents"]


def test_a_failed_compile_gives_the_lease_back_at_the_next_look_up(cache, leases):
    assert cache.get("broken") is None
    assert leases.held.locked()
    assert cache.get("other") is None
    cache["other"] = b"contents"
    assert not leases.held.locked()


def test_a_lease_expires_after_the_limit(leases):
    cache = ProgramCache(client=lambda: leases, compile_limit=0.0)
    assert cache.get("key") is None
    assert leases.held.acquire(timeout=60)
    leases.held.release()
    cache["key"] = b"contents"
    assert cache["key"] == b"contents"


def test_closing_gives_leases_back(leases):
    cache = ProgramCache(client=lambda: leases)
    assert cache.get("key") is None
    cache.close()
    assert not leases.held.locked()


def test_an_existing_entry_stays(cache):
    cache["key"] = b"first"
    cache["key"] = b"second"
    assert cache["key"] == b"first"


def test_without_a_daemon_programs_compile(tmp_path):
    def nobody():
        raise ConnectionError("nobody there")

    with ProgramCache(client=nobody) as cache:
        assert bytes(program().compile("cubin", cache=cache).code).startswith(b"\x7fELF")


def test_a_program_waits_once_for_a_lease_that_another_holds(leases):
    with ProgramCache(client=lambda: leases, wait=0.01) as cache, leases.held:
        assert program().compile("cubin", cache=cache).code
    assert leases.waits == [0.01]
    assert not leases.kept


def test_after_a_timeout_each_call_waits_one_second_until_one_is_answered(leases):
    leases.hangs = True
    cache = ProgramCache(client=lambda: leases, wait=120.0)
    assert cache.get("one") is cache.get("two") is None
    leases.hangs = False
    assert cache.get("three") is cache.get("four") is None
    cache.close()
    assert leases.waits == [120.0, 1.0, 1.0, 120.0]


def test_an_entry_that_is_removed_is_missing(cache, leases):
    cache["key"] = b"contents"
    del cache["key"]
    assert leases.kept == {} and len(cache) == 0
    assert cache.get("key") is None


def test_removing_a_missing_key_is_a_key_error(cache, leases):
    with pytest.raises(KeyError):
        del cache["key"]
    assert not leases.held.locked()


def test_clearing_removes_only_the_entries_of_this_scope(cache, leases):
    cache["key"] = b"contents"
    cache.clear()
    assert leases.removed == ["cuda.coreNone", "key"]
    with ProgramCache(client=lambda: leases, group="4") as of_group:
        of_group.clear()
    assert leases.removed == ["cuda.coreNone", "key", "cuda.core4"]


def test_an_entry_in_the_daemon_is_removed(fake):
    def connect():
        return cccl_cache.Client(fake.socket)

    with ProgramCache(client=connect) as cache, ProgramCache(client=connect) as other:
        for key in ("one", "two", "three"):
            cache[key] = b"contents"
        del other["one"]
        assert other.get("one") is None and other.get("two") == b"contents"
        cache.clear()
        assert connect().deposits() == ()
        assert other.get("two") is None


def test_two_processes_share_a_directory_of_leases(tmp_path):
    one, other = (ProgramCache(client=lambda: DirectoryLeases(tmp_path)) for _ in range(2))
    one_code = program().compile("cubin", cache=one).code
    assert other.get(next(iter(one._known))) == bytes(one_code)


COMPILING = f"""
import hashlib, sys
from cuda.core import Program, ProgramOptions
from cccl_cache.core import ProgramCache

class Told(ProgramCache):
    def __setitem__(self, key, value):
        print("compiled", flush=True)
        sys.stdin.readline()
        super().__setitem__(key, value)

program = Program({SOURCE % 40!r}, "c++", ProgramOptions(arch="sm_90", name="f"))
print("ready", flush=True)
sys.stdin.readline()
with Told() as cache:
    print(hashlib.sha256(program.compile("cubin", cache=cache).code).hexdigest())
"""


def counted(daemon):
    return {each.name: each.value for each in cccl_cache.Client(daemon.socket).stats()}


def let_go(processes):
    for each in processes:
        each.stdin.write("\n")
        each.stdin.flush()


def test_one_of_two_concurrent_processes_compiles_and_the_other_waits(fake):
    both = [subprocess.Popen([sys.executable, "-c", COMPILING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "CCCL_CACHE_SOCKET": fake.socket}) for _ in range(2)]
    assert [each.stdout.readline() for each in both] == ["ready\n"] * 2
    let_go(both)
    wait_for(lambda: counted(fake)["lease_waiters"] == 1, "the one that does not compile to wait")
    let_go(both)
    told = sorted((each.communicate(timeout=PATIENCE)[0].split() for each in both), key=len)
    assert told == [told[0], ["compiled", *told[0]]]
    assert counted(fake)["leases_total"] == 1
