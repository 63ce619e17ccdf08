# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A module that FlashInfer builds, for run.py."""

import os
import pathlib

import torch
from flashinfer.jit import core

HERE = pathlib.Path(__file__).parent


def run():
    module = core.gen_jit_spec("scale", [HERE / "scale.cu"], extra_include_paths=[HERE / "headers"],
                               extra_cuda_cflags=os.environ.get("FLAGS", "").split()).build_and_load()
    x = torch.ones(128, device="cuda")
    y = torch.zeros_like(x)
    module.scale(x, y)
    torch.cuda.synchronize()
    return y.tolist()
