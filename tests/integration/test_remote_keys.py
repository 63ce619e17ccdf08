# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`remote keygen`, `trust`, `revoke` and `keys`: the keys of nodes that share results, without a daemon."""

import concurrent.futures
import fcntl
import json
import os
import stat

import pytest
from conftest import run_cli, wait_for


@pytest.fixture
def place(directory):
    """A directory with the keys of two nodes."""
    for name in ("one", "two"):
        remote("keygen", "--out", directory / name, "--comment", f"node {name}")
    return directory


def remote(*words, **keywords):
    return run_cli("remote", *map(str, words), **keywords)


def told(*words, **keywords):
    return json.loads(run_cli("--json", "remote", *map(str, words), **keywords).stdout)


def refused(*words):
    """Returns the message of a command that fails and changes nothing."""
    done = remote(*words, check=False)
    assert (done.returncode, done.stdout) == (4, b"")
    return done.stderr.decode()


def key_in(file):
    return file.read_text().split()[1]


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


def test_keygen_writes_a_public_file_and_a_secret_file_that_only_its_owner_reads(directory):
    old = os.umask(0)
    try:
        answer = told("keygen", "--out", directory / "key", "--comment", "node 7")
    finally:
        os.umask(old)
    secret, public = directory / "key", directory / "key.pub"
    assert answer == {"format_version": 1, "key": key_in(public), "secret_file": str(secret), "public_file": str(public)}
    assert (mode(secret), mode(public)) == (0o600, 0o644)
    assert public.read_text() == f"ed25519 {answer['key']} node 7\n"
    lines = secret.read_text().splitlines()
    assert lines[0].startswith("# Secret key") and lines[1].startswith("ed25519-secret ") and len(lines) == 2
    assert lines[1].split()[1] not in public.read_text()


def test_keys_differ_and_have_the_name_of_their_machine(directory):
    texts = [remote("keygen", "--out", directory / name).stdout.decode() for name in ("a", "b")]
    assert key_in(directory / "a.pub") != key_in(directory / "b.pub")
    assert (directory / "a.pub").read_text().split()[2] == os.uname().nodename
    assert f"ed25519 {key_in(directory / 'a.pub')}" in texts[0]


def test_a_key_is_never_overwritten(place):
    before = {file: file.read_bytes() for file in place.iterdir() if file.is_file()}
    assert "never overwritten" in refused("keygen", "--out", place / "one")
    (place / "one").unlink()
    # The command does not make half of a pair either.
    assert "one.pub exists" in refused("keygen", "--out", place / "one")
    assert not (place / "one").exists()
    assert before[place / "one.pub"] == (place / "one.pub").read_bytes()


def test_trusted_keys_are_listed_with_their_comments_until_they_are_revoked(place):
    keys = [key_in(place / f"{name}.pub") for name in ("one", "two")]
    both = [{"key": keys[0], "comment": "node one"}, {"key": keys[1], "comment": "node two"}]
    chosen = ("--list", place / "list")
    assert told("trust", place / "one.pub", *chosen)["added"] == keys[:1]
    text = remote("trust", place / "two.pub", *chosen).stdout.decode()
    assert f"added ed25519 {keys[1]} node two" in text and "systemctl reload cccl-cached" in text
    assert told("keys", *chosen) == {"format_version": 1, "list": str(place / "list"), "keys": both}
    assert remote("keys", *chosen).stdout.decode() == "".join(f"ed25519 {key} node {name}\n" for key, name in zip(keys, ("one", "two")))
    gone = told("revoke", place / "one.pub", *chosen)
    assert (gone["removed"], gone["keys"]) == (keys[:1], both[1:])
    text = remote("revoke", keys[1][:8], *chosen).stdout.decode()
    assert f"removed ed25519 {keys[1]}" in text and "systemctl reload cccl-cached" in text
    assert remote("keys", *chosen).stdout == b"no keys\n"


def test_handwritten_lines_of_the_list_stay(place):
    listed = place / "list"
    listed.write_text(f"# rack 1\n\n  ed25519 {key_in(place / 'one.pub')}   first\n# rack 2")
    remote("trust", place / "two.pub", "--list", listed)
    assert listed.read_text().endswith(f"# rack 2\ned25519 {key_in(place / 'two.pub')} node two\n")
    remote("revoke", key_in(place / "one.pub"), "--list", listed)
    assert listed.read_text() == f"# rack 1\n\n# rack 2\ned25519 {key_in(place / 'two.pub')} node two\n"


def test_trusting_a_key_again_changes_nothing(place):
    chosen = ("--list", place / "list")
    remote("trust", place / "one.pub", *chosen)
    before = (place / "list").stat()
    assert b"nothing changed" in remote("trust", place / "one.pub", *chosen).stdout
    assert told("trust", place / "one.pub", *chosen)["added"] == []
    assert (place / "list").stat().st_ino == before.st_ino


@pytest.mark.parametrize("command", ["trust", "revoke"])
def test_commands_that_change_a_list_at_the_same_time_lose_no_key(place, command):
    listed = place / "list"
    remote("trust", place / "one.pub", "--list", listed)
    given = place / ("two.pub" if command == "trust" else "one.pub")
    remote("keygen", "--out", place / "three")
    text = listed.read_text()  # read before the lock: closing the file later would end the lock
    with open(listed, "r+") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        inode = os.fstat(held.fileno()).st_ino
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            other = thread.submit(remote, command, given, "--list", listed)
            wait_for(lambda: awaits_lock_of(inode), "the wait of the second command")
            # The first command writes this file.
            (place / "new").write_text(text + (place / "three.pub").read_text())
            (place / "new").rename(listed)
            held.close()
            other.result()
    names = {"trust": ("one", "three", "two"), "revoke": ("three",)}[command]
    assert [each["key"] for each in told("keys", "--list", listed)["keys"]] == [key_in(place / f"{name}.pub") for name in names]


def awaits_lock_of(inode):
    with open("/proc/locks") as locks:
        return any("->" in line and line.split()[-3].endswith(f":{inode}") for line in locks)


def test_a_list_is_replaced_at_once_and_can_be_read_by_the_daemon(place):
    chosen = ("--list", place / "list")
    old = os.umask(0o077)
    try:
        remote("trust", place / "one.pub", *chosen)
        inode = (place / "list").stat().st_ino
        with open(place / "list") as reader:
            remote("trust", place / "two.pub", *chosen)
            assert key_in(place / "two.pub") not in reader.read()
    finally:
        os.umask(old)
    assert (place / "list").stat().st_ino != inode
    assert mode(place / "list") == 0o644
    assert {file.name for file in place.iterdir()} >= {"list"} and not list(place.glob("list.*"))


def test_a_missing_key_can_not_be_revoked_and_the_others_stay(place):
    chosen = ("--list", place / "list")
    remote("trust", place / "one.pub", *chosen)
    before = (place / "list").read_bytes()
    for absent in (place / "two.pub", key_in(place / "two.pub")):
        said = refused("revoke", absent, *chosen)
        assert key_in(place / "two.pub") in said and f"{key_in(place / 'one.pub')} (node one)" in said
    assert (place / "list").read_bytes() == before


def test_a_public_key_is_read_from_a_pipe(place):
    key = (place / "one.pub").read_text()
    assert told("trust", "-", "--list", place / "list", input=key)["added"] == [key.split()[1]]


def test_a_secret_key_is_neither_added_to_a_list_nor_shown(place):
    said = refused("trust", place / "one", "--list", place / "list")
    assert "secret" in said and (place / "one").read_text().split()[-1] not in said
    assert not (place / "list").exists()


def test_a_wrong_line_is_named_and_the_lists_are_unchanged(place):
    (place / "list").write_text("# keys\ned25519 abc\n")
    for command in (("trust", place / "one.pub"), ("revoke", place / "one.pub"), ("keys",)):
        assert f"{place / 'list'}:2: " in refused(*command, "--list", place / "list")
    assert (place / "list").read_text() == "# keys\ned25519 abc\n"


def test_a_missing_list_or_key_file_is_an_error(place):
    for command in (("keys",), ("revoke", place / "one.pub")):
        done = remote(*command, "--list", place / "none", check=False)
        assert done.returncode == 5 and str(place / "none") in done.stderr.decode()
    assert remote("trust", place / "none", "--list", place / "list", check=False).returncode == 5
    assert remote("trust", check=False).returncode == 2


def test_help_names_the_default_list():
    for command in ("trust", "revoke", "keys"):
        assert b"/etc/cccl-cached/trusted-keys" in run_cli("help", "remote", command).stdout
