# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon is upgraded under connected clients: another version takes over socket and state."""

import json

import pytest
from c_client import Batch, Client
from conftest import PLACES, wait_for
from lease_client import LeaseClient, deposit


@pytest.fixture
def client(fake):
    """A client that has asked this daemon before. It keeps the results that depend on no outside file."""
    client = Client(fake.socket)
    client.build("// the first\n")
    yield client
    client.close()


def version(daemon):
    return json.loads(daemon.cli("--json", "health").stdout)["version"]


def with_header(directory):
    """Returns a source whose result a process does not keep."""
    header = directory / "a.h"
    header.write_text("//fake: unique\n")
    return header, f'#include "{header}"\n'


def test_the_new_daemon_has_another_version(fake):
    before = version(fake)
    assert version(fake.upgrade()) == f"{before}+upgraded"


def test_a_client_gets_the_same_results_as_before(client, fake, directory):
    _, outside = with_header(directory)
    sources = [outside, "//fake: unique\n"]
    before = [client.build(source).contents for source in sources]
    fake.upgrade()
    after = [client.build(source) for source in sources]
    assert [result.outcome for result in after] == ["hit", "hit"]
    assert [result.contents for result in after] == before
    assert client.build("// new\n").outcome == "built"


def test_a_client_does_not_get_outdated_results(client, fake, directory):
    header, source = with_header(directory)
    before = client.build(source).contents
    header.write_text("// another\n//fake: unique\n")
    fake.upgrade()
    made = client.build(source)
    assert (made.outcome, made.contents != before) == ("built", True)


def test_a_new_client_uses_the_features_of_the_new_daemon(client, fake):
    source = "// of one major\n//fake: unique\n"
    before = client.build(source).contents
    fake.roots = [PLACES.fake12]
    fake.upgrade()
    new = Client(fake.socket)
    made = new.build(source)
    new.close()
    assert (made.outcome, made.contents != before) == ("built", True)


def test_builds_in_progress_are_done_by_the_new_daemon(client, fake, toolkit):
    batch = Batch(client)
    for tag in range(4):
        batch.add(f"//fake: wait-for gate\n// {tag}\n", tag)
    wait_for(lambda: batch.next(0) is None and toolkit.arrivals("gate"), "the first compile")
    fake.upgrade()
    toolkit.open("gate")
    finished = {tag: result.outcome for tag, result in iter(batch.next, None)}
    assert finished == dict.fromkeys(range(4), "built")
    batch.free()


def test_a_lease_of_the_old_daemon_is_fenced_off_by_the_new_one(fake):
    holder = LeaseClient(fake)
    first = int(holder.hear().split()[1])
    fake.upgrade()
    wait_for(lambda: holder.ask("held") == "not held", "the holder to notice")
    next_one = LeaseClient(fake)
    word, fence, _ = next_one.hear().split()
    assert word == "lease" and int(fence) > first
    assert holder.ask("publish the old one's").startswith("error lease-lost")
    assert next_one.ask("publish the next one's") == "published"
    assert LeaseClient(fake).hear() == "hit the next one's"


def test_a_deposit_outlives_the_old_daemon(fake):
    key = deposit(fake, "v", "kept")
    fake.upgrade()
    assert LeaseClient(fake).hear() == "hit kept"
    assert key in fake.cli("deposits", "list").stdout.decode()
