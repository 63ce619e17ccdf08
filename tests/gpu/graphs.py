# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""graphs.py [SOCKET] runs graphs of cccl_cache.graph on this machine's GPU, and checks their numbers.

Needs cccl_cache, cuda-core with cuda-bindings, numba-cuda, NumPy, PyTorch and CuPy. Exit status 1 if anything is wrong.
"""

import gc
import os
import re
import subprocess
import sys
import time

import cccl_cache
import cupy
import numpy as np
import torch
from cccl_cache.graph import (EmptyNode, HostNode, KernelNode, MemcpyDtoHNode, MemcpyHtoDNode, MemcpyNode, MemsetNode,
                              build)
from cuda.core import Device
from numba import cuda

# The two examples of the proposal (numba 4182), except for their import.
ARRAY = """
import numpy as np
from numba import cuda
from cccl_cache.graph import KernelNode

arr = cuda.to_device(np.array([1.]))

@cuda.jit
def k1(a):
    a[0] += 2
    print('k1', a[0])

@cuda.jit
def k2(a):
    a[0] *= 3
    print('k2', a[0])

# define new kernel nodes
n1 = KernelNode(k1, [arr])
n2 = KernelNode(k2, [arr], [n1])

# before the node is builded, the arguments and dependencies can be altered
n3 = KernelNode(k2)
n3.args.append(arr)
n3.deps.append(n2)

# build the graph
g = n3.build()

# short for g.instantiate().launch()
g.launch()

cuda.synchronize()
"""
COPIES = """
import numpy as np
from numba import cuda
from cccl_cache.graph import KernelNode, MemcpyHtoDNode, MemcpyDtoHNode, HostNode

host_arr = np.array([1.])
dev_arr = cuda.device_array_like(host_arr)


def k1(a):
    cuda.atomic.add(a, 0, 2)
    print('this runs on device and a[0] =', a[0], ', grid =', cuda.grid(1))


def h1(a):
    print('this runs on host and a[0] =', a[0])


n0 = MemcpyHtoDNode(dev_arr, host_arr, host_arr.nbytes)
n1 = KernelNode[4, 1](k1, [dev_arr], [n0])
n2 = MemcpyDtoHNode(host_arr, dev_arr, host_arr.nbytes, [n1])
n3 = HostNode(h1, [host_arr], [n2])

g = n3.build()
g.launch()

cuda.synchronize()
"""
SCALE = """
template <typename T>
__global__ void scale(T* values, T factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * factor;
}
extern "C" __global__ void add(int* value, int step) { *value += step; }
"""
KERNELS = 100
checks = []


def check(function):
    checks.append(function)
    return function


def example(text):
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    return told.stdout


def raised(kind, call, word):
    try:
        call()
    except kind as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__} about {word!r}")


def scale(client):
    return client.build(SCALE, arch="native", name_expressions=["scale<float>"])


@cuda.jit
def add_scalar(values, scalar):
    values[0] += scalar


@cuda.jit
def add_elements(to, source):
    for i in range(to.size):
        to[i] += source[i]


@cuda.jit
def add_both(to, pair, flag, big):
    if flag:
        to[0] += pair[0] + pair[1] + big


@check
def both_examples_of_the_proposal(client):
    assert [float(each) for each in re.findall(r"k\d ([\d.]+)", example(ARRAY))] == [3, 9, 27]
    told = example(COPIES)
    assert len(re.findall("runs on device", told)) == 4
    assert float(re.search(r"runs on host and a\[0\] = ([\d.]+)", told).group(1)) == 9


@check
def copies_take_what_memory_holds_at_each_launch(client):
    host, back = np.array([1.0, 2.0]), np.zeros(2)
    device = cuda.device_array(2)
    up = MemcpyHtoDNode(device, host)
    run = KernelNode(add_scalar, [device, 4.0], [up])
    graph = MemcpyDtoHNode(back, device, deps=[run]).build()
    graph.launch()
    cuda.synchronize()
    assert back.tolist() == [5, 2], back
    host[:] = 10, 20
    graph.launch()
    cuda.synchronize()
    assert back.tolist() == [14, 20], back
    run.args[1] = 100.0
    graph.update().launch()
    cuda.synchronize()
    assert back.tolist() == [110, 20], back
    graph.destroy()
    graph.destroy()
    raised(RuntimeError, graph.launch, "destroyed")


@check
def a_graph_keeps_its_arrays(client):
    back = np.zeros(1)
    first, second = cuda.to_device(np.array([3.0])), cupy.array([4.0])
    graph = MemcpyDtoHNode(back, first, deps=[KernelNode(add_elements, [first, second])]).build()
    del first, second
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    other = [cuda.to_device(np.full(1, 77.0)) for _ in range(64)] + [cupy.full(1, 77.0) for _ in range(64)]
    graph.launch()
    cuda.synchronize()
    assert back[0] == 7 and len(other) == 128, back


@check
def arrays_of_all_libraries(client):
    for make in (lambda: cuda.to_device(np.array([1.0])), lambda: cupy.array([1.0]),
                 lambda: torch.tensor([1.0], dtype=torch.float64, device="cuda")):
        to, source, back = make(), make(), np.zeros(1)
        run = KernelNode(add_elements, [to, source])
        graph = MemcpyDtoHNode(back, to, deps=[MemcpyNode(source, to, deps=[run])]).build()
        Device().sync()
        graph.launch()
        graph.launch()
        cuda.synchronize()
        assert back[0] == 4, (type(to), back)
    only_dlpack = OnlyDlpack(torch.tensor([5.0], dtype=torch.float64, device="cuda"))
    to, back = cuda.to_device(np.array([1.0])), np.zeros(1)
    MemcpyDtoHNode(back, to, deps=[KernelNode(add_elements, [to, only_dlpack])]).build().launch()
    cuda.synchronize()
    assert back[0] == 6, back


class OnlyDlpack:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@check
def scalars_tuples_and_pinned_memory(client):
    back = cuda.pinned_array(1)
    to = cupy.array([1.0])
    run = KernelNode(add_both, [to, (np.float32(2), 3), True, np.int64(10)])
    MemcpyDtoHNode(back, to, deps=[run]).build().launch()
    cuda.synchronize()
    assert back[0] == 16, back


@check
def builds_are_kernels(client):
    values = torch.arange(1000, dtype=torch.float32, device="cuda")
    counter = cupy.zeros(1, np.int32)
    result = scale(client)
    program = cccl_cache.Build(SCALE, arch="native", name_expressions=["scale<float>"])
    one = KernelNode[8, 128](result, [values, np.float32(3), np.int32(1000)])
    two = KernelNode[8, 128](program, [values, np.float32(2), np.int32(1000)], [one])
    three = KernelNode(program, [counter, np.int32(5)], [one], name="add")
    four = KernelNode(result.to_object_code().get_kernel("add"), [counter, np.int32(7)], [three])
    graph = build(two, four, client=client)
    Device().sync()
    graph.launch(torch.cuda.Stream())
    Device().sync()
    assert torch.equal(values, torch.arange(1000, dtype=torch.float32, device="cuda") * 6)
    assert int(counter[0]) == 12, counter
    raised(TypeError, KernelNode[8, 128](result, [values, 3.0, np.int32(1)]).build, "argument 1 is 8 bytes")
    raised(TypeError, KernelNode(result, [values]).build, "takes 3 arguments")


@check
def a_diamond_with_a_memset_and_a_join(client):
    left, right, back = cupy.full(1, 9.0), torch.full((1,), 9.0, dtype=torch.float64, device="cuda"), np.zeros(1)
    start = EmptyNode()
    zeros = [MemsetNode(left, deps=[start]), MemsetNode(right, 8, 0, [start], params={"elemSize": 4})]
    sides = [KernelNode(add_scalar, [left, 2.0], [zeros[0]]), KernelNode(add_scalar, [right, 3.0], [zeros[1]])]
    joined = EmptyNode(sides)
    graph = MemcpyDtoHNode(back, left, deps=[KernelNode(add_elements, [left, right], [joined])]).build()
    Device().sync()
    for _ in range(2):
        graph.launch()
        cuda.synchronize()
        assert back[0] == 5, back


@check
def a_host_function_that_raises_is_reported_at_the_next_launch(client):
    graph = HostNode(lambda: 1 / 0).build()
    graph.launch()
    cuda.synchronize()
    raised(RuntimeError, graph.launch, "ZeroDivisionError")


@check
def errors_name_the_cause(client):
    array = cuda.to_device(np.zeros(4))
    one, two = KernelNode(add_scalar, [array, 1.0]), KernelNode(add_scalar, [array, 1.0])
    one.deps.append(two)
    two.deps.append(one)
    raised(ValueError, one.build, "circle")
    raised(TypeError, KernelNode(add_scalar, [np.zeros(1), 1.0]).build, "on the host")
    raised(TypeError, KernelNode(add_scalar, [torch.zeros(1), 1.0]).build, "on the host")
    raised(ValueError, KernelNode(synchronizing, [array]).build, "cooperative")
    raised(ValueError, KernelNode(cuda.jit(debug=True, opt=False)(add_scalar.py_func), [array, 1.0]).build, "debug")
    raised(ValueError, MemcpyNode(array, cuda.to_device(np.zeros(2))).build, "size")
    raised(ValueError, MemcpyNode(array, array[::2], 8).build, "contiguous")


@cuda.jit
def synchronizing(values):
    cuda.cg.this_grid().sync()
    values[0] = 1


@check
def a_batch_of_kernels_against_one_after_the_other(client):
    seconds = {}
    for way in ("one by one", "in one batch", "in one batch, again"):
        counter, back = cupy.zeros(1, np.int32), np.zeros(1, np.int32)
        programs = [cccl_cache.Build(f'extern "C" __global__ void add(int* to) {{ atomicAdd(to, {i}); }} '
                                     f"// {os.getpid()} {way.partition(',')[0]}", arch="native") for i in range(KERNELS)]
        started = time.perf_counter()
        kernels = [client.run(each) for each in programs] if way == "one by one" else programs
        nodes = [KernelNode(each, [counter], name="add") for each in kernels]
        graph = MemcpyDtoHNode(back, counter, deps=nodes).build(client=client)
        seconds[way] = time.perf_counter() - started
        Device().sync()
        graph.launch()
        cuda.synchronize()
        assert back[0] == sum(range(KERNELS)), back
    print(f"{KERNELS} kernels: " + ", ".join(f"{way} {took * 1e3:.0f} ms" for way, took in seconds.items()), flush=True)
    started = time.perf_counter()
    for _ in range(100):
        graph.launch()
    cuda.synchronize()
    print(f"a launch of its graph: {(time.perf_counter() - started) * 1e4:.0f} us", flush=True)


def main():
    client = cccl_cache.Client(*sys.argv[1:2])
    Device().set_current()
    failed = 0
    for each in checks:
        started = time.perf_counter()
        try:
            each(client)
            told = "right"
        except Exception as error:
            failed += 1
            told = f"WRONG: {error!r}"
            sys.excepthook(*sys.exc_info())
        print(f"{each.__name__.replace('_', ' ')}: {told} ({time.perf_counter() - started:.2f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
