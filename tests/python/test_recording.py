# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the results of a part of a program, and packages that carry them."""

import asyncio
import concurrent.futures
import json
import os
import signal
import subprocess
import time

import cccl_cache
import pytest
from places import PLACES


def program(number):
    return cccl_cache.Build(f"// program {number}", arch="sm_90")


@pytest.fixture
def client(fake):
    return cccl_cache.Client(fake.socket)


@pytest.fixture
def fresh(make_daemon, toolkit, monkeypatch, directory):
    """A client of another daemon without entries. This user has inserted nothing anywhere yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory / "home"))
    return cccl_cache.Client(make_daemon(roots=(toolkit.root,), name="fresh").start().socket)


def keys_in(file):
    listed = subprocess.run([PLACES.cli, "snapshot", "list", str(file), "--json"], capture_output=True, text=True,
                            check=True).stdout
    return {each["key"] for each in json.loads(listed)["records"]}


def test_a_snapshot_of_results_holds_only_their_entries(client, directory):
    results = [client.run(program(number)) for number in range(4)]
    with client.lease("org.example", {"code": "1"}) as lease:
        lease.publish(b"wanted")
    with client.lease("org.example", {"code": "2"}) as other:
        other.publish(b"not wanted")
    file = directory / "some.snap"
    assert client.snapshot(file, results=[results[1], results[3].key, lease]).records == 3
    assert {results[1].key, results[3].key} < keys_in(file)
    assert client.snapshot(file, results=client.deposits()).records == 2
    assert client.snapshot(file, results=results, arch="sm_80").records == 0
    assert client.delta(directory / "more.snap", file, results=results[:2]).records == 2
    assert client.snapshot(file, results=[]).records == 0


def test_a_key_without_an_entry_is_counted(client, directory):
    result = client.run(program(1))
    made = client.snapshot(directory / "some.snap", results=[result, "ab" * 32])
    assert (made.records, made.left_out) == (1, 1)


def test_a_text_that_is_no_key_is_refused(client, directory):
    with pytest.raises(cccl_cache.Error, match="64 hexadecimal digits"):
        client.snapshot(directory / "some.snap", results=["abc"])
    with pytest.raises(TypeError, match="each of results"):
        client.snapshot(directory / "some.snap", results=[1])


def test_a_recording_holds_all_answers_in_its_block_by_any_client(client, fake, directory):
    before = client.run(program(0))
    file = directory / "block.snap"

    async def over_a_loop():
        asynchronous = cccl_cache.AsyncClient(fake.socket)
        async with await asynchronous.lease("org.example", {"code": "2"}) as lease:
            await lease.publish(b"published")
        return (await asynchronous.run(program(3))).key

    with client.lease("org.example", {"code": "1"}) as lease:
        lease.publish(b"found")
    with client.lease("org.example", {"code": "0"}) as lease:
        lease.publish(b"not seen")
    with cccl_cache.record(file, client=client) as recording:
        keys = {cccl_cache.Client(fake.socket, process_cache_bytes=0).run(program(1)).key}
        keys |= {result.key for _, result in client.build_many([program(2)])}
        keys.add(asyncio.run(over_a_loop()))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            keys.add(pool.submit(client.run, program(4)).result().key)
        client.run(program(4))
        with client.lease("org.example", {"code": "1"}) as lease:
            assert lease.contents == b"found"
    client.run(program(5))
    assert recording.summary.records == len(recording.keys) == 6 and recording.summary.left_out == 0
    assert keys < set(recording.keys) and before.key not in recording.keys
    assert keys < keys_in(file)


def test_a_program_that_does_not_compile_is_not_recorded(real, directory):
    client = cccl_cache.Client(real.socket)
    with cccl_cache.record(directory / "block.snap", client=client) as recording:
        with pytest.raises(cccl_cache.CompileError):
            client.build("nowhere", arch="sm_90")
    assert recording.keys == () and recording.summary.records == recording.summary.left_out == 0


def test_a_block_that_raises_writes_nothing(client, directory):
    with pytest.raises(ZeroDivisionError), cccl_cache.record(directory / "block.snap", client=client):
        client.run(program(1))
        1 // 0
    assert not (directory / "block.snap").exists()


def test_results_in_a_nested_recording_are_in_both(client, directory):
    with cccl_cache.record(directory / "outer", client=client) as outer:
        client.run(program(1))
        with cccl_cache.record(directory / "inner", client=client) as inner:
            client.run(program(2))
    assert (len(outer.keys), len(inner.keys)) == (2, 1) and set(inner.keys) < set(outer.keys)


@pytest.fixture
def carried(client, directory):
    with cccl_cache.record(directory / "carried.snap", client=client):
        client.run(program(1))
    return directory / "carried.snap"


def test_a_package_warms_a_daemon_once(carried, fresh, monkeypatch):
    inserted, insert = [], cccl_cache.Client.insert
    monkeypatch.setattr(cccl_cache.Client, "insert", lambda self, *given, **how: inserted.append(given)
                        or insert(self, *given, **how))
    assert cccl_cache.warm(carried, client=fresh) and cccl_cache.warm(carried, client=fresh)
    assert len(inserted) == 1
    assert fresh.run(program(1)).outcome == "hit"


def test_a_daemon_is_warmed_again_after_a_day_and_after_a_restart(carried, make_daemon, toolkit, fresh, monkeypatch):
    assert cccl_cache.warm(carried, client=fresh)
    later = time.time() + 90_000
    inserted = []
    monkeypatch.setattr(cccl_cache.Client, "insert", lambda *_, **how: inserted.append(how))
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: later)
        assert cccl_cache.warm(carried, client=fresh)
    assert len(inserted) == 1
    another = cccl_cache.Client(make_daemon(roots=(toolkit.root,), name="another").start().socket)
    assert cccl_cache.warm(carried, client=another) and len(inserted) == 2


def test_warm_raises_nothing_if_a_snapshot_can_not_be_inserted(carried, fresh, directory, caplog):
    caplog.set_level("INFO", "cccl_cache")
    assert not cccl_cache.warm(directory / "nowhere.snap", client=fresh)
    carried.write_bytes(b"cut off")
    assert not cccl_cache.warm(carried, client=fresh)
    assert not cccl_cache.warm(carried, client=cccl_cache.Client(directory / "nobody", fallback="error"))
    assert caplog.text.count("was not inserted") == 3


def test_a_daemon_that_hangs_does_not_hold_an_import_up(carried, fresh, make_daemon, toolkit):
    hanging = make_daemon(roots=(toolkit.root,), name="hanging").start()
    hanging.freeze()
    try:
        assert not cccl_cache.warm(carried, client=cccl_cache.Client(hanging.socket, fallback="error"), wait=0.1)
    finally:
        os.kill(hanging.process.pid, signal.SIGCONT)
