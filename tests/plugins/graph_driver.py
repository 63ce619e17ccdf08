# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fake driver (tests/support/fake_driver) as this process' libcuda.so.1, which runs graphs on memory of the process.

Import it before anything that uses CUDA.
"""

import ctypes
import os

import numpy

_driver = ctypes.CDLL(os.path.join(os.environ["CCCL_CACHED_TEST_FAKE_DRIVER"], "libcuda.so.1"))
_driver.fake_driver_calls.restype = ctypes.c_char_p


def calls():
    """Returns the calls that the driver has recorded."""
    return _driver.fake_driver_calls().decode().splitlines()


class DeviceArray:
    """An array of NumPy as an array on the device."""

    def __init__(self, *values, dtype=numpy.float64):
        self.array = numpy.array(values, dtype)

    @property
    def __cuda_array_interface__(self):
        return self.array.__array_interface__

    def tolist(self):
        return self.array.tolist()
