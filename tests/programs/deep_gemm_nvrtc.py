# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM: the same product, by NVRTC"""

import os

os.environ["DG_JIT_USE_NVRTC"] = "1"

import deep_gemm_product  # noqa: E402  after the variable, which DeepGEMM reads

PACKAGE = "deep_gemm"
REACHES = "NVRTC, linked"


def on_gpu(number=1):
    return deep_gemm_product.on_gpu(number)


if __name__ == "__main__":
    print(on_gpu())
