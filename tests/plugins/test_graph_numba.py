# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of numba-cuda as nodes of a graph: really compiled, and launched by a driver that does nothing."""

import os
import pathlib
import re
import subprocess
import sys
import threading

import _numba_cuda_redirector  # noqa: F401  numba-cuda's numba.cuda: a .pth file does so where it is installed
import graph_driver
import numpy as np
import pytest
from graph_driver import DeviceArray
from numba import cuda
from numba.cuda.core.compiler_lock import _numba_cuda_compiler_lock
from patience import PATIENCE

import cccl_cache
import cccl_cache.numba
from cccl_cache.graph import HostNode, KernelNode, MemcpyDtoHNode, MemcpyHtoDNode, build
from cccl_cache.numba._together import compile_together, others_compile

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
def test_a_kernel_that_a_graph_can_not_launch_is_refused_with_the_reason(kernel, args, error, word):
    with pytest.raises(error, match=word):
        KernelNode(kernel, args).build()


class Meeting:
    """A client whose builds wait until there are two of them."""

    def __init__(self, daemon):
        self.client, self.barrier = cccl_cache.Client(daemon.socket, fallback="error"), threading.Barrier(2)

    def __getattr__(self, name):
        return getattr(self.client, name)

    def run(self, program):
        self.barrier.wait(PATIENCE)
        return self.client.run(program)


@pytest.fixture
def plugin():
    """Turns the plug-in for numba on with a client. Returns its counts."""
    before = {}

    def install(client):
        assert cccl_cache.numba.install(client=lambda: client)
        before.update(cccl_cache.numba.status())
        return lambda name: cccl_cache.numba.status()[name] - before[name]

    yield install
    cccl_cache.numba.uninstall()


def kernel(text, **scope):
    exec(f"def kernel(a): a[0] = {text}", scope)
    return scope["kernel"]


def test_numba_compiles_one_kernel_of_a_graph_while_the_daemon_works_for_another(lasting, plugin):
    counted = plugin(Meeting(lasting))
    before = len(graph_driver.calls())
    build(*(KernelNode(kernel(text), [DeviceArray(1)]) for text in ("a[1]", "a[2]"))).launch()
    added = [call for call in graph_driver.calls()[before:] if call.startswith("add ")]
    assert len(added) == 2 and counted("stages_served") == 4 and counted("stages_compiled") == 0


def test_a_kernel_that_two_nodes_launch_is_compiled_once(lasting, plugin):
    counted = plugin(cccl_cache.Client(lasting.socket, fallback="error"))
    same = kernel("a[3]")
    build(*(KernelNode(each, [DeviceArray(1)]) for each in (same, kernel("a[5]"), same)))
    assert counted("stages_served") == 4


def test_kernels_of_a_graph_with_cache_true_are_loaded(lasting, plugin):
    counted = plugin(cccl_cache.Client(lasting.socket, fallback="error"))
    for outcome in ("published", "hits"):
        kernels = [cuda.jit(cache=True)(kernel(text)) for text in ("a[6]", "a[7]", "a[8]")]
        build(*(KernelNode(each, [DeviceArray(1)]) for each in kernels))
        assert counted(outcome) == 3
    assert counted("stages_served") == 6


def test_the_error_of_a_kernel_of_a_graph_reaches_the_program(lasting, plugin):
    counted = plugin(cccl_cache.Client(lasting.socket, fallback="error"))
    with pytest.raises(cuda.core.errors.TypingError, match="nowhere"):
        build(KernelNode(kernel("a.nowhere"), [DeviceArray(1)]), KernelNode(kernel("a[4]"), [DeviceArray(1)]))
    assert counted("stages_compiled") == 0


def keeps_the_lock():
    """Returns whether this thread holds numba's lock while it waits for the daemon."""
    with others_compile():
        return _numba_cuda_compiler_lock._lock._is_owned()


class Compiled:
    """A dispatcher that records which thread has numba's lock."""

    _cache, overloads = None, ()

    def compile(self, types):
        with _numba_cuda_compiler_lock, _numba_cuda_compiler_lock:
            return keeps_the_lock(), _numba_cuda_compiler_lock._lock._is_owned()


def test_only_threads_that_compile_a_graph_release_numbas_lock_while_they_wait():
    one, other = Compiled(), Compiled()
    assert compile_together([(one, ()), (other, ())]) == [(False, True)] * 2
    assert one.compile(()) == (True, True)


def test_a_thread_that_has_numbas_lock_compiles_the_kernels_of_a_graph_itself():
    with _numba_cuda_compiler_lock:
        assert compile_together([(Compiled(), ()), (Compiled(), ())]) == [(True, True)] * 2


class Twice:
    """Generates code under a lease. Another kernel of the graph may wait for that lease while it holds numba's lock."""

    def __numba_cuda_signature__(self, kind):
        return "twice", kind(kind)

    def __numba_cuda_link__(self, kind):
        self.kept = keeps_the_lock()
        return b'extern "C" __device__ double twice(double one) { return 2 * one; }'

    def __numba_cuda_link_key__(self):
        return b"twice"


def test_an_object_that_generates_code_keeps_numbas_lock(lasting, plugin):
    plugin(cccl_cache.Client(lasting.socket, fallback="error"))
    twice = Twice()
    build(*(KernelNode(kernel(text, twice=twice), [DeviceArray(1)]) for text in ("twice(a[0])", "twice(a[1])")))
    assert twice.kept


def test_the_program_of_the_guide_runs():
    [text] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    told = subprocess.run([sys.executable, "-c", "import _numba_cuda_redirector\n" + text], capture_output=True, text=True,
                          timeout=PATIENCE, env={**os.environ, "LD_LIBRARY_PATH": os.environ["CCCL_CACHED_TEST_FAKE_DRIVER"]})
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines() == ["the host sees 1.0"] * 2  # of kernels that do nothing
