# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Digests of the code that is linked into a kernel: paths and LinkableCode of numba-cuda and of numba-cuda-mlir."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Callable, Iterable

from .._plugin.canonical import Refused, digest


def describe_link_files(files: Iterable[Any], read: Callable[..., Any]) -> list[str]:
    """Returns the digests of paths and LinkableCode objects, in their order. Raises Refused for an object with callbacks.

    `read` is the compiler's own `cached_file_read`: the compiler links the contents that a file had at its first read.
    """
    return [digest(_describe(file, read)) for file in files]


def is_cuda_source(file: Any) -> bool:
    """Returns whether NVRTC compiles a file, so that its headers are inputs."""
    return file.endswith(".cu") if isinstance(file, str) else getattr(file, "kind", None) == "cu"


def _describe(file: Any, read: Callable[..., Any]) -> tuple[Any, ...]:
    if isinstance(file, (str, os.PathLike)):
        path = os.fspath(file)
        try:
            contents = hashlib.sha256(read(path, how="rb")).hexdigest()
        except OSError as error:
            raise Refused(f"{path} can't be read: {error.strerror}") from None
        return ("file", os.path.basename(path), contents)
    if not all(hasattr(file, name) for name in ("setup_callback", "teardown_callback", "data")):
        raise Refused(f"a linked {type(file).__name__} is neither a path nor a LinkableCode")
    if file.setup_callback or file.teardown_callback:
        raise Refused(f"{file.name} has callbacks, which this process alone has")
    data = file.data
    contents = hashlib.sha256(data.encode() if isinstance(data, str) else bytes(data)).hexdigest()
    return ("code", type(file).__name__, file.name, bool(file.nrt), contents)
