# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The entries on disk. They survive restarts, and are never wrong after a kill or after a flipped bit."""

import hashlib
import itertools
import random
import re
import threading

from conftest import wait_for
from database import database_files, flip_a_bit


def source(number):
    return f"// program {number}\n//fake: output-size 20000\n"


def built(daemon, number, **keywords):
    """Returns (`build --json`, the bytes in the client's file). None if the build failed and `check` is false."""
    answer = daemon.build_bytes(source(number), **keywords)
    if answer is not None:
        told, contents = answer
        assert [artifact["sha256"] for artifact in told["artifacts"]] == [hashlib.sha256(contents).hexdigest()]
    return answer


def built_bytes(daemon, numbers):
    return {number: built(daemon, number)[1] for number in numbers}


def assert_hits_on_disk(daemon, expected):
    for number, contents in expected.items():
        told, read = built(daemon, number)
        assert (told["outcome"], told["tier"]) == ("hit", "disk")
        assert read == contents


def test_entries_survive_a_restart_and_a_kill(fake):
    before = built_bytes(fake, range(10))
    assert len(set(before.values())) == 10
    totals = fake.stats()
    assert fake.stop() == 0
    fake.start()
    assert_hits_on_disk(fake, before)
    after = fake.stats()
    assert after["compiles_total"] == totals["compiles_total"]
    assert after["builds_total"] == totals["builds_total"] + 10
    fake.kill()
    fake.start()
    assert_hits_on_disk(fake, before)


def test_hits_by_hour_survive_a_restart(fake, directory):
    def counts():
        """Returns the sums over all hours of the page: hits and compiles."""
        page = directory / "page.html"
        fake.cli("stats", "--html", page)
        hours = re.findall(r"<title>\w+ \d\d:00: (\d+) hits?, \d+ deposits? found, (\d+) made</title>", page.read_text())
        return tuple(sum(map(int, each)) for each in zip(*hours))

    for _ in range(3):
        built(fake, 1)
    assert counts() == (2, 1)
    fake.stop()
    fake.start()
    assert counts() == (2, 1)
    built(fake, 1)
    assert counts() == (3, 1)
    fake.cli("stats", "--zero")
    assert counts() == (0, 0)


def test_no_client_gets_a_wrong_byte_while_the_daemon_is_killed_in_a_loop(fake):
    """The daemon is killed with kill -9 while clients build known and new keys."""
    expected = built_bytes(fake, range(30))
    answered, wrong = [], []
    fresh = itertools.count(1000)
    got = {}  # the bytes of each new key, which one client requests once
    stop = threading.Event()

    def ask(number):
        try:
            answer = built(fake, number, check=False)
        except AssertionError as error:
            wrong.append(error)
            return
        if answer is None:
            return  # the daemon was away, so the build got an error and no wrong answer
        answered.append(number)
        if answer[1] != expected.get(number, answer[1]):
            wrong.append(number)
        if number not in expected:
            got[number] = answer[1]

    def client(seed):
        numbers = random.Random(seed)
        while not stop.is_set():
            ask(numbers.randrange(30) if numbers.random() < 0.5 else next(fresh))

    clients = [threading.Thread(target=client, args=(seed,)) for seed in range(3)]
    for each in clients:
        each.start()
    for _ in range(8):
        target = len(answered) + 10
        wait_for(lambda: len(answered) >= target or wrong, "ten more answers")
        fake.kill()
        fake.start()
    stop.set()
    for each in clients:
        each.join()
    assert not wrong
    assert len(answered) >= 80
    fake.stop()
    fake.start()
    assert built_bytes(fake, got) == got


def test_a_corrupt_entry_is_a_miss_and_is_counted(fake):
    """A flipped bit damages one entry. Only that entry is compiled again and counted, and all others are hits."""
    expected = built_bytes(fake, range(12))
    key = built(fake, 5)[0]["key"]
    fake.stop()
    flip_a_bit(fake, key)
    fake.start()
    for number in range(12):
        told, contents = built(fake, number)
        assert told["outcome"] == ("built" if number == 5 else "hit")
        assert contents == expected[number]
    assert fake.stats()["corrupt_entries_total"] == 1
    wait_for(lambda: f"entry {key} was damaged" in fake.log_text(), "the warning")
    assert built(fake, 5)[0]["outcome"] == "hit"


def test_no_client_gets_a_wrong_byte_from_a_damaged_database(fake):
    """Bits are flipped all over the database. The daemon starts, and no client gets a wrong byte."""
    expected = built_bytes(fake, range(12))
    fake.stop()
    numbers = random.Random(4)
    files = database_files(fake)
    assert files
    for file in files:
        data = bytearray(file.read_bytes())
        for _ in range(max(4, len(data) // 4096)):
            data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        file.write_bytes(data)
    fake.start()
    for number in range(12):
        told, contents = built(fake, number)
        assert told["outcome"] in ("hit", "built")
        assert contents == expected[number]
