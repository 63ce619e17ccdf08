# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The parts that the plug-ins for numba-cuda and numba-cuda-mlir share."""
