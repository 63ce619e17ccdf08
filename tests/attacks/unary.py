# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Unary builds by another user, all at once.

unary.py SOCKET UID reads a JSON list of [source, options], and prints a JSON list with the end of each build: an outcome,
or `cccl-error` and the message.
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys

from bystander import become


class UnaryBuilds:
    """Runs the builds during the block."""

    def __init__(self, daemon, user, builds):
        self.process = subprocess.Popen(
            [sys.executable, __file__, daemon.socket, str(user)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(builds))
        self.process.stdin.close()

    def results(self):
        results = json.loads(self.process.stdout.read())
        assert self.process.wait() == 0
        return results

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def run(socket, user):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
    import grpc
    from stock_requests import nvrtc_request

    from cccl_cache.v1 import build_pb2, build_pb2_grpc

    builds = json.load(sys.stdin)
    pool = concurrent.futures.ThreadPoolExecutor(len(builds))
    become(user)
    build = build_pb2_grpc.BuildStub(grpc.insecure_channel(f"unix:{socket}")).Build

    def one(arguments):
        source, options = arguments
        try:
            return build_pb2.Outcome.Name(build(nvrtc_request(source, *options)).outcome)
        except grpc.RpcError as error:
            return f"{dict(error.trailing_metadata()).get('cccl-error')}: {error.details()}"

    print(json.dumps(list(pool.map(one, builds))))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
