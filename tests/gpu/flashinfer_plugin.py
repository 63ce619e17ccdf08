# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""FlashInfer and TVM-FFI on a GPU with their plug-ins: checks the numbers after builds and after hits.

Usage: flashinfer_plugin.py

Runs programs in turn over the unused daemon at CCCL_CACHE_SOCKET, each with empty workspaces: one without the plug-ins, one
that builds, and one that finds all modules. Each compares the results of kernels with those of PyTorch. Prints a line for
each. Exit status 1 if a number is wrong, or if the last one builds. Needs torch, flashinfer-python, apache-tvm-ffi, ninja,
nvcc, and the package installed with its .pth file.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

SOURCE = """
#include <tvm/ffi/extra/c_env_api.h>
__global__ void scale(const float* x, float* y, int n) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < n) y[at] = 3 * x[at];
}
void triple(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  int n = x.numel();
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  scale<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), n);
}
"""
CASES = {"alone": "0", "first": "1", "again": "1"}  # whether the plug-ins are on


def measure():
    """Builds, launches and compares. Prints what was found."""
    import flashinfer
    import torch
    import tvm_ffi.cpp

    torch.manual_seed(0)
    began = time.perf_counter()
    x, weight = (torch.randn(*shape, dtype=torch.float16, device="cuda") for shape in ((64, 256), (256,)))
    wide = x.float()
    normal = flashinfer.norm.rmsnorm(x, weight, eps=1e-6)
    expected = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6) * weight.float()
    product = flashinfer.silu_and_mul(x)
    gated = torch.nn.functional.silu(wide[:, :128]) * wide[:, 128:]
    module = tvm_ffi.cpp.load_inline("triple", cuda_sources=SOURCE, functions=["triple"])
    flat, found = torch.randn(1000, device="cuda"), torch.empty(1000, device="cuda")
    module.triple(flat, found)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    right = [torch.allclose(normal.float(), expected, atol=3e-2), torch.allclose(product.float(), gated, atol=3e-2),
             torch.allclose(found, 3 * flat)]
    from cccl_cache import flashinfer as of_flashinfer
    from cccl_cache import tvm_ffi as of_tvm_ffi

    statuses = [plugin.status() for plugin in (of_flashinfer, of_tvm_ffi)]
    print(json.dumps({"seconds": seconds, "right": right, "statuses": statuses}))


def main():
    if sys.argv[1:] == ["--measure"]:
        return measure()
    failed = False
    for name, on in CASES.items():
        with tempfile.TemporaryDirectory() as place:
            environment = {**os.environ, "FLASHINFER_WORKSPACE_BASE": place, "TVM_FFI_CACHE_DIR": place,
                           "CCCL_CACHE_FLASHINFER": on, "CCCL_CACHE_TVM_FFI": on}
            told = subprocess.run([sys.executable, __file__, "--measure"], env=environment, stdout=subprocess.PIPE, text=True)
        if told.returncode:
            print(f"{name}: FAILED, exit status {told.returncode}", flush=True)
            failed = True
            continue
        answer = json.loads(told.stdout.splitlines()[-1])
        statuses = answer["statuses"]
        made, hits = (sum(status[count] for status in statuses) for count in ("made", "hits"))
        print(f"{name:6} {answer['seconds']:6.1f} s, {made} made, {hits} hits, numbers right: {answer['right']}", flush=True)
        wrong = not all(answer["right"]) or any(status["on"] != (on == "1") or status["errors"] for status in statuses)
        if wrong or (name == "again" and (made or not hits)):
            failed = True
            print(f"{name}: FAILED: {answer}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
