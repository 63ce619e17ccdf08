# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A run of the host's C++ compiler by Inductor as a step. On a CPU, an entry of a graph has the sources only."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shlex
import subprocess
import tempfile
import threading
from typing import Any, Callable, Iterable, Optional

from .._plugin.canonical import Refused
from .._plugin.file_digests import contents_digest
from ._key import host_compiler, interpreter, processor

_INCLUDED = re.compile(rb'#\s*include\s*[<"]([^>"\n]+/[^>"\n]+)')
_PRECOMPILED = {b"torch/csrc/inductor/cpp_prefix.h"}


class PostponedHeaders:
    """The precompiled headers that torch has asked for. Thread-safe.

    torch makes a header before it looks for the library. Here it is made before the first library that must be compiled with
    it, for it takes longer than all else of a found graph.
    """

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[], str]] = {}
        self._postponed: set[str] = set()
        self._here = threading.local()  # `postpones`: whether this thread asks for a header

    def postpone(self, original: Callable[..., str]) -> Callable[..., str]:
        """Returns `_precompile_header`, which names a header by its preprocessed text and makes it, without the latter."""
        uncached = getattr(original, "__wrapped__", original)

        @functools.wraps(original)
        def _precompile_header(*given: Any, **named: Any) -> str:
            self._here.postpones = True
            try:
                header = original(*given, **named)
            finally:
                self._here.postpones = False
            self._makers[header] = functools.partial(uncached, *given, **named)
            return header

        return _precompile_header

    def skip(self, original: Callable[..., None]) -> Callable[..., None]:
        """Returns `_worker_compile_cpp`, which locks a file and runs compilers, but not for a header that is postponed."""

        @functools.wraps(original)
        def _worker_compile_cpp(lock_path: str, cpp_builders: Any) -> None:
            if getattr(self._here, "postpones", False):
                self._postponed.update(os.path.splitext(builder.get_target_file_path())[0] for builder in cpp_builders)
            else:
                original(lock_path, cpp_builders)

        return _worker_compile_cpp

    def make(self, header: Optional[str]) -> bool:
        """Makes a header if it was postponed. Returns False if it would be another one now, since its files have changed: a
        library that is compiled with it is not the one that the header's name stands for."""
        if header is None or header not in self._postponed:
            return True
        if self._makers[header]() != header:
            return False
        self._postponed.discard(header)  # not before, so that other threads wait for the lock
        return True


def fields_of(builder: Any) -> dict[str, Any]:
    """Returns the fields of a run. Raises Refused for a run whose headers are not known.

    torch names a precompiled header by the digest of the preprocessed header. It thus stands for the headers of torch, of
    the C++ library and of the system. Templates of torch include further headers of torch. Without a precompiled header, the
    source is preprocessed in the same way.
    """
    header, command = builder._build_option.precompiled_header, builder.get_command_line()
    sources = builder._sources_args.split()
    if not all(os.path.isfile(path) for path in sources):
        raise Refused("C++ with other words among its sources")
    compiler = host_compiler(builder._compiler)
    texts = tuple(_bytes(path) for path in sources)
    if header is None:
        headers = _preprocessed(command, builder, sources)
    else:
        headers = _headers_of_torch() if _includes_more(texts) else ""
    names = {builder.get_target_file_path(): "TARGET", **{path: f"SOURCE{number}" for number, path in enumerate(sources)}}
    if header is not None:
        names[header] = os.path.basename(header)
    for path, name in names.items():
        command = command.replace(path, name)
    return {
        "kind": "library",
        "command": command,
        "sources": texts,
        "headers": headers,
        "compiler": compiler,
        "processor": processor(),
        "python": (interpreter(), _headers_of_python()),
    }


def _preprocessed(command: str, builder: Any, sources: list[str]) -> str:
    """Returns the digest of a preprocessed source. torch compiles its tests of the processor without a precompiled header."""
    if len(sources) != 1 or not sources[0].endswith(".cpp"):
        raise Refused("no compile of one C++ source")
    target = builder.get_target_file_path()
    words = ["-" if word == target else word for word in shlex.split(command)]
    told = subprocess.run([*words, "-E", "-P"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=os.path.dirname(target))
    if told.returncode != 0:
        raise Refused("C++ that can't be preprocessed")
    if b"incbin" in told.stdout:
        raise Refused("C++ that includes the bytes of a file")
    return hashlib.sha256(told.stdout).hexdigest()


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
