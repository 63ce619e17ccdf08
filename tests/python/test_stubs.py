# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Modules generated from the .proto files, beside the package with the same name."""

import os
import subprocess
import sys

import cccl_cache
import pytest
from patience import PATIENCE
from places import PLACES

PROGRAM = """
import cccl_cache
from cccl_cache.v1 import build_pb2, build_pb2_grpc

assert cccl_cache.Client, "the package itself"
request = build_pb2.BuildRequest(working_directory="/w")
print(build_pb2.BuildRequest.FromString(request.SerializeToString()).working_directory, build_pb2_grpc.BuildStub.__name__)
"""


@pytest.mark.parametrize("first", [True, False], ids=["before the package", "after it"])
def test_generated_modules_are_imported_beside_the_package(first):
    path = [PLACES.stubs, os.path.dirname(os.path.dirname(cccl_cache.__file__))]
    place = f"import sys; sys.path[:0] = {path if first else path[::-1]!r}\n"
    done = subprocess.run([sys.executable, "-c", place + PROGRAM], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "/w BuildStub\n"), done.stderr
