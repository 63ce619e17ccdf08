# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`explain` gives the reason for a miss: after the build, by its key, and before the build, by the command line."""

import hashlib
import json
import os

import pytest
from conftest import run_cli, wait_for
from database import flip_a_bit

KERNEL = 'extern "C" __global__ void k() {}\n'
PROGRAM = '#include "local.h"\n' + KERNEL


class Place:
    """A program beside a header, and a daemon that builds it and explains its builds."""

    def __init__(self, daemon, directory):
        self.daemon = daemon
        self.directory = directory / "src"
        self.directory.mkdir()
        self.write("k.cu", PROGRAM)
        self.write("local.h", "// one\n")

    def write(self, name, text):
        (self.directory / name).write_text(text)

    def command(self, *options):
        return ["build", "k.cu", "--arch", "sm_90", "-o", os.devnull, *options]

    def run(self, *words):
        done = run_cli("--socket", self.daemon.socket, "--json", *words, cwd=self.directory)
        return json.loads(done.stdout)

    def build(self, *options):
        return self.run(*self.command(*options))

    def explain(self, *options):
        return self.run("explain", "--", *self.command(*options))

    def explain_key(self, key):
        return self.run("explain", key)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def place(make_daemon, toolkit, directory):
    # The parsing of a preamble in the background would count as a compile of the explanation.
    return Place(make_daemon("--pch-memory-limit", "0", roots=(toolkit.root,)).start(), directory)


def test_an_edited_header_is_named_with_both_digests(place, toolkit):
    assert place.explain()["verdict"] == "never-seen"
    first = place.build()
    assert place.explain()["verdict"] == "hit"
    place.write("local.h", "// two\n")
    compiles = toolkit.count("nvrtc_compiles")
    before = place.explain()
    assert toolkit.count("nvrtc_compiles") == compiles
    second = place.build()
    assert second["outcome"] == "built"
    after = place.explain_key(second["key"])
    for explanation in (before, after):
        assert explanation["verdict"] == "differs"
        assert explanation["nearest"]["key"] == first["key"]
        (difference,) = explanation["differences"]
        assert difference["field"] == "header"
        assert difference["name"] == "local.h"
        assert difference["was"] == sha256("// one\n")
        assert difference["is"] == sha256("// two\n")
    assert (before["since"], after["since"][-1]) == ("", "Z")
    told = place.explain_key(first["key"])
    assert (told["verdict"], told["since"]) == ("never-seen", after["nearest"]["time"])


def test_explain_prints_sentences_without_json(place):
    place.build()
    place.write("local.h", "// two\n")
    done = run_cli("--socket", place.daemon.socket, "explain", "--", *place.command(), cwd=place.directory)
    assert f"header local.h: was sha256 {sha256('// one' + chr(10))[:16]}" in done.stdout.decode()
    words = ("explain", "--json", "--", *place.command())
    assert json.loads(run_cli("--socket", place.daemon.socket, *words, cwd=place.directory).stdout)["verdict"] == "differs"


def test_an_evicted_entry_is_explained_with_the_time(make_daemon, toolkit, directory):
    daemon = make_daemon("--store-limit", "4MiB", "--memory-limit", "1MiB", roots=(toolkit.root,)).start()
    place = Place(daemon, directory)
    programs = {number: f"// {number}\n//fake: output-size 300000\n" for number in range(40)}
    keys = {number: daemon.build_json(program)["key"] for number, program in programs.items()}

    def evicted():
        """Returns the explanations of the evicted entries. The store chooses which entries it evicts."""
        explanations = {number: place.explain_key(key) for number, key in keys.items()}
        return {number: told for number, told in explanations.items() if told["verdict"] == "evicted"}

    number, by_key = next(iter(wait_for(evicted, "an eviction").items()))
    assert by_key["since"].endswith("Z")
    place.write("stdin.cu", programs[number])
    command = ["build", "stdin.cu", "--arch", "sm_90", "-o", os.devnull]
    by_command = place.run("explain", "--", *command)
    assert by_command["verdict"] == "evicted"
    assert by_command["since"] == by_key["since"]


def test_a_corrupt_entry_is_explained_with_the_time(place):
    """Before a build finds the damage, `explain` finds it for the command line, although the database has the key. After
    that build, `explain` knows it for the key."""
    place.write("k.cu", KERNEL + "//fake: output-size 20000\n")
    key = place.build()["key"]
    place.daemon.stop()
    flip_a_bit(place.daemon, key)
    place.daemon.start()
    before = place.explain()
    assert before["verdict"] == "corrupt"
    assert before["since"].endswith("Z")
    assert place.build()["outcome"] == "built"
    after = place.explain_key(key)
    assert (after["verdict"], after["since"]) == ("corrupt", before["since"])
    assert place.explain()["verdict"] == "hit"
    assert place.daemon.stats()["corrupt_entries_total"] == 1


def test_a_key_is_known_after_a_restart_with_the_state_of_its_entry(place):
    """The explanation has no differences, because the inputs of builds are not kept."""
    place.write("k.cu", KERNEL + "//fake: output-size 20000\n")
    key = place.build()["key"]
    place.write("time.cu", KERNEL + "const char* t = __TIME__;\n")
    never_kept = place.run("build", "time.cu", "--arch", "sm_90", "-o", os.devnull)["key"]
    place.daemon.stop()
    place.daemon.start()
    told = place.explain_key(key)
    assert (told["verdict"], told["tier"]) == ("hit", "disk")
    assert "can't be compared" in told["reason"]
    assert place.explain_key(never_kept)["verdict"] == "unknown-key"
    place.daemon.stop()
    flip_a_bit(place.daemon, key)
    place.daemon.start()
    for _ in range(2):
        told = place.explain_key(key)
        assert (told["verdict"], told["tier"]) == ("corrupt", "")
        assert told["since"].endswith("Z")
        place.daemon.stop()
        place.daemon.start()


def test_links_are_explained_too(place):
    command = ["link", "a.ptx", "--arch", "sm_90", "-o", os.devnull]
    place.write("a.ptx", ".version 8.0\n")
    assert place.run("explain", "--", *command)["verdict"] == "never-seen"
    place.run(*command)
    assert place.run("explain", "--", *command)["verdict"] == "hit"
    place.write("a.ptx", ".version 8.1\n")
    (difference,) = place.run("explain", "--", *command)["differences"]
    assert difference["field"] == "input"
    assert difference["is"] == sha256(".version 8.1\n")
