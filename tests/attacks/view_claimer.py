# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""view_claimer.py SOCKET VIEW FILE requests a program that includes FILE. It claims VIEW, in hexadecimal, as its
view of files, and sends all proof of the daemon's rights that it can find. Prints the outcome, or the error code and
the message."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import grpc  # noqa: E402
from stock_requests import listener_of, nvrtc_request, rights_of  # noqa: E402

from cccl_cache.v1 import build_pb2, build_pb2_grpc  # noqa: E402


def claim(socket, view, file):
    request = nvrtc_request(f'#include "{file}"\nextern "C" __global__ void k() {{}}\n')
    request.files_view.ParseFromString(bytes.fromhex(view))
    try:
        stub = build_pb2_grpc.BuildStub(grpc.insecure_channel(f"unix:{socket}"))
        reply = stub.Build(request, timeout=60, metadata=rights_of(listener_of(socket)))
        return build_pb2.Outcome.Name(reply.outcome)
    except grpc.RpcError as error:
        return f"{dict(error.trailing_metadata()).get('cccl-error')}: {error.details()}"


if __name__ == "__main__":
    print(claim(*sys.argv[1:]))
