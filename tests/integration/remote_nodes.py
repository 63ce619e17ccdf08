# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that share a Redis: fixtures, and waits for shared entries."""

import itertools
import pathlib
import re

import pytest
from patience import wait_for
from redis_server import Redis
from running_daemon import run_cli


@pytest.fixture
def redis(directory):
    server = Redis(directory)
    yield server.start()
    server.stop()


class Keys:
    """Key pairs, and lists of trusted keys."""

    def __init__(self, place):
        self.place = place

    def make(self, name):
        """Makes a key pair. Returns the files of the secret key and of the public key."""
        file = self.place / name
        run_cli("remote", "keygen", "--out", str(file))
        return file, pathlib.Path(f"{file}.pub")

    def trust(self, list_name, *publics):
        file = self.place / list_name
        for public in publics:
            run_cli("remote", "trust", str(public), "--list", str(file))
        return file


@pytest.fixture
def keys(directory):
    return Keys(directory)


@pytest.fixture
def site(keys):
    """Returns the secret key of a site, and the list that all its nodes trust."""
    secret, public = keys.make("site.key")
    return secret, keys.trust("trusted", public)


@pytest.fixture
def make_node(make_daemon, toolkit, site):
    """Makes nodes with stores of their own. By default they sign with the site's key and trust it."""

    def make(name, url, *flags, key=site[0], trust=site[1], root=toolkit.root, **keywords):
        # A node that has compiled nothing waits this long for an answer, so that a busy machine's late answers are
        # still in time.
        flags = ["--remote-url", url, "--remote-trust", str(trust), "--remote-patience", "30s", *flags]
        if key is not None:
            flags += ["--remote-key", str(key)]
        return make_daemon(*flags, name=name, roots=(root,), **keywords).start()

    return make


def await_written(node, entries):
    wait_for(lambda: count(node, "remote_writes_total") >= entries, f"{entries} entries in Redis")


def count(node, name):
    return node.stats()[name]


def await_connected(node, servers=1):
    wait_for(lambda: count(node, "remote_nodes_connected") == servers, "connections to Redis")


def built(answer):
    return answer["outcome"], answer["tier"]


def await_shared(writer, reader, build):
    """Waits until a build of one node is a hit of the other. An answer may be too late at first, because compiles
    are short here."""
    numbers = itertools.count()

    def shared():
        number = next(numbers)
        written = count(writer, "remote_writes_total")
        assert build(writer, number)["outcome"] == "built"
        await_written(writer, written + 1)
        answer = build(reader, number)
        assert built(answer) in (("hit", "remote"), ("built", ""))
        return answer["outcome"] == "hit"

    wait_for(shared, "a hit of what another node built")


def name_of(answer):
    return f"cccl-cached:a:{answer['key']}"


def write_one_for_each(node, servers):
    """Returns sources of entries that this node wrote, by the server that has the entry."""
    found = {}
    for number in itertools.count():
        source = f"// of {node.directory} {number}\n"
        before = ended_writes(node)
        name = name_of(node.build_json(source))
        wait_for(lambda: ended_writes(node) > before, "the end of a write")
        if holder := servers.holder(name):  # on a busy machine the connection may have been too late for the first entries
            found.setdefault(holder, source)
        if len(found) == len(servers.all):
            return found


def ended_writes(node):
    return count(node, "remote_writes_total") + count(node, "remote_writes_failed_total")


def rights_in_the_guide():
    guide = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs/guide-cluster.md").read_text()
    return re.search(r"^ *user cccl .* -@all (.*)$", guide, re.MULTILINE)[1].split()
