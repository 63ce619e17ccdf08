# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon's metrics, a Prometheus that scrapes them, and the queries of the dashboard."""

import contextlib
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import urllib.parse
import urllib.request

from patience import PATIENCE, wait_for
from places import PLACES

DASHBOARD = pathlib.Path(__file__).parents[2] / "deploy/metrics/grafana-dashboard.json"


@contextlib.contextmanager
def metrics(daemon, *arguments, behind=()):
    """Serves the daemon's statistics. Returns the address that the command prints."""
    command = [*behind, PLACES.cli, "--socket", daemon.socket, "metrics", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0


class Prometheus:
    """A Prometheus that scrapes one URL each second and keeps its files in its own directory."""

    def __init__(self, directory, url):
        directory.mkdir()
        self.directory = directory
        scraped = urllib.parse.urlsplit(url)
        job = {"job_name": "cccl-cached", "metrics_path": scraped.path, "static_configs": [{"targets": [scraped.netloc]}]}
        # JSON is valid YAML.
        (directory / "configuration").write_text(json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": [job]}))

    def __enter__(self):
        program = pathlib.Path(os.environ["CCCL_CACHED_TEST_PROMTOOL"]).with_name("prometheus")
        log = self.directory / "log"
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [program, "--config.file", self.directory / "configuration", "--storage.tsdb.path", self.directory / "data",
                 "--web.listen-address", "127.0.0.1:0"], stdout=output, stderr=output)
        try:
            [self.address] = wait_for(lambda: re.findall(r'"Listening on" address=(\S+)', log.read_text()), "Prometheus")
            wait_for(lambda: "Server is ready" in log.read_text(), "Prometheus to be ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)

    def _ask(self, kind, **arguments):
        url = f"http://{self.address}/api/v1/{kind}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return json.load(answer)["data"]["result"]

    def values(self, expression, time=None):
        """Returns the numeric values of an expression, now or at a Unix time."""
        when = {} if time is None else {"time": time}
        return [value for each in self._ask("query", query=expression, **when) if math.isfinite(value := float(each["value"][1]))]

    def series(self, expression, begin, end, step):
        """Returns [(labels, {seconds since the beginning: value, or None if it is no number})] for Unix times."""
        return [
            (each["metric"], {time - begin: number if math.isfinite(number := float(value)) else None for time, value in each["values"]})
            for each in self._ask("query_range", query=expression, start=begin, end=end, step=step)]


def panels():
    return json.loads(DASHBOARD.read_text())["panels"]


def filled(expression, rate_interval, span):
    """Returns an expression of the dashboard with values, in seconds, for Grafana's variables."""
    for variable, value in {"$instance": ".*", "$__rate_interval": f"{rate_interval}s", "$__range": f"{round(span)}s"}.items():
        expression = expression.replace(variable, value)
    return expression
