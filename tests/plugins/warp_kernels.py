# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel of Warp for tests. Tests compile copies of this file with another NUMBER."""

import warp as wp

NUMBER = wp.constant(0)


@wp.kernel
def scale(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.sqrt(a[i]) / float(NUMBER)
