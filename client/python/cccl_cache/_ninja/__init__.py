# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Builds of one shared library by ninja, as steps: for frameworks that compile their own C++ and CUDA sources."""
