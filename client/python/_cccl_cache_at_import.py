# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Turns a plug-in on when a program imports the package that the plug-in serves. cccl_cache.pth imports this module if the
environment has a variable of the plug-ins.

``CCCL_CACHE=1`` turns all plug-ins on, ``CCCL_CACHE_COMPUTE=1`` that of cuda.compute. With ``CCCL_CACHE_COMPUTE=0`` too,
all others are on. "off", "no" and "false" mean 0; any other value means 1. The module lies beside the package, so that a
program that imports no served package does not load the client library. Such a program pays one comparison of names per
import.
"""

from __future__ import annotations

import importlib
import importlib.abc
import logging
import os
import sys
from typing import Any

_PLUGINS = {
    "cuda.compute": ("CCCL_CACHE_COMPUTE", "cccl_cache.compute"),
    "triton": ("CCCL_CACHE_TRITON", "cccl_cache.triton"),
    "numba.cuda": ("CCCL_CACHE_NUMBA", "cccl_cache.numba"),
    "numba_cuda_mlir.cuda": ("CCCL_CACHE_NUMBA_MLIR", "cccl_cache.numba_mlir"),
    "cupy": ("CCCL_CACHE_CUPY", "cccl_cache.cupy"),
    "cutlass": ("CCCL_CACHE_CUTE", "cccl_cache.cute"),
    "flashinfer.jit.core": ("CCCL_CACHE_FLASHINFER", "cccl_cache.flashinfer"),
    "jax": ("CCCL_CACHE_JAX", "cccl_cache.jax"),
    "tilelang": ("CCCL_CACHE_TILELANG", "cccl_cache.tilelang"),
    "torch._inductor.compile_fx": ("CCCL_CACHE_TORCH", "cccl_cache.torch"),
    "tvm_ffi.cpp.extension": ("CCCL_CACHE_TVM_FFI", "cccl_cache.tvm_ffi"),
    "warp": ("CCCL_CACHE_WARP", "cccl_cache.warp"),
}
_OFF = ("", "0", "false", "no", "off")  # as in cccl_cache/_plugin/switch.py


def _asked_for(variable: str) -> bool:
    value = os.environ.get(variable, os.environ.get("CCCL_CACHE", "0"))
    return value.lower() not in _OFF


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules through the later finders of sys.meta_path, and installs the plug-in of a module when the module is
    executed. A found module is not enough, because programs look for packages that they do not import."""

    def __init__(self, plugins: dict[str, str]):
        self._plugins = plugins

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self._plugins or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            find = getattr(finder, "find_spec", None)  # old finders have none
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None:
                    self._install_after(name, spec.loader)
                return spec
        return None

    def _install_after(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            plugin = self._plugins.pop(name, None)
            if not self._plugins and self in sys.meta_path:
                sys.meta_path.remove(self)
            if plugin is None:
                return
            try:
                importlib.import_module(plugin).install()
            except Exception as error:
                logging.getLogger(plugin).warning("%s is not cached: %s", name, error)

        loader.exec_module = exec_module


_wanted = {
    name: plugin for name, (variable, plugin) in _PLUGINS.items() if _asked_for(variable) and name not in sys.modules
}
if _wanted:
    sys.meta_path.insert(0, _Finder(_wanted))
