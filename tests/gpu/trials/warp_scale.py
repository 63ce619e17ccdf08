# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel of Warp for run.py."""

import os
import pathlib
import sys

import warp as wp

FACTOR = 3
factor = wp.constant(float(FACTOR))


@wp.func_native("return x + MORE;", adj_snippet="adj_x += adj_ret;")
def increased(x: float) -> float:
    ...


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = increased(x[i] * factor)


def run():
    wp.config.log_level = wp.LOG_WARNING
    wp.set_module_options({
        "fast_math": os.environ.get("FLAGS") == "fast_math",
        "extra_build_options": wp.ModuleBuildOptions(
            extra_cuda_include_dirs=[str(pathlib.Path(__file__).parent / "headers")], extra_cuda_preamble='#include "more.h"'),
    }, sys.modules[__name__])
    with wp.ScopedDevice("cuda:0"):
        x, y = wp.ones(128, dtype=float), wp.zeros(128, dtype=float)
        wp.launch(scale, dim=128, inputs=[x], outputs=[y])
        return y.numpy().tolist()
