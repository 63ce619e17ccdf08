# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A run of the host's C++ compiler by Inductor as a step. On a CPU, an entry of a graph has the sources only."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from typing import Any, Iterable

from .._plugin.canonical import Refused
from .._plugin.file_digests import contents_digest
from ._key import host_compiler, interpreter, processor

_INCLUDED = re.compile(rb'#\s*include\s*[<"]([^>"\n]+/[^>"\n]+)')
_PRECOMPILED = {b"torch/csrc/inductor/cpp_prefix.h"}


def fields_of(builder: Any) -> dict[str, Any]:
    """Returns the fields of a run. Raises Refused for a run whose headers are not known.

    torch names a precompiled header by the digest of the preprocessed header. It thus stands for the headers of torch, of
    the C++ library and of the system. Templates of torch include further headers of torch.
    """
    header = builder._build_option.precompiled_header
    sources = builder._sources_args.split()
    if header is None or not all(os.path.isfile(path) for path in sources):
        raise Refused("C++ without a precompiled header")
    command = builder.get_command_line()
    for path, name in ((builder.get_target_file_path(), "TARGET"), (header, os.path.basename(header)),
                       *((path, f"SOURCE{number}") for number, path in enumerate(sources))):
        command = command.replace(path, name)
    texts = tuple(_bytes(path) for path in sources)
    return {
        "kind": "library",
        "command": command,
        "sources": texts,
        "headers": _headers_of_torch() if _includes_more(texts) else "",
        "compiler": host_compiler(builder._compiler),
        "processor": processor(),
        "python": (interpreter(), _headers_of_python()),
    }


def read(builder: Any) -> bytes:
    """Returns the file that the compiler has written."""
    return _bytes(builder.get_target_file_path())


def write(builder: Any, value: bytes) -> None:
    """Puts a found file where the compiler would have written it, for torch's other processes at once."""
    path = builder.get_target_file_path()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(value)
        os.chmod(temporary, 0o755)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _includes_more(texts: Iterable[bytes]) -> bool:
    return any(not _PRECOMPILED.issuperset(_INCLUDED.findall(text)) for text in texts)


def _headers_of_torch() -> str:
    import torch

    return contents_digest(os.path.join(os.path.dirname(torch.__file__), "include"))


def _headers_of_python() -> str:
    import sysconfig

    return contents_digest(sysconfig.get_path("include"))
