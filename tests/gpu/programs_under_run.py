# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Runs programs without knowledge of the cache on a GPU under `cccl-cache-cli run`. Checks their numbers and compiles.

Usage: programs_under_run.py [--at-once N] CLI SOCKET [PROGRAM...]

CLI is cccl-cache-cli, and SOCKET that of an unused daemon. Each program starts with empty caches of its package and of the
driver, compiles, and checks its numbers. It runs alone, then in two processes under `run`, one after the other, then in N
processes at once with other kernels. Prints the report of `run` and the time of each. Exit status 1 if a number is wrong, if
the second process compiles, or if two of the processes at once compile the same. CuPy is excepted from the last rule: it
names a program by a random directory, so concurrent processes use idle processors to compile it under several names.
Default: all programs of BY_NAME below, whose packages are needed.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


def cupy(number):
    import cupy
    import numpy

    x = cupy.arange(1000, dtype=cupy.float32)
    for each in range(10):
        kernel = cupy.ElementwiseKernel("float32 x", "float32 z", f"z = x * {number}.5f + {each}", f"k{number}_{each}")
        assert numpy.allclose(kernel(x).get(), numpy.arange(1000, dtype=numpy.float32) * (number + 0.5) + each)
    source = f'template <typename T> __global__ void f(T* p) {{ p[threadIdx.x] += {number}; }}'
    module = cupy.RawModule(code=source, name_expressions=["f<int>", "f<double>"])
    data = cupy.zeros(64, cupy.int32)
    module.get_function("f<int>")((1,), (64,), (data,))
    assert (data == number).all() and float((x + x).sum()) == 999000


def jiterator(number):
    import torch

    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    for each in range(5):
        function = torch.cuda.jiterator._create_jit_fn(f"template <typename T> T f(T x) {{ return x * T({number}) + T({each}); }}")
        assert torch.equal(function(x), x * number + each)


def triton(number):
    import torch
    import triton_kernels  # Triton reads the source of a function from its file

    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    for each in range(3):
        assert torch.equal(triton_kernels.scaled(x, number, each), x * number + each)


def inductor(number):
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda()
    x = torch.randn(32 + number, 64, device="cuda")
    assert torch.allclose(torch.compile(model, dynamic=False)(x), model(x), rtol=1e-2, atol=1e-2)


def jax(number):
    import jax
    import jax.numpy
    import numpy

    x = jax.numpy.arange(64.0).reshape(8, 8)
    found = jax.jit(lambda x: jax.nn.softmax(x @ x.T / (100.0 + number)).sum(axis=0))(x)
    given = numpy.arange(64.0).reshape(8, 8)
    powers = numpy.exp((given @ given.T - (given @ given.T).max(axis=1, keepdims=True)) / (100.0 + number))
    assert numpy.allclose(found, (powers / powers.sum(axis=1, keepdims=True)).sum(axis=0), rtol=1e-3)


def cuda_core(number):
    import numpy
    from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    arch = f"sm_{''.join(map(str, device.compute_capability))}"
    lto = ProgramOptions(arch=arch, relocatable_device_code=True, link_time_optimization=True)
    sources = [f'extern "C" __device__ int inner(int x) {{ return x + {number}; }}',
               'extern "C" __device__ int inner(int); extern "C" __global__ void k(int* p) { *p = inner(*p); }']
    parts = [Program(source, "c++", lto).compile("ltoir") for source in sources]
    linked = Linker(*parts, options=LinkerOptions(arch=arch, link_time_optimization=True)).link("cubin")
    whole = Program(sources[0].replace("extern", "static").replace('"C"', "") +
                    ' extern "C" __global__ void k(int* p) { *p = inner(*p); }', "c++",
                    ProgramOptions(arch=arch)).compile("cubin")
    from cuda.core import LegacyPinnedMemoryResource

    memory = LegacyPinnedMemoryResource().allocate(4)
    value = numpy.from_dlpack(memory).view(numpy.int32)
    stream = device.create_stream()
    for code in (linked, whole):
        value[0] = 1
        launch(stream, LaunchConfig(grid=1, block=1), code.get_kernel("k"), memory)
        stream.sync()
        assert value[0] == 1 + number


def numba(number):
    import numpy
    from numba import cuda

    @cuda.jit(device=True)
    def inner(x):
        return x * number

    @cuda.jit
    def kernel(data):
        data[cuda.grid(1)] = inner(data[cuda.grid(1)])

    data = numpy.arange(64, dtype=numpy.float32)
    array = cuda.to_device(data)
    kernel[1, 64](array)
    assert (array.copy_to_host() == data * number).all()


def cuda_compute(number):
    import cuda.compute
    import cupy
    import numpy

    data = cupy.arange(1000 + number, dtype=cupy.int32)
    result = cupy.zeros(1, cupy.int32)
    cuda.compute.reduce_into(d_in=data, d_out=result, num_items=len(data), op=cuda.compute.OpKind.PLUS, h_init=numpy.zeros(1, numpy.int32))
    assert int(result[0]) == int(data.sum())


def cudnn_attention(number):
    """cuDNN makes its programs with __nvrtcCPEx, as in the next two cases."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    found = []
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.MATH):
        torch.manual_seed(0)
        given = [torch.randn(2, 8, 64 + 64 * number, 64, device="cuda", dtype=torch.float16, requires_grad=True)
                 for _ in range(3)]
        with sdpa_kernel(backend):
            result = torch.nn.functional.scaled_dot_product_attention(*given, is_causal=True)
            result.sum().backward()
        found.append([result, *(each.grad for each in given)])
    for ours, theirs in zip(*found):
        assert torch.allclose(ours, theirs, rtol=1e-2, atol=1e-2)


def cudnn_convolution(number):
    import torch

    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(32, 64, 3, padding=1)
    x = torch.randn(4 + number, 32, 56, 56)
    on_gpu = layer.cuda().half()(x.cuda().half().to(memory_format=torch.channels_last))
    assert torch.allclose(on_gpu.float().cpu(), layer.float().cpu()(x), rtol=1e-2, atol=1e-2)


def cudnn_graph(number):
    import cudnn
    import torch

    torch.manual_seed(0)
    a, b, bias = (torch.randn(*shape, device="cuda", dtype=torch.float16)
                  for shape in ((1, 64 * number, 128), (1, 128, 256), (1, 1, 256)))
    result = torch.empty(1, 64 * number, 256, device="cuda", dtype=torch.float16)
    handle = cudnn.create_handle()
    graph = cudnn.pygraph(handle=handle, io_data_type=cudnn.data_type.HALF,
                          intermediate_data_type=cudnn.data_type.FLOAT, compute_data_type=cudnn.data_type.FLOAT)
    inputs = [graph.tensor_like(each) for each in (a, b, bias)]
    product = graph.matmul(name="product", A=inputs[0], B=inputs[1])
    output = graph.gelu(name="gelu", input=graph.bias(name="bias", input=product, bias=inputs[2]))
    output.set_output(True).set_data_type(cudnn.data_type.HALF)
    graph.build([cudnn.heur_mode.A])
    workspace = torch.empty(graph.get_workspace_size(), device="cuda", dtype=torch.uint8)
    graph.execute({inputs[0]: a, inputs[1]: b, inputs[2]: bias, output: result}, workspace, handle=handle)
    torch.cuda.synchronize()
    assert torch.allclose(result, torch.nn.functional.gelu(a @ b + bias), rtol=2e-2, atol=2e-1)


EXTENSION = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
template <typename T> __global__ void scale(const T* x, T* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(float(x[i]) * a) + T(NUMBER);
}
torch::Tensor run(torch::Tensor x, double a) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), a, n);
  });
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""


def extension(number):
    """PyTorch builds it with ninja, nvcc and the host's linker. Needs root: as in containers, each process has an empty
    directory of the same name, because the paths are part of the object."""
    import torch
    import torch.utils.cpp_extension

    place = pathlib.Path(os.environ["PROGRAMS_PLACE"]) / "extension"
    place.mkdir(exist_ok=True)
    os.unshare(os.CLONE_NEWNS)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    (place / "extension.cu").write_text(EXTENSION.replace("NUMBER", str(number)))
    os.environ["TORCH_CUDA_ARCH_LIST"] = "%d.%d" % torch.cuda.get_device_capability()
    module = torch.utils.cpp_extension.load("scaled", [str(place / "extension.cu")], build_directory=str(place))
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    assert torch.equal(module.run(x, 2.0), x * 2 + number)


BY_NAME = {program.__name__: program
           for program in (cupy, jiterator, triton, inductor, jax, cuda_core, numba, cuda_compute, cudnn_attention,
                           cudnn_convolution, cudnn_graph, extension)}


def measure(name, number):
    began = time.perf_counter()
    BY_NAME[name](number)
    print(f"took {time.perf_counter() - began:.2f}", flush=True)


def start(name, number, behind=(), place=None):
    """Starts a process. The packages' own caches are empty. They lie in `place`, if several processes share them."""
    home = pathlib.Path(os.environ["PROGRAMS_PLACE"])
    if place is None:
        # Inductor's sources contain this path.
        place = home / "kept"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    own = tempfile.mkdtemp(dir=home)
    variables = {"HOME": str(home), "CUDA_CACHE_DISABLE": "1", "CUPY_CACHE_DIR": own, "TRITON_CACHE_DIR": own,
                 "TORCHINDUCTOR_CACHE_DIR": str(place), "USE_PYTORCH_KERNEL_CACHE": "0", "NUMBA_CACHE_DIR": own,
                 "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "CCCL_CACHE": "0"}
    return subprocess.Popen([*behind, sys.executable, __file__, "--measure", name, str(number)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, **variables})


def finish(process):
    """Waits for the program. Returns its time, and the report of `run`, if there is one. Fails if a number is wrong."""
    out, err = process.communicate()
    took = [line for line in out.splitlines() if line.startswith("took ")]
    if process.returncode != 0 or not took:
        raise SystemExit(f"a program ended with {process.returncode}:\n{out[-1000:]}\n{err[-3000:]}")
    report = json.loads(err[err.rindex("\n{\n") if "\n{\n" in err else err.index("{"):]) if "process_count" in err else {}
    return float(took[0].split()[1]), report


def line(name, took, report):
    forwarded = {reason: count for reason, count in report["forwarded"].items() if count}
    print(f"{name:22} {took:6.2f} s; {report['calls']:4} calls in {report['call_us'] / 1e3:9.1f} ms: {report['hits']:3} hits, "
          f"{report['joined']:2} joined, {report['compiled']:3} compiled, {report['failed']} failed, forwarded {forwarded} "
          f"{report['refusal'][:160]} {report['uncacheable_reason'][:160]}", flush=True)


def check(name, behind, at_once):
    """Returns whether all figures are as expected."""
    took, _ = finish(start(name, 1))
    print(f"{name:13} alone    {took:6.2f} s", flush=True)
    reports = []
    for which in ("first", "second"):
        took, report = finish(start(name, 1, behind))
        line(f"{name:13} {which}", took, report)
        reports.append(report)
    shared = pathlib.Path(tempfile.mkdtemp(dir=os.environ["PROGRAMS_PLACE"]))
    together = [finish(each) for each in [start(name, 2, behind, shared) for _ in range(at_once)]]
    took, all_reports = max(took for took, _ in together), [report for _, report in together]
    summed = {key: sum(report[key] for report in all_reports) for key in ("calls", "hits", "joined", "compiled", "failed", "call_us")}
    summed["forwarded"] = {reason: sum(report["forwarded"][reason] for report in all_reports) for reason in reports[0]["forwarded"]}
    line(f"{name:13} {at_once} at once", took, {**summed, "refusal": "", "uncacheable_reason": ""})
    good = reports[0]["calls"] > 0 and reports[1]["compiled"] == 0
    good = good and (summed["compiled"] <= reports[0]["compiled"] or name == "cupy")
    if not good:
        print(f"{name}: FAILED")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("cli", type=pathlib.Path)
    parser.add_argument("socket")
    parser.add_argument("programs", nargs="*", choices=[[], *BY_NAME], metavar="PROGRAM")
    given = parser.parse_args()
    behind = [str(given.cli), "--socket", given.socket, "--json", "run", "--report", "--"]
    with tempfile.TemporaryDirectory() as place:
        os.environ["PROGRAMS_PLACE"] = place
        results = [check(name, behind, given.at_once) for name in given.programs or BY_NAME]
    return 0 if all(results) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
