# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The deposit of a compiled kernel. Reading a deposit runs none of its contents as Python.

    kernel = length(8, big endian) JSON cubin(to the end)

The JSON has the kernel's properties and its NVVM IR, from which numba compiles for another compute capability. Some
kernels have further inputs. The deposit under the first key of such a kernel is the JSON {"needs": [...]}: it names the
inputs that its second key has in addition.
"""

from __future__ import annotations

import functools
import json
import re
import threading
from typing import Any, Callable, NamedTuple

from cuda.core import ObjectCode
from numba.cuda import codegen, types, typing
from numba.cuda.dispatcher import _Kernel
from numba.cuda.memory_management.nrt import NRT_LIBRARY
from numba.cuda.utils import cached_file_read

from .._numba.link_files import is_cuda_source
from .._plugin.canonical import Refused
from ._key import is_of_numba
from ._values import LIBRARIES
from ._warnings import Warned

HEADERS, LAUNCH = "headers", "launch configuration"
_SIZE = 8
_NOT_IN_BRACKETS = re.compile(rb"include(_next)?\b(?!\s*\(?\s*<)")
_OF_THE_COMPILER = ("py_func", "argtypes", "launch_bounds", "target_context", "fndesc", "environment", "lifted")
_OF_THE_LIBRARY = ("_max_registers", "_nvvm_options", "needs_cudadevrt", "use_cooperative", "_lto")


class Stored(NamedTuple):
    """The contents of a deposit: a kernel, or the names of the further inputs of its second key."""

    properties: dict[str, Any]
    cubin: bytes

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.properties.get("needs", ()))

    @property
    def warned(self) -> list[Warned]:
        return [(str(kind), str(text)) for kind, text in self.properties.get("warned", ())]


class LoadedLibrary(codegen.CUDACodeLibrary):  # type: ignore[misc]
    """The linked code of a stored kernel. The deposit does not have the kernel's linked files, so a new link of such a
    kernel calls `compile_again`."""

    compile_again: Callable[[], Any]
    lock: threading.RLock
    had_files = False

    def get_cubin(self, cc: Any = None) -> Any:
        cc = self._ensure_cc(cc)
        return self._compiled.get_cubin(cc) if self._needs_files(cc) else super().get_cubin(cc)

    def get_cufunc(self) -> Any:
        with self.lock:  # numba loads its results under its compiler lock
            return self._compiled.get_cufunc() if self._needs_files(self._ensure_cc(None)) else super().get_cufunc()

    def get_lto_ptx(self, cc: Any = None) -> Any:
        return self._compiled.get_lto_ptx(cc) if self.had_files else super().get_lto_ptx(cc)

    def _needs_files(self, cc: Any) -> bool:
        return self.had_files and cc not in self._cubin_cache

    @property
    def _compiled(self) -> Any:
        return self.compile_again()._codelibrary


class LoadedKernel(_Kernel):  # type: ignore[misc]
    """A kernel of a deposit. It is compiled only if a program reads a property that the deposit does not hold."""

    compile_again: Callable[[], Any]
    objectmode = False

    @property
    def _type_annotation(self) -> Any:
        return self.compile_again()._type_annotation

    def __getattr__(self, name: str) -> Any:
        """Returns a property that _rebuild leaves out, from a compile."""
        if name not in _OF_THE_COMPILER:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.compile_again(), name)


def needs(kernel: Any) -> tuple[str, ...]:
    """Returns the names of the further inputs in the second key of a compiled kernel."""
    found = []
    if any(is_cuda_source(file) for file in kernel._codelibrary._linking_files):
        found.append(HEADERS)
    if getattr(kernel, "launch_config_sensitive", False):
        found.append(LAUNCH)
    return tuple(found)


def write_needs(names: tuple[str, ...]) -> bytes:
    """Returns a deposit that refers to a second key."""
    return _written({"needs": names}, b"")


def write_kernel(kernel: Any, warned: list[Warned]) -> bytes:
    """Returns the deposit of a kernel and its warnings. Raises Refused for a kernel that only this process can use."""
    library = kernel._codelibrary
    if library.referenced_objects:
        raise Refused("it holds objects of this process")
    if any(not _warns_only(each) for each in (*library._setup_functions, *library._teardown_functions)):
        raise Refused("it has callbacks, which this process alone has")
    if any(_includes_by_place(file) for file in library._linking_files):
        raise Refused("its CUDA C++ has an #include without <>, which may be a file of the working directory")
    [(cc, cubin)] = library._cubin_cache.items()
    files = library._linking_files
    properties = {
        "name": library.name,
        "entry": library._entry_name,
        "cooperative": bool(kernel.cooperative),
        "carveout": kernel.shared_memory_carveout,
        "launch_config_sensitive": bool(kernel.launch_config_sensitive),
        "cc": list(cc),
        "llvm": library.llvm_strs,
        "ptx": library._ptx_cache.get(cc),
        "log": library._linkerinfo_cache.get(cc),
        "nrt": files == {NRT_LIBRARY},
        "linked": bool(files) and files != {NRT_LIBRARY},
        "warned": warned,
        **{name: getattr(library, name) for name in _OF_THE_LIBRARY},
    }
    return _written(properties, bytes(cubin.code))


def read(contents: bytes) -> Stored:
    """Returns the parts of a deposit. Raises ValueError for an invalid deposit."""
    end = _SIZE + int.from_bytes(contents[:_SIZE], "big")
    properties = json.loads(contents[_SIZE:end])
    if not isinstance(properties, dict):
        raise ValueError("a deposit without properties")
    return Stored(properties, contents[end:])


def load_kernel(stored: Stored, argument_types: tuple[Any, ...], compile_again: Callable[[], Any]) -> Any:
    """Returns the kernel of a deposit. `compile_again` compiles it, for properties that the deposit does not hold."""
    compile_again = functools.lru_cache(maxsize=None)(compile_again)
    given = stored.properties
    cc = tuple(given["cc"])
    library = LoadedLibrary(None, given["name"], entry_name=given["entry"])
    library._llvm_strs = given["llvm"]
    library._cubin_cache[cc] = ObjectCode.from_cubin(stored.cubin)
    library._linkerinfo_cache[cc] = given["log"]
    if given["ptx"] is not None:
        library._ptx_cache[cc] = given["ptx"]
    for name in _OF_THE_LIBRARY:
        setattr(library, name, given[name])
    library._finalized = True
    if given["nrt"]:
        library._linking_files = {NRT_LIBRARY}
    library.had_files = given["linked"]
    library.compile_again, library.lock = compile_again, threading.RLock()
    kernel = _Kernel._rebuild(
        cooperative=given["cooperative"],
        name=given["entry"],
        signature=typing.signature(types.none, *argument_types),
        codelibrary=library,
        debug=False,
        lineinfo=False,
        call_helper=None,
        extensions=[],
        shared_memory_carveout=given["carveout"],
        launch_config_sensitive=given["launch_config_sensitive"],
    )
    kernel.__class__ = LoadedKernel  # set only here: LoadedKernel._rebuild would call _Kernel's constructor
    kernel.compile_again = compile_again
    return kernel


def _includes_by_place(file: Any) -> bool:
    if not is_cuda_source(file) or is_of_numba(file):
        return False
    code = cached_file_read(file, how="rb") if isinstance(file, str) else file.data
    return _NOT_IN_BRACKETS.search(code.encode() if isinstance(code, str) else bytes(code)) is not None


def _warns_only(callback: Any) -> bool:
    """Returns whether a callback is numba's own, which only warns if nvJitLink is missing. Such a callback is not needed."""
    return str(getattr(callback, "__module__", "")).partition(".")[0] in LIBRARIES


def _written(properties: dict[str, Any], cubin: bytes) -> bytes:
    text = json.dumps(properties).encode()
    return len(text).to_bytes(_SIZE, "big") + text + cubin
