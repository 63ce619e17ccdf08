# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Builds as they are asked for: what the library is handed."""

from __future__ import annotations

import os
from ctypes import c_int, c_void_p, sizeof

from . import _cuda, _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Union

    from ._result import Result

    Text = Union[str, bytes]
    Emit = Union[str, Sequence[str]]
    LinkInput = Union[bytes, tuple[str, bytes], tuple[str, bytes, str], Result]
    NvvmModule = Union[Text, tuple[str, Text]]

KINDS = {"ptx": 1, "cubin": 2, "ltoir": 3, "optixir": 4}
_INPUT_TYPES = {"any": 0, "cubin": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}
_WANTED = {(name,): (c_int * 1)(kind) for name, kind in KINDS.items()}
_OPTIONS_SIZE = sizeof(_library.BuildOptions)
_NVRTC_SIZE = sizeof(_library.NvrtcProgram)
_HANDED = (c_void_p,) * 5
_getenv = os.environ.get


def _contents(value: Text | memoryview | bytearray) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value if type(value) is bytes else bytes(value)


def _working_directory() -> bytes:
    try:
        return os.getcwdb()
    except OSError:  # it is gone
        return b""


def _named(pairs: Iterable[tuple[str, bytes]]) -> tuple[Any, int]:
    all_pairs = list(pairs)
    array = (_library.NamedContents * len(all_pairs))()
    for each, (name, contents) in zip(array, all_pairs):
        each.name, each.contents = _library.given(name.encode()), _library.given(contents)
    return array, len(all_pairs)


class _Program:
    """What all kinds of builds have in common."""

    __slots__ = ("_fields", "_toolchain", "_wanted", "_working_directory", "_timeout")

    build: Any
    explain: Any

    def __init__(self, toolchain: int | str | None, emit: tuple[str, ...], timeout: float | None,
                 working_directory: str | os.PathLike[str] | None = None) -> None:
        wanted = _WANTED.get(emit)
        if wanted is None:
            unknown = [kind for kind in emit if kind not in KINDS]
            if unknown:
                raise ValueError(f"emit={unknown[0]!r} is not one of {', '.join(KINDS)}")
            wanted = (c_int * len(emit))(*map(KINDS.__getitem__, emit))
        self._wanted = wanted
        self._toolchain = toolchain
        self._timeout = _library.milliseconds(timeout)
        self._working_directory = None if working_directory is None else os.fsencode(working_directory)

    def options(self) -> _library.BuildOptions:
        """As of now: the toolchain may follow from what is loaded, names from the working directory."""
        options = _library.BuildOptions(_OPTIONS_SIZE)
        toolchain = self._toolchain
        if toolchain is None:
            options.toolchain_major = major = _cuda.major()
            if not major:
                options.driver_version = _cuda.driver_version()
        else:
            _choose(toolchain, options)
        directory = self._working_directory
        options.working_directory = _library.given(_working_directory() if directory is None else directory)
        options.wanted = self._wanted
        options.wanted_count = len(self._wanted)
        options.timeout_ms = self._timeout
        return options

    @property
    def fields(self) -> Any:
        return self._fields


def _choose(toolchain: int | str, options: _library.BuildOptions) -> None:
    if isinstance(toolchain, int) or (toolchain.isdigit() and len(toolchain) <= 3):
        options.toolchain_major = int(toolchain)
    elif "." in toolchain:
        options.toolchain_version = _library.given(toolchain.encode())
    else:
        options.toolchain_id = _library.given(toolchain.encode())


def _kinds(emit: Emit) -> tuple[str, ...]:
    return (emit,) if isinstance(emit, str) else tuple(emit)


class Build(_Program):
    """CUDA C++ for NVRTC; the parameters are those of `Client.build`."""

    __slots__ = ()

    build = _library.function("build_nvrtc", c_int, *_HANDED)
    explain = _library.function("explain_nvrtc", c_int, *_HANDED)

    def __init__(self, source: Text, *, arch: str, options: Sequence[str] = (), name: str | None = None,
                 include_dirs: Sequence[str | os.PathLike[str]] = (), headers: Mapping[str, Text] | None = None,
                 name_expressions: Sequence[str] = (), toolchain: int | str | None = None, emit: Emit = "cubin",
                 toolchain_headers: bool = True, working_directory: str | os.PathLike[str] | None = None,
                 timeout: float | None = None) -> None:
        kinds = _kinds(emit)
        super().__init__(toolchain, kinds, timeout, working_directory)
        flags = ["--gpu-architecture=" + arch]
        if "ltoir" in kinds:
            flags.append("-dlto")
        if "optixir" in kinds:
            flags.append("--optix-ir")
        flags += ["--include-path=" + os.fspath(directory) for directory in include_dirs]
        flags += options
        contents = _contents(source)
        program_name = b"" if name is None else name.encode()
        flag_array, flag_count = _library.texts(flags)
        self._fields = fields = _library.NvrtcProgram(
            _NVRTC_SIZE, (contents, len(contents)), (program_name, len(program_name)), flag_array, flag_count)
        fields.append_toolchain_headers = toolchain_headers
        if headers:
            fields.headers, fields.header_count = _named((each, _contents(text)) for each, text in headers.items())
        if name_expressions:
            fields.name_expressions, fields.name_expression_count = _library.texts(name_expressions)
        appended = _getenv("NVRTC_APPEND_FLAGS")  # what NVRTC would read if it ran in this process
        if appended is not None:
            fields.environment, fields.environment_count = _named([("NVRTC_APPEND_FLAGS", os.fsencode(appended))])


class Link(_Program):
    """Inputs for nvJitLink; the parameters are those of `Client.link`."""

    __slots__ = ()

    build = _library.function("build_link", c_int, *_HANDED)
    explain = _library.function("explain_link", c_int, *_HANDED)

    def __init__(self, inputs: Sequence[LinkInput], *, arch: str, options: Sequence[str] = (),
                 toolchain: int | str | None = None, emit: str = "cubin", timeout: float | None = None) -> None:
        super().__init__(toolchain, (emit,), timeout)
        flags = ["-arch=" + arch]
        if emit == "ptx":
            flags.append("-ptx")
        flags += options
        files = (_library.LinkFile * len(inputs))()
        for file, each in zip(files, inputs):
            name, contents, kind = _link_input(each)
            file.type, file.name, file.contents = kind, _library.given(name.encode()), _library.given(contents)
        self._fields = _library.LinkProgram(sizeof(_library.LinkProgram), files, len(files), *_library.texts(flags))


def _link_input(given: LinkInput) -> tuple[str, bytes, int]:
    if isinstance(given, tuple):
        name, contents, kind = given if len(given) == 3 else (*given, "any")
        if kind not in _INPUT_TYPES:
            raise ValueError(f"{kind!r} is not one of {', '.join(_INPUT_TYPES)}")
        return name, _contents(contents), _INPUT_TYPES[kind]
    artifacts = getattr(given, "artifacts", None)
    if artifacts is None:
        return "", _contents(given), 0  # type: ignore[arg-type]
    kind, contents = next(iter(artifacts.items()))
    return "", contents, _INPUT_TYPES.get(kind, 0)


class Nvvm(_Program):
    """NVVM IR for libNVVM; the parameters are those of `Client.nvvm`."""

    __slots__ = ()

    build = _library.function("build_nvvm", c_int, *_HANDED)
    explain = _library.function("explain_nvvm", c_int, *_HANDED)

    def __init__(self, modules: Sequence[NvvmModule], *, arch: str, options: Sequence[str] = (),
                 lazy_modules: Sequence[NvvmModule] = (), libdevice: bool = False, toolchain: int | str | None = None,
                 emit: str = "ptx", timeout: float | None = None) -> None:
        super().__init__(toolchain, (emit,), timeout)
        flags = ["-arch=" + arch]
        if emit == "ltoir":
            flags.append("-gen-lto")
        flags += options
        given = [(*_nvvm_module(each), 0) for each in modules] + [(*_nvvm_module(each), 1) for each in lazy_modules]
        files = (_library.NvvmFile * len(given))()
        for file, (name, contents, lazy) in zip(files, given):
            file.name, file.contents = _library.given(name.encode()), _library.given(contents)
            file.lazy = lazy
        self._fields = _library.NvvmProgram(
            sizeof(_library.NvvmProgram), files, len(files), *_library.texts(flags), libdevice)


def _nvvm_module(given: NvvmModule) -> tuple[str, bytes]:
    if isinstance(given, tuple):
        return given[0], _contents(given[1])
    return "", _contents(given)
