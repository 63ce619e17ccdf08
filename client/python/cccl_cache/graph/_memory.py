# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The address, size and side (host or device) of the memory that a node copies or fills, for arrays of any library."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy
from cuda.core import Buffer
from cuda.core.utils import StridedMemoryView

_DEVICES = (2, 3, 13)  # of DLPack: memory of a CUDA device, pinned and managed memory


class Memory(NamedTuple):
    """A contiguous range of memory."""

    address: int
    size: Optional[int]  # in bytes; None if only the address is known
    on_host: Optional[bool]  # None if unknown, or if host and device can access it


def locate(given: Any) -> Memory:
    """Finds the memory of an array, a buffer or an address.

    Raises
    ------
    TypeError
        The object has no memory.
    ValueError
        The memory is not contiguous.
    """
    if isinstance(given, int):
        return Memory(given, None, None)
    if isinstance(given, Buffer):
        both = given.is_device_accessible and given.is_host_accessible
        return Memory(int(given.handle), given.size, None if both else not given.is_device_accessible)
    # This check comes before that of the CUDA array interface, which mapped memory of the host has too.
    if isinstance(given, numpy.ndarray):
        return _of_host_array(given, given)
    if hasattr(given, "__cuda_array_interface__"):
        return _of_interface(given)
    if hasattr(given, "__dlpack__"):
        return _of_view(given, StridedMemoryView.from_dlpack(given, stream_ptr=-1))
    try:
        contents = numpy.frombuffer(given, numpy.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"a {type(given).__name__} is neither an array, a buffer nor an address ({error})") from None
    return _of_host_array(given, contents)


def require_writable(given: Any) -> None:
    """Raises ValueError for a read-only array or buffer of the host."""
    if isinstance(given, numpy.ndarray):
        writable = bool(given.flags.writeable)
    else:
        try:
            writable = not memoryview(given).readonly
        except TypeError:  # not on the host, or of a library that has no such information
            return
    if not writable:
        raise ValueError(f"a copy would write to a {type(given).__name__} that is read-only")


def require_device(argument: Any, place: int) -> None:
    """Raises TypeError if a kernel's argument, or an element of a tuple, is memory of the host."""
    for part in argument if isinstance(argument, tuple) else ():
        require_device(part, place)
    if hasattr(argument, "__cuda_array_interface__"):
        return
    device = getattr(argument, "__dlpack_device__", None)
    if isinstance(argument, (numpy.ndarray, numpy.void)) or (device is not None and device()[0] not in _DEVICES):
        raise TypeError(f"argument {place} is a {type(argument).__name__} on the host. A graph's kernel takes arrays on the "
                        "device: copy it by a MemcpyHtoDNode before the kernel and by a MemcpyDtoHNode after it")


def _of_host_array(given: Any, array: Any) -> Memory:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise _not_contiguous(given)
    return Memory(int(array.ctypes.data), int(array.nbytes), True)


def _of_interface(given: Any) -> Memory:
    interface = given.__cuda_array_interface__
    size = numpy.dtype(interface["typestr"]).itemsize
    strides = interface.get("strides")
    if strides is not None and not _contiguous(interface["shape"], [stride // size for stride in strides]):
        raise _not_contiguous(given)
    return Memory(int(interface["data"][0]), _elements(interface["shape"]) * size, False)


def _of_view(given: Any, view: Any) -> Memory:
    if view.strides is not None and not _contiguous(view.shape, view.strides):
        raise _not_contiguous(given)
    return Memory(int(view.ptr), _elements(view.shape) * int(view.dtype.itemsize), not view.is_device_accessible)


def _elements(shape: Any) -> int:
    return int(numpy.prod(shape, dtype=numpy.int64))


def _contiguous(shape: Any, strides: Any) -> bool:
    """Returns whether an array is contiguous in the order of C or of Fortran. Strides are in elements."""
    dimensions = [(int(extent), int(stride)) for extent, stride in zip(shape, strides) if extent != 1]
    return _elements(shape) == 0 or _dense(dimensions) or _dense(dimensions[::-1])


def _dense(dimensions: list[tuple[int, int]]) -> bool:
    expected = 1
    for extent, stride in reversed(dimensions):
        if stride != expected:
            return False
        expected *= extent
    return True


def _not_contiguous(given: Any) -> ValueError:
    return ValueError(f"a node copies or fills contiguous memory, and this {type(given).__name__} has gaps or another order "
                      "of elements: make a contiguous copy first")
