# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""TileLang: the same kernel, by NVRTC"""

import tilelang_nvcc

PACKAGES = ("tilelang",)
REACHES = "NVRTC, by cuda.bindings"


def on_gpu(number=1):
    return tilelang_nvcc.on_gpu(number, backend="nvrtc")


if __name__ == "__main__":
    print(on_gpu())
