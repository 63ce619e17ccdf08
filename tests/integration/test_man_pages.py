# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The installed man pages, as groff formats them."""

import os
import pathlib
import subprocess

import pytest
from conftest import PATIENCE, run_cli

MAN = pathlib.Path(os.environ["CCCL_CACHED_TEST_TEXTS"]) / "man"
PAGES = sorted(MAN.rglob("*.[18]"))


def formatted(page):
    """Returns the text of a page on one line. A warning of groff is an error."""
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", "-rLL=200n", str(page)], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_groff_has_no_warning_and_each_page_names_its_program(page):
    text = formatted(page)
    assert f"NAME {page.stem} - " in text
    assert "OPTIONS" in text and "EXIT STATUS" in text and "SEE ALSO" in text


def test_there_is_a_page_for_the_daemon_the_command_line_and_each_command():
    names = {page.relative_to(MAN).as_posix() for page in PAGES}
    assert {"man8/cccl-cached.8", "man1/cccl-cache-cli.1", "man1/cccl-cache-cli-build.1",
            "man1/cccl-cache-cli-snapshot.1"} <= names
    listed = formatted(MAN / "man1/cccl-cache-cli.1")
    assert all(f"{page.stem}(1)" in listed for page in PAGES if page.stem.startswith("cccl-cache-cli-"))


def test_a_page_shows_options_and_examples_as_help_does():
    text = formatted(MAN / "man1/cccl-cache-cli-deposits.1")
    assert "cccl-cache-cli deposits list --json | jq -r '.deposits[].key' | xargs cccl-cache-cli deposits remove" in text
    text = formatted(MAN / "man1/cccl-cache-cli-env.1")
    assert 'eval "$(cccl-cache-cli env)"' in text
    assert "--how audit|preload" in text and "--how audit|preload" in run_cli("help", "env").stdout.decode()


def test_the_page_of_doctor_lists_its_own_exit_codes():
    text = formatted(MAN / "man1/cccl-cache-cli-doctor.1")
    assert "1 a check failed" in text and "does not compile" not in text


def test_the_page_of_the_daemon_does_not_depend_on_the_machine_that_made_it():
    text = formatted(MAN / "man8/cccl-cached.8")
    assert "maximum number of concurrent compiles (default: one per processor)" in text
    assert '(default: "/run/cccl-cached/socket")' in text
    assert '(default: "/var/lib/cccl-cached")' in text


def test_the_page_of_the_daemon_has_all_exit_codes_and_the_files():
    text = formatted(MAN / "man8/cccl-cached.8")
    status = text[text.index("EXIT STATUS"):]
    status, files = status[:status.index("ENVIRONMENT")], status[status.index("FILES"):]
    assert all(f" {code} " in status for code in (0, 2, 3, 4)), status
    assert text.index("4 stopped before all had ended") > text.index("EXIT STATUS")
    assert "/etc/cccl-cached/config.toml configures" in files and "Cluster" in text
