# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli metrics`, and the alert rules and the dashboard that use it."""

import contextlib
import http.client
import itertools
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import urllib.error
import urllib.request

import pytest
from conftest import PATIENCE, PLACES, run_cli, wait_for
from lease_client import LeaseClient, deposit
from scraping import Prometheus, filled, metrics, panels

PROMTOOL = os.environ["CCCL_CACHED_TEST_PROMTOOL"]
WATCHERS = pathlib.Path(__file__).parents[2] / "deploy/metrics"
KERNEL = 'extern "C" __global__ void k() {}\n'


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def promtool(*arguments, **keywords):
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=PATIENCE, **keywords)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_port_of_this_machine_serves_openmetrics(fake):
    for _ in range(2):
        fake.build_json(KERNEL)
    # A build of an unknown toolchain, which makes a second series.
    fake.cli("build", "-", "--arch", "sm_90", "--toolchain", "99", "-o", os.devnull, input=KERNEL, check=False)
    with metrics(fake, "--listen", "127.0.0.1:0") as url:
        kind, text = get(url)
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert samples["cccl_cached_builds_total"] == "3"
    assert samples["cccl_cached_hit_duration_seconds_count"] == "1"
    assert any(name.startswith('cccl_cached_build_info{version="') for name in samples)
    hits = [name for name in samples if "builds_by_toolchain_total" in name and 'outcome="hit"' in name]
    assert len(hits) == 1 and 'kind="nvrtc"' in hits[0]
    families = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    assert len(families) == len(set(families))
    # The samples of one series of a histogram must be consecutive.
    series = [re.sub(r'(^\w+_duration_seconds)_\w+|,?le="[^"]*"', r"\1", line.rsplit(" ", 1)[0]).replace("{}", "")
              for line in text.splitlines() if "_duration_seconds_" in line]
    runs = [name for name, _ in itertools.groupby(series)]
    assert len(runs) == len(set(runs)) == 4


def test_metrics_of_single_users_are_shown_only_with_by_user(fake):
    fake.build_json(KERNEL)
    with metrics(fake, "--listen", "127.0.0.1:0") as url:
        assert "user=" not in get(url)[1]
    with metrics(fake, "--listen", "127.0.0.1:0", "--by-user") as url:
        assert f'builds_by_user_total{{user="{os.geteuid()}",outcome="built"}} 1' in get(url)[1]


def test_metrics_of_namespaces_are_shown_only_with_by_user(fake):
    deposit(fake, "a", "made")
    assert LeaseClient(fake, "a").hear() == "hit made"
    with metrics(fake, "--listen", "127.0.0.1:0") as url:
        text = get(url)[1]
        assert "namespace=" not in text and "cccl_cached_deposit_read_bytes_total 4" in text
    with metrics(fake, "--listen", "127.0.0.1:0", "--by-user") as url:
        text = get(url)[1]
    assert re.search(r'deposits_by_namespace_total\{namespace="[^"]+",outcome="hit"\} 1\n', text)
    assert re.search(r'deposit_bytes_by_namespace_total\{namespace="[^"]+",direction="read"\} 4\n', text)
    assert promtool("check", "metrics", input=fake.cli("stats", "--prometheus").stdout.decode()) == ""


def test_a_metrics_socket_replaces_a_stale_socket(fake, directory):
    path = directory / "metrics"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with metrics(fake, "--listen", str(path)) as address:
        assert address == str(path)
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(address)
        connection.request("GET", "/metrics")
        assert b"cccl_cached_builds_total" in connection.getresponse().read()
        connection.close()
    assert not path.exists()


def test_a_file_in_place_of_the_socket_stays(fake, directory):
    path = directory / "metrics"
    path.write_text("mine")
    done = fake.cli("metrics", "--listen", str(path), check=False)
    assert done.returncode == 5 and str(path).encode() in done.stderr
    assert path.read_text() == "mine"


@pytest.mark.parametrize("address", ["0.0.0.0:0", "127.0.0.1", "::1:0", "[127.0.0.1]:0", "metrics", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "[::]:0",
                                     "localhost:0", ":0", ""])
def test_the_exporter_listens_on_loopback_addresses_only(directory, address):
    done = run_cli("metrics", "--listen", address, check=False)
    assert done.returncode == 2
    assert b"--listen" in done.stderr


def test_a_scrape_fails_without_a_daemon_and_succeeds_once_it_is_back(fake):
    with metrics(fake, "--listen", "127.0.0.1:0") as url:
        fake.stop()
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(url)
        assert refused.value.code == 503
        assert fake.socket in refused.value.read().decode()
        fake.start()
        assert "cccl_cached_builds_total" in get(url)[1]


def test_invalid_requests_end_neither_the_server_nor_other_requests(fake):
    with metrics(fake, "--listen", "127.0.0.1:0") as url:
        host, port = re.fullmatch(r"http://(.*):(\d+)/metrics", url).groups()
        with pytest.raises(urllib.error.HTTPError) as unknown:
            get(url.replace("/metrics", "/other"))
        assert unknown.value.code == 404
        for sent in (b"\0\1\2\r\n\r\n", b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
                     b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 10000 + b"\r\n", b"GET " + b"/" * 100000):
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as raw:
                with contextlib.suppress(OSError):  # the server may close at once
                    raw.sendall(sent)
                    raw.shutdown(socket.SHUT_WR)
                    answer = raw.recv(4096)
                    assert not answer.startswith(b"HTTP/1.1 200")
        silent = socket.create_connection((host, int(port)), timeout=PATIENCE)
        assert "cccl_cached_builds_total" in get(url)[1]
        silent.close()


def test_neither_disconnecting_nor_numerous_clients_end_the_server(fake):
    with metrics(fake, "--listen", "127.0.0.1:0", behind=("prlimit", "--nofile=32")) as url:
        host, port = re.fullmatch(r"http://(.*):(\d+)/metrics", url).groups()
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as raw:
            raw.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # makes close() send a reset
        with contextlib.ExitStack() as many:
            for _ in range(40):
                many.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
        assert "cccl_cached_builds_total" in get(url)[1]


def test_a_socket_that_is_served_is_not_taken(fake, directory):
    path = str(directory / "metrics")
    with metrics(fake, "--listen", path):
        done = fake.cli("metrics", "--listen", path, check=False)
        assert done.returncode == 5 and b"another program" in done.stderr
        assert os.path.exists(path)


def test_the_older_text_passes_prometheus_own_check(fake):
    fake.build_json(KERNEL)
    text = fake.cli("stats", "--prometheus").stdout.decode()
    assert promtool("check", "metrics", input=text) == ""


def exposed(daemon):
    """Returns the names of all samples."""
    text = daemon.cli("stats", "--prometheus").stdout.decode()
    return {re.match(r"[a-z_]+", line)[0] for line in text.splitlines() if not line.startswith("#")}


def test_the_alert_rules_load_and_use_existing_metrics(make_daemon, directory):
    (directory / "shelf").mkdir()
    fake = make_daemon("--remote-url", f"unix://{directory}/redis", "--shelf-path", str(directory / "shelf")).start()
    fake.build_json(KERNEL)
    promtool("check", "rules", str(WATCHERS / "alerts.yml"))
    asked = set(re.findall(r"cccl_cached_[a-z_]+", (WATCHERS / "alerts.yml").read_text()))
    assert asked and asked <= exposed(fake)


def test_prometheus_answers_each_query_of_the_dashboard_with_numbers(fake, directory):
    numbers = itertools.count()
    deposit(fake, "a", "made")
    with metrics(fake, "--listen", "127.0.0.1:0", "--by-user") as url, Prometheus(directory / "prometheus", url) as prometheus:

        def ask(expression):
            """Asks Prometheus after one more miss and one more hit, because many queries are rates."""
            source = f"{KERNEL}// {next(numbers)}\n"
            for _ in range(2):
                fake.build_json(source)
            return prometheus.values(expression)

        for panel in panels():
            assert panel["targets"]
            for target in panel["targets"]:
                expression = filled(target["expr"], rate_interval=10, span=60)
                wait_for(lambda: ask(expression), f"numbers of {panel['title']}, {target['refId']}")


def test_the_panels_of_the_dashboard_do_not_overlap():
    places = [panel["gridPos"] for panel in panels()]
    assert len({panel["id"] for panel in panels()}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
