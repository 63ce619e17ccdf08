# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Turns the plug-in on when a program imports cuda.compute; started by cccl_cache.pth if CCCL_CACHE_COMPUTE says so.

A program that never imports cuda.compute pays one comparison of names per import, and imports nothing of the plug-in.
"""

from __future__ import annotations

import importlib.abc
import logging
import sys
from typing import Any

_TARGET = "cuda.compute"


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the finders behind it do, and has the plug-in installed when that is executed, not when it is found:
    programs look for packages that they do not import."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != _TARGET or self not in sys.meta_path:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            find = getattr(finder, "find_spec", None)  # those of old have none
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None:
                    self._install_after(spec.loader)
                return spec
        return None

    def _install_after(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            try:
                from cccl_cache.compute import install

                install()
            except Exception as error:
                logging.getLogger("cccl_cache.compute").warning("cuda.compute is not cached: %s", error)

        loader.exec_module = exec_module


if _TARGET not in sys.modules:
    sys.meta_path.insert(0, _Finder())
