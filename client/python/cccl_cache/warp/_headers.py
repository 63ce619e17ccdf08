# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The headers that a compile may read, found by the text of the source. They may be more than NVRTC reads.

NVRTC looks for a header beside the including file (for the source: in the working directory) and in the include directories.
Each file that it could take counts, whatever the macros say. If a text does not name its headers plainly, the compile is
refused.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import threading
from typing import NamedTuple, Optional, Sequence

from .._plugin.canonical import Description, Refused
from .._plugin.compilers import uses_time

_NAME = re.compile(rb'(?:include|include_next|import|embed|__has_\w+)\s*\(?\s*(?:"([^"\n]+)"|<([^>\n]+)>)')
# Directives and tests without such a name. A comment may lie between "#" and the directive.
_UNNAMED = re.compile(rb'(?:#|%:|\*/)\s*(?:include|include_next|import|embed)\b(?!\s*["<])'
                      rb'|\b__has_(?:include|include_next|embed)\b(?!\s*\(\s*["<])')
_DEFINED = re.compile(rb"(?:\bdefined\s*\(?|\bifn?def)\s*__has_\w+")
_LOCATED = re.compile(rb"__FILE__|__BASE_FILE__|__FILE_NAME__|__builtin_FILE|source_location")
_SPLICE = re.compile(rb"\\\r?\n")


class Headers(NamedTuple):
    """The headers by their places and digests. `located`: whether the program may use the paths of its files."""

    files: Description
    located: bool


class _Text(NamedTuple):
    headers: tuple[str, ...]
    plain: bool
    located: bool
    timed: bool


# The files of earlier compiles of this process with their digests; None where there was no file, "changed" if it changed. NVRTC
# uses a header that it has precompiled until the process ends, even if the file changes.
_precompiled: dict[str, Optional[str]] = {}
# Set if Warp may have compiled before the plug-in was on: headers that NVRTC has precompiled then may have changed since.
compiled_before = threading.Event()


def read_headers(source: bytes, directories: Sequence[str], precompiled: bool) -> Headers:
    """Returns the headers of a source. The first of the directories is Warp's own. Raises Refused."""
    found: dict[str, Optional[str]] = {}
    located, refusal = False, ""
    unread = [("the source", _read(source), [os.getcwd()])]
    while unread:
        origin, text, beside = unread.pop()
        if not text.plain:
            refusal = f"{origin} does not name its headers plainly"
        elif text.timed:
            refusal = f"{origin} uses the time of the compile"
        located = located or text.located and not origin.startswith(f"{directories[0]}/")
        for name in text.headers:
            for directory in (*beside, *directories):
                path = _path(directory, name)
                if path not in found:
                    header = _contents(path)
                    found[path] = None if header is None else hashlib.sha256(header).hexdigest()
                    if header is not None:
                        links = [os.path.dirname(path), os.path.dirname(os.path.realpath(path))]
                        unread.append((path, _read_header(header), links))
    changed = [path for path, digest in found.items() if _precompiled.setdefault(path, digest) != digest]
    _precompiled.update(dict.fromkeys(changed, "changed"))  # for good, even if the earlier contents come back
    if refusal:  # not before, since NVRTC precompiles the headers of such a compile too
        raise Refused(refusal)
    if precompiled and compiled_before.is_set():
        for path, digest in found.items():
            if digest and not path.startswith(f"{directories[0]}/"):
                raise Refused(f"{path} may have been precompiled before the plug-in was on")
    if precompiled and changed:
        raise Refused(f"{changed[0]} has changed since this process precompiled its headers")
    return Headers(tuple(sorted((*_place(path, directories), digest) for path, digest in found.items() if digest)), located)


def _path(directory: str, name: str) -> str:
    """Returns one path for all ways to a file, but for links to the file itself."""
    directory, name = os.path.split(os.path.join(directory, name))
    return os.path.join(os.path.realpath(directory), name)


def _contents(path: str) -> Optional[bytes]:
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}") from None


def _place(path: str, directories: Sequence[str]) -> tuple[int, str]:
    """Returns the number of an include directory and the name below it; the whole path of a header elsewhere."""
    for number, directory in enumerate(directories):
        if path.startswith(f"{directory}/"):
            return number, path[len(directory) :]
    return len(directories), path


def _read(contents: bytes) -> _Text:
    text = _DEFINED.sub(b"", _SPLICE.sub(b"", contents))
    names = {os.fsdecode(quoted or angled) for quoted, angled in _NAME.findall(text)}
    return _Text(tuple(sorted(names)), not _UNNAMED.search(text), bool(_LOCATED.search(text)), uses_time(text))


_read_header = functools.lru_cache(maxsize=256)(_read)  # Warp's own headers take 50 ms
