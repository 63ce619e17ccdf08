# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-ins for numba-cuda and numba-cuda-mlir share."""
