# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A module of TVM-FFI for run.py."""

import os
import pathlib

import torch
import tvm_ffi.cpp

HERE = pathlib.Path(__file__).parent


def run():
    module = tvm_ffi.cpp.load("scale", sources=[str(HERE / "scale.cu")], extra_include_paths=[str(HERE / "headers")],
                              extra_cuda_cflags=os.environ.get("FLAGS", "").split())
    x = torch.ones(128, device="cuda")
    y = torch.zeros_like(x)
    module.scale(x, y)
    torch.cuda.synchronize()
    return y.tolist()
