# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""ccache before and behind the cache for nvcc: each build has nvcc's own object, and the report says what was served."""

import re
import shutil
import subprocess

import pytest
from nvcc_toolkit import STANDIN, Toolkit
from standin import ended

CCACHE = shutil.which("ccache")
# Names of nvcc's temporary files and of the assembler's input.
TEMPORARY = re.compile(rb"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}-\d+|cc[0-9A-Za-z]{6}\.o")


class Both(Toolkit):
    """A toolkit with a ccache of its own."""

    def __init__(self, directory, socket):
        super().__init__(directory, socket)
        self.environment["CCACHE_DIR"] = str(self.directory / "ccache")
        alone = self.alone()
        assert alone.status == 0, alone
        self.object = self.made()

    def made(self):
        """Returns the object, without names that differ in each run, and removes it."""
        made = self.work / "a.o"
        contents = TEMPORARY.sub(b"T", made.read_bytes())
        made.unlink()
        return contents

    def ccache(self, *words):
        return subprocess.run([CCACHE, *words], env=self.environment, capture_output=True, text=True, check=True).stdout

    def ccache_hits(self):
        counts = dict(line.split("\t") for line in self.ccache("--print-stats").splitlines())
        return int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])


@pytest.fixture
def daemon(make_daemon):
    return make_daemon().start()


@pytest.fixture
def both(directory, daemon):
    return Both(directory, daemon.socket)


def build(both, *words):
    done = ended(both.start_words([CCACHE, *words, *both.words]))
    assert done.status == 0, done
    assert both.made() == both.object


def test_ccache_passes_the_launcher_through_which_serves(both, daemon):
    """ccache takes the launcher for the compiler, and nvcc for a second source. So it keeps nothing."""
    for hits in range(2):
        build(both, STANDIN, both.nvcc)
        assert (both.ccache_hits(), daemon.stats()["deposit_hits_total"]) == (0, hits)


def test_ccache_and_the_launcher_both_serve_if_it_has_the_name_of_nvcc(both, daemon):
    launcher = both.directory / "launcher/nvcc"
    launcher.parent.mkdir()
    launcher.symlink_to(STANDIN)
    launcher.with_name("nvcc.real").symlink_to(both.nvcc)
    build(both, launcher)
    build(both, launcher)
    assert (both.ccache_hits(), daemon.stats()["deposit_hits_total"]) == (1, 0)
    both.ccache("--clear")
    build(both, launcher)
    assert daemon.stats()["deposit_hits_total"] == 1


def test_ccache_starts_nvcc_under_run(both):
    def built():
        done = both.under_run(both.nvcc, *both.words, program=CCACHE)
        assert done.status == 0, done
        assert both.made() == both.object
        return both.report()

    assert built()["compiled"] > 0
    assert built()["calls"] == 0  # ccache has it
    assert both.ccache_hits() == 1
    both.ccache("--clear")
    assert built()["hits"] == 1


def test_the_launcher_leaves_a_run_of_ccache_to_it_and_says_so(both):
    def built():
        done = both.under_run(CCACHE, both.nvcc, *both.words, program=STANDIN)
        assert done.status == 0, done
        assert both.made() == both.object
        return both.report()

    assert "ccache" in built()["refusal"]
    assert built()["forwarded"]["call not served"] == 1
    assert both.ccache_hits() == 1


def test_a_host_compiler_that_is_ccache_is_run_and_the_steps_are_served(both):
    masquerade = both.directory / "ccbin/g++"
    masquerade.parent.mkdir()
    masquerade.symlink_to(CCACHE)
    words = [*both.words, "-ccbin", masquerade]
    assert both.alone(*words).status == 0
    alone = both.made()
    for compiled in (True, False):
        assert f"it wrote {both.environment['CCACHE_DIR']}" in both.how(*words)
        assert both.made() == alone
        assert both.report()["steps"]["hits"] == 0 if compiled else both.report()["steps"]["hits"] >= 3
