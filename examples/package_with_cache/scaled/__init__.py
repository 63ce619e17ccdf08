# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Scales numbers on a GPU."""

import pathlib

import cccl_cache

SNAPSHOT = "kernels.snap"
_HERE = pathlib.Path(__file__).parent
_SOURCE = (_HERE / "scale.cu").read_text()

cccl_cache.warm(_HERE / SNAPSHOT)


def build(arch: str = "native") -> cccl_cache.Result:
    """Returns the kernel for an architecture. Compiles nothing if the snapshot has it."""
    return cccl_cache.Client().build(
        _SOURCE, arch=arch, name="scale.cu", options=["--std=c++17"],
        name_expressions=["scale<float>", "scale<double>"])
