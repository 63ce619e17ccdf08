# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that share a Redis over TLS: only one that proves what it is gets the password and is used."""

import subprocess

import pytest
from conftest import wait_for
from redis_server import Redis, free_port
from remote_nodes import await_connected, await_shared, count, keys, make_node, site  # noqa: F401


class Authority:
    """A certificate that signs itself, and its key."""

    def __init__(self, place, name):
        self.certificate, self.key = place / f"{name}.pem", place / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.key, "-out", self.certificate],
            check=True, capture_output=True)


@pytest.fixture
def server(directory):
    return Authority(directory, "server")


@pytest.fixture
def password(directory):
    file = directory / "password"
    file.write_text("secret\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def redis(directory, server):
    """Over TLS with a password; its Unix socket is the test's own."""
    port = free_port()
    redis = Redis(directory)
    redis.start("--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1", "--tls-cert-file", str(server.certificate),
                "--tls-key-file", str(server.key), "--tls-ca-cert-file", str(server.certificate), "--tls-auth-clients", "no")
    redis.ask("ACL", "SETUSER", "cccl", "on", ">secret", "~*", "+@all")
    redis.tls_url = f"rediss://cccl@127.0.0.1:{port}"
    yield redis
    redis.stop()


def test_nodes_share_over_tls_a_redis_whose_certificate_they_trust(make_node, redis, server, password):
    flags = ("--remote-ca-file", str(server.certificate), "--remote-password-file", str(password))
    one, two = make_node("1", redis.tls_url, *flags), make_node("2", redis.tls_url, *flags)
    for node in (one, two):
        await_connected(node)
    await_shared(one, two, lambda node, number: node.build_json(f"// {number}\n"))


def test_a_redis_whose_certificate_is_not_trusted_is_not_told_the_password_and_fails_no_build(make_node, redis, password, directory):
    other = Authority(directory, "other")
    node = make_node("1", redis.tls_url, "--remote-ca-file", str(other.certificate), "--remote-password-file", str(password))
    wait_for(lambda: "TLS failed" in node.log_text(), "the refusal in the log")
    for number in range(3):
        assert node.build_json(f"// {number}\n")["outcome"] == "built"
    assert count(node, "remote_connected") == 0
    assert count(node, "remote_lookups_total") == 0
    assert b"cmdstat_auth" not in redis.ask("INFO", "commandstats")
