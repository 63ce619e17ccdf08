# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that share a Redis over TLS. A node sends its password only to a server that proves its identity, and uses
no other server."""

import subprocess

import pytest
from conftest import wait_for
from redis_server import Redis, RedisServers, free_ports
from remote_nodes import (  # noqa: F401
    await_connected, await_shared, built, count, keys, make_node, site, write_one_for_each)


class Authority:
    """A self-signed certificate, and its key."""

    def __init__(self, place, name):
        self.certificate, self.key = place / f"{name}.pem", place / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.key, "-out", self.certificate],
            check=True, capture_output=True)

    def settings(self, trusted):
        """Returns the settings of a Redis that proves its identity with this certificate, and accepts the clients
        that the file trusts."""
        return ("--tls-cert-file", str(self.certificate), "--tls-key-file", str(self.key), "--tls-ca-cert-file", str(trusted),
                "--tls-auth-clients", "no")


@pytest.fixture
def server(directory):
    return Authority(directory, "server")


@pytest.fixture
def password(directory):
    file = directory / "password"
    file.write_text("secret\n")
    file.chmod(0o600)
    return file


def add_user(redis):
    redis.ask("ACL", "SETUSER", "cccl", "on", ">secret", "~*", "+@all")


@pytest.fixture
def redis(directory, server):
    """A Redis over TLS with a password. Its Unix socket is for the test alone."""
    redis = Redis(directory)
    with free_ports(1) as (port,):
        redis.start("--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1", *server.settings(server.certificate))
    add_user(redis)
    redis.tls_url = f"rediss://cccl@127.0.0.1:{port}"
    yield redis
    redis.stop()


def test_nodes_share_over_tls_a_redis_with_a_trusted_certificate(make_node, redis, server, password):
    flags = ("--remote-ca-file", str(server.certificate), "--remote-password-file", str(password))
    one, two = make_node("1", redis.tls_url, *flags), make_node("2", redis.tls_url, *flags)
    for node in (one, two):
        await_connected(node)
    await_shared(one, two, lambda node, number: node.build_json(f"// {number}\n"))


def test_a_redis_without_a_trusted_certificate_gets_no_password_and_fails_no_build(make_node, redis, password, directory):
    other = Authority(directory, "other")
    node = make_node("1", redis.tls_url, "--remote-ca-file", str(other.certificate), "--remote-password-file", str(password))
    wait_for(lambda: "TLS failed" in node.log_text(), "the refusal in the log")
    for number in range(3):
        assert node.build_json(f"// {number}\n")["outcome"] == "built"
    assert count(node, "remote_connected") == 0
    assert count(node, "remote_lookups_total") == 0
    assert b"cmdstat_auth" not in redis.ask("INFO", "commandstats")


@pytest.fixture
def make_servers(directory, server):
    """Makes three servers with these certificates. Returns their URL."""
    made = []

    def make(*authorities):
        servers = RedisServers(directory, [each.settings(each.certificate) for each in authorities])
        made.append(servers)
        for each in servers.start().all:
            add_user(each)
        return servers, servers.url.replace("://", "://cccl@")

    yield make
    for servers in made:
        servers.stop()


def test_several_servers_are_used_over_tls(make_node, make_servers, server, password):
    servers, url = make_servers(server, server, server)
    flags = ("--remote-ca-file", str(server.certificate), "--remote-password-file", str(password))
    one, two = make_node("1", url, *flags), make_node("2", url, *flags)
    for node in (one, two):
        await_connected(node, 3)
    for source in write_one_for_each(one, servers).values():
        assert built(two.build_json(source)) == ("hit", "remote")


def test_a_server_without_a_trusted_certificate_gets_no_password_beside_others(make_node, make_servers, server, password, directory):
    servers, url = make_servers(server, server, Authority(directory, "other"))
    node = make_node("1", url, "--remote-ca-file", str(server.certificate), "--remote-password-file", str(password))
    await_connected(node, 2)
    wait_for(lambda: "TLS failed" in node.cli("remote", "status").stdout.decode(), "the refusal in the status")
    assert (count(node, "remote_nodes"), count(node, "remote_nodes_connected")) == (3, 2)
    assert b"cmdstat_auth" in servers.all[1].ask("INFO", "commandstats")
    assert b"cmdstat_auth" not in servers.all[2].ask("INFO", "commandstats")
