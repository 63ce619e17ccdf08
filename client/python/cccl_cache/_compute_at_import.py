# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Turns the plug-in on when a program imports cuda.compute; started by cccl_cache.pth if CCCL_CACHE_COMPUTE says so.

A program that never imports cuda.compute pays one comparison of names per import, and imports nothing of the plug-in.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import logging
import sys
from typing import Any

_TARGET = "cuda.compute"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != _TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            _install_after(spec.loader)
        return spec


def _install_after(loader: Any) -> None:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        try:
            from cccl_cache.compute import install

            install()
        except Exception as error:
            logging.getLogger("cccl_cache.compute").warning("cuda.compute is not cached: %s", error)

    loader.exec_module = exec_module


if _TARGET not in sys.modules:
    sys.meta_path.insert(0, _Finder())
