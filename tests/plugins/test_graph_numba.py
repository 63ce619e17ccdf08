# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of numba-cuda as nodes of a graph: compiled as they are, launched by a driver that does nothing."""

import os
import pathlib
import re
import subprocess
import sys

import _numba_cuda_redirector  # noqa: F401  numba-cuda's numba.cuda: a .pth file does so where it is installed
import graph_driver
import numpy as np
import pytest
from graph_driver import DeviceArray
from numba import cuda
from patience import PATIENCE

from cccl_cache.graph import HostNode, KernelNode, MemcpyDtoHNode, MemcpyHtoDNode

GUIDE = pathlib.Path(__file__).parents[2] / "docs/guide-graphs.md"


@cuda.jit
def k1(a):
    a[0] += 2


def plain(a, pair, flag):
    if flag:
        a[0] += pair[0] + pair[1]


@cuda.jit
def whole_grid(a):
    cuda.cg.this_grid().sync()
    a[0] = 1


def launched(node):
    before = len(graph_driver.calls())
    node.build().launch()
    return [call for call in graph_driver.calls()[before:] if call.startswith("add ")]


def test_kernels_and_plain_functions_are_compiled_for_their_arguments():
    host, device = np.zeros(1), DeviceArray(1)
    n0 = MemcpyHtoDNode(device, host, host.nbytes)
    n1 = KernelNode[4, 32](k1, [device], [n0])
    n2 = KernelNode(plain, [device, (np.float32(1), 2), True], [n1], params={"gridDim": (2, 2), "sharedMem": 16})
    n3 = MemcpyDtoHNode(host, device, host.nbytes, [n2])
    told = launched(HostNode(print, [host], [n3]))
    assert len(told) == 5
    assert "k1" in told[1] and told[1].endswith("grid 4x1x1 block 32x1x1 shared 0")
    assert "plain" in told[2] and told[2].endswith("grid 2x2x1 block 1x1x1 shared 16")


def test_a_function_is_compiled_once_for_equal_types():
    launched(KernelNode(plain, [DeviceArray(1), (1, 2), True]))
    found = [call for call in graph_driver.calls() if call.startswith("find ") and "plain" in call]
    launched(KernelNode(plain, [DeviceArray(3), (5, 6), False]))
    assert [call for call in graph_driver.calls() if call.startswith("find ") and "plain" in call] == found


@pytest.mark.parametrize("kernel, args, error, word", [
    (k1, [np.zeros(1)], TypeError, "argument 0 is a ndarray on the host"),
    (k1, [np.zeros(1, [("x", "f4")])[0]], TypeError, "argument 0 is a void on the host"),
    (k1, [cuda.InOut(np.zeros(1))], TypeError, "argument 0 is a ndarray on the host"),
    (plain, [DeviceArray(1), (np.zeros(1), 1), True], TypeError, "argument 1 is a ndarray on the host"),
    (whole_grid, [DeviceArray(1)], ValueError, "cooperative"),
    (cuda.jit(debug=True, opt=False)(plain), [DeviceArray(1), (1, 2), True], ValueError, "debug=True"),
])
def test_what_a_graph_can_not_launch_is_refused_with_the_reason(kernel, args, error, word):
    with pytest.raises(error, match=word):
        KernelNode(kernel, args).build()


def test_the_program_of_the_guide_runs():
    [text] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    told = subprocess.run([sys.executable, "-c", "import _numba_cuda_redirector\n" + text], capture_output=True, text=True,
                          timeout=PATIENCE, env={**os.environ, "LD_LIBRARY_PATH": os.environ["CCCL_CACHED_TEST_FAKE_DRIVER"]})
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines() == ["the host sees 1.0"] * 2  # of kernels that do nothing
