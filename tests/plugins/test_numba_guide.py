# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The example of docs/guide-numba-cuda.md runs unchanged, except for the launch, which needs a GPU."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from patience import PATIENCE

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide-numba-cuda.md"
# The compile that the launch would do, in place of the launch.
ALONE = """
import numba_device
numba_device.pretend()
from numba import cuda, float32
cuda.to_device = lambda array: numpy.asarray(array).view(type("Data", (numpy.ndarray,), {"copy_to_host": numpy.copy}))
cuda.dispatcher.CUDADispatcher.__getitem__ = lambda kernel, _: lambda _: kernel.compile((float32[::1],))
"""


@pytest.mark.parametrize("by", ["a call", "the environment"])
def test_the_second_process_gets_the_kernel_of_the_first(real, by):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    variables = {}
    if by == "the environment":
        example = example.replace("cccl_cache.numba.install()\n", "")
        variables["CCCL_CACHE_NUMBA"] = "1"

    def run():
        told = subprocess.run([sys.executable, "-c", ALONE + example], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=pathlib.Path(__file__).parent,
                              env={**os.environ, "CCCL_CACHE_SOCKET": str(real.socket), **variables})
        assert told.returncode == 0, told.stderr
        return told.stdout

    first, second = run(), run()
    assert "'compiles': 1" in first and "'hits'" not in first
    assert "'hits': 1" in second and "'compiles'" not in second
