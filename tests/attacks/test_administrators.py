# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Only an administrator may insert for all users and export others' results. Uid 0 alone does not make one."""

import grp
import json
import os

import pytest
from bystander import ATTACKER
from places import PLACES
from running_daemon import run_cli

GROUP = 1
KERNEL = "// a program\n"
IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user")
AS_A_MEMBER = ("setpriv", f"--reuid={ATTACKER}", f"--regid={ATTACKER}", f"--groups={GROUP}")
AS_ITS_PRIMARY_GROUP = ("setpriv", f"--reuid={ATTACKER}", f"--regid={GROUP}", "--clear-groups")
AS_ANOTHER = ("setpriv", f"--reuid={ATTACKER}", f"--regid={ATTACKER}", "--clear-groups")


@pytest.fixture
def daemon(make_daemon, container_socket):
    daemon = make_daemon(
        "--socket-mode", "0666", "--container-socket", container_socket, "--admin-group", grp.getgrgid(GROUP).gr_name,
        roots=(PLACES.fake13,)).start()
    daemon.build_json(KERNEL, cwd="/")
    return daemon


def may_export_everything(socket, directory, behind=()):
    """Runs an export that only an administrator may do. The daemon's answer counts, not the error of a program that
    can't run."""
    place = directory / "files"
    place.mkdir(exist_ok=True)
    place.chmod(0o777)
    done = run_cli("--socket", socket, "snapshot", "create", str(place / "file"), "--all-users", behind=behind,
                   check=False, cwd="/")
    if done.returncode == 0:
        (place / "file").unlink()
        return True
    assert done.returncode == 4 and b"root and the daemon's user" in done.stderr, done.stderr
    return False


def test_root_is_an_administrator_and_other_users_are_not(daemon, directory):
    assert may_export_everything(daemon.socket, directory)
    assert not may_export_everything(daemon.socket, directory, AS_ANOTHER)


@pytest.mark.parametrize("become", [AS_A_MEMBER, AS_ITS_PRIMARY_GROUP], ids=["supplementary", "primary"])
def test_a_member_of_the_configured_group_is_an_administrator(daemon, directory, become):
    assert may_export_everything(daemon.socket, directory, become)


@pytest.mark.parametrize("become", [(), AS_A_MEMBER], ids=["root", "member"])
def test_no_caller_is_an_administrator_at_the_socket_for_containers(daemon, container_socket, directory, become):
    assert not may_export_everything(container_socket, directory, become)


@pytest.mark.parametrize("become", [(), AS_A_MEMBER], ids=["root", "member"])
def test_no_caller_is_an_administrator_from_a_user_namespace(daemon, directory, become):
    assert not may_export_everything(daemon.socket, directory, (*become, *IN_A_NAMESPACE))


def test_a_daemon_that_is_not_root_distinguishes_root_from_root_of_a_container(make_daemon, directory):
    daemon = make_daemon("--socket-mode", "0666", roots=(PLACES.fake13,), uid=ATTACKER + 7)
    os.chown(daemon.directory, ATTACKER + 7, ATTACKER + 7)
    daemon.start().build_json(KERNEL, cwd="/")
    assert may_export_everything(daemon.socket, directory)
    assert not may_export_everything(daemon.socket, directory, IN_A_NAMESPACE)


@pytest.mark.parametrize("command", [("evict", "--all", "--yes"), ("verify",)], ids=["evict", "verify"])
def test_evict_and_verify_are_denied_at_the_container_socket_and_in_a_user_namespace(daemon, container_socket, command):
    def status(socket, behind=()):
        done = run_cli("--socket", socket, "--json", *command, behind=behind, check=False, cwd="/")
        return json.loads(done.stdout).get("error", {}).get("status", "done")

    assert status(container_socket) == status(daemon.socket, IN_A_NAMESPACE) == "denied"
    assert daemon.build_json(KERNEL, cwd="/")["outcome"] == "hit"
    assert status(daemon.socket, AS_A_MEMBER) == "done"


def test_inserts_by_root_of_a_container_are_not_shared(daemon, container_socket, directory):
    file = directory / "all.snap"
    daemon.cli("snapshot", "create", str(file))
    told = json.loads(run_cli("--socket", container_socket, "--json", "snapshot", "insert", str(file), cwd="/").stdout)
    assert told["shared"] is False
