# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The requests of builds, in the form that the library takes."""

from __future__ import annotations

import os
import sys
from ctypes import byref, c_int, c_uint64, c_void_p, sizeof

from . import _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Union

    from ._result import Result

    Text = Union[str, bytes]
    Emit = Union[str, Sequence[str]]
    LinkInput = Union[bytes, tuple[str, bytes], tuple[str, bytes, str], Result]
    NvvmModule = Union[Text, tuple[str, Text]]
    Program = Union["Build", "Link", "Nvvm"]

_INPUT_TYPES = {"any": 0, "cubin": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}
_SIZES = {each: sizeof(each) for each in (_library.BuildOptions, _library.NvrtcProgram, _library.LinkProgram,
                                          _library.NvvmProgram)}
_ASKED = (c_void_p,) * 4
_HANDED = (c_void_p,) * 5
_ADDED = c_void_p, c_void_p, c_void_p, c_uint64, c_void_p
# The structs of earlier requests, for requests with equal arguments. A full table is emptied.
_nvrtc_patterns: dict[Any, _library.NvrtcProgram] = {}
_option_structs: dict[Any, tuple[_library.BuildOptions, Any]] = {}
_ROOM = 256


def _remember(known: dict[Any, Any], key: Any, value: Any) -> Any:
    if len(known) >= _ROOM:
        known.clear()
    known[key] = value
    return value


def _contents(name: str, value: Any) -> bytes:
    if type(value) is bytes:
        return value
    if isinstance(value, str):
        return _library.encoded(value)
    if isinstance(value, os.PathLike):  # bytes(path) would be the path's name, not the file's contents
        raise TypeError(f"{_library.wrong_type(name, 'str or bytes', value)}: give what its read_bytes() returns")
    try:
        return bytes(value if hasattr(type(value), "__bytes__") else memoryview(value))
    except TypeError:
        raise _library.wrong_type(name, "str or bytes", value) from None


class _Program:
    """The common part of all kinds of builds."""

    __slots__ = ("fields", "_choice")

    ask: Any
    explain: Any
    add: Any
    fields: Any
    _choice: tuple[int | str | None, str | tuple[str, ...], float | None, bytes, int, int]

    def __repr__(self) -> str:
        arch = self.fields.options[0].data.decode("utf-8", "replace").partition("=")[2]
        return f"<cccl_cache.{type(self).__name__} {arch} {self._choice[1]}>"

    def options(self) -> Any:
        """Returns the options of the request. The library adds those that follow from the loaded libraries and from the
        working directory."""
        key: Any = self._choice
        if key[0] is None and "cuda.bindings" in sys.modules:
            key = *key, _library.cuda_major()
        known = _option_structs.get(key) or _remember(_option_structs, key, _options(*key))
        return known[1]


def _options(toolchain: int | str | None, kinds: str | tuple[str, ...], timeout: float | None, directory: bytes,
             priority: int, on_miss: int, major: int = 0) -> tuple[_library.BuildOptions, Any]:
    options = _library.BuildOptions(_SIZES[_library.BuildOptions], as_this_process=1)
    if toolchain is None:
        options.toolchain_major = major
        options.driver_version = _library.driver_version()
    elif not isinstance(toolchain, (int, str)):
        raise _library.wrong_type("toolchain", 'an int such as 13 or a str such as "12.9"', toolchain)
    elif isinstance(toolchain, int) or (toolchain.isdigit() and len(toolchain) <= 3):
        options.toolchain_major = int(toolchain)
    elif "." in toolchain:
        options.toolchain_version, options.toolchain_version_size = toolchain.encode(), len(toolchain)
    else:
        options.toolchain_id, options.toolchain_id_size = toolchain.encode(), len(toolchain)
    options.working_directory, options.working_directory_size = directory, len(directory)
    wanted = (kinds,) if isinstance(kinds, str) else kinds
    options.wanted = (c_int * len(wanted))(*map(_library.KINDS.__getitem__, wanted))
    options.wanted_count = len(wanted)
    options.timeout_ms = _library.milliseconds(timeout)
    options.priority = priority
    options.on_miss = on_miss
    return options, byref(options)


def _priority(given: str | None) -> int:
    """Returns the priority as the library takes it. None stands for that of the environment."""
    if given is None:
        return 0
    _library.check_type("priority", "a str", given, str)
    if given not in _library.PRIORITIES:
        raise ValueError(f"priority={given!r} is not one of {', '.join(_library.PRIORITIES)}")
    return _library.PRIORITIES[given]


def _on_miss(given: str) -> int:
    """Returns the action at a miss as the library takes it."""
    _library.check_type("on_miss", "a str", given, str)
    if given not in _library.ON_MISS:
        raise ValueError(f"on_miss={given!r} is not one of {', '.join(_library.ON_MISS)}")
    return _library.ON_MISS[given]


def _checked(emit: Emit, known: Collection[str]) -> str | tuple[str, ...]:
    """Returns the wanted kinds in a hashable form."""
    if type(emit) is str and emit in known:
        return emit
    kinds = (emit,) if isinstance(emit, str) else _library.checked_sequence("emit", "str", emit, str)
    for kind in kinds:
        if kind not in known:
            raise ValueError(f"emit={kind!r} is not one of {', '.join(known)}")
    return kinds


def _nvrtc_flags(arch: str, kinds: str | tuple[str, ...], directories: tuple[Any, ...], options: tuple[str, ...]) -> Any:
    flags = ["--gpu-architecture=" + arch]
    if "ltoir" in kinds:
        flags.append("-dlto")
    if "optixir" in kinds:
        flags.append("--optix-ir")
    return _library.texts(flags + ["--include-path=" + os.fspath(each) for each in directories] + list(options))


def _nvrtc_pattern(arch: str, emit: Emit, directories: tuple[Any, ...], options: tuple[str, ...], name: str | None,
                   name_expressions: tuple[str, ...], toolchain_headers: bool) -> _library.NvrtcProgram:
    """Returns a program without its source. Requests that differ only in their source copy it."""
    flags, flag_count = _nvrtc_flags(arch, _checked(emit, _library.KINDS), directories, options)
    program_name = b"" if name is None else _library.encoded(name)
    pattern = _library.NvrtcProgram(_SIZES[_library.NvrtcProgram], b"", 0, program_name, len(program_name), flags, flag_count)
    if name_expressions:
        pattern.name_expressions, pattern.name_expression_count = _library.texts(name_expressions)
    pattern.append_toolchain_headers = toolchain_headers
    return pattern


class Build(_Program):
    """A program in CUDA C++ for NVRTC. The parameters are those of `Client.build`."""

    __slots__ = ("_pattern",)

    ask = _library.function("ask_nvrtc", c_int, *_ASKED)
    explain = _library.function("explain_nvrtc", c_int, *_HANDED)
    add = _library.function("batch_add_nvrtc", c_int, *_ADDED)

    def __init__(self, source: Text, *, arch: str, options: Sequence[str] = (), name: str | None = None,
                 include_dirs: Sequence[str | os.PathLike[str]] = (), headers: Mapping[str, Text] | None = None,
                 name_expressions: Sequence[str] = (), toolchain: int | str | None = None, emit: Emit = "cubin",
                 toolchain_headers: bool = True, working_directory: str | os.PathLike[str] | None = None,
                 timeout: float | None = None, priority: str | None = None, on_miss: str = "wait") -> None:
        try:
            if type(emit) is not str:
                emit = tuple(emit)
            directory = b"" if working_directory is None else os.fsencode(working_directory)
            self._choice = toolchain, emit, timeout, directory, _priority(priority), _on_miss(on_miss)
            if arch == "native":
                arch = _library.arch_of(arch)
            key = arch, emit, tuple(include_dirs), tuple(options), name, tuple(name_expressions), toolchain_headers
            pattern = _nvrtc_patterns.get(key)
        except TypeError:
            _library.check_build(arch, emit, include_dirs, options, name, name_expressions, working_directory)
            raise
        if pattern is None:
            _library.check_build(arch, emit, include_dirs, options, name, name_expressions, working_directory)
            pattern = _remember(_nvrtc_patterns, key, _nvrtc_pattern(*key))
        self._pattern = pattern  # owns what the copy points to
        self.fields = fields = _library.NvrtcProgram.from_buffer_copy(pattern)
        fields.source = contents = _library.encoded(source) if type(source) is str else _contents("source", source)
        fields.source_size = len(contents)
        if headers:
            fields.headers, fields.header_count = _library.named(_headers(headers))


def _headers(given: Mapping[str, Text]) -> list[tuple[str, bytes]]:
    if not hasattr(given, "items"):
        raise _library.wrong_type("headers", "a mapping of str to str or bytes", given)
    named = [(name, _contents("each of headers", text)) for name, text in given.items()]
    for name, _ in named:
        _library.check_type("each name in headers", "a str", name, str)
    return named


class Link(_Program):
    """Inputs for nvJitLink. The parameters are those of `Client.link`."""

    __slots__ = ()

    ask = _library.function("ask_link", c_int, *_ASKED)
    explain = _library.function("explain_link", c_int, *_HANDED)
    add = _library.function("batch_add_link", c_int, *_ADDED)

    def __init__(self, inputs: Sequence[LinkInput], *, arch: str, options: Sequence[str] = (),
                 toolchain: int | str | None = None, emit: str = "cubin", timeout: float | None = None,
                 priority: str | None = None, on_miss: str = "wait") -> None:
        self._choice = toolchain, _checked(emit, ("cubin", "ptx")), timeout, b"", _priority(priority), _on_miss(on_miss)
        options = _library.checked_options(arch, options)
        inputs = _library.checked_inputs("inputs", inputs)
        flags = ["-arch=" + _library.arch_of(arch), *(["-ptx"] if emit == "ptx" else ()), *options]
        files = (_library.LinkFile * len(inputs))()
        for file, (name, contents, kind) in zip(files, map(_link_input, inputs)):
            file.__init__(kind, name, len(name), contents, len(contents))
        self.fields = _library.LinkProgram(_SIZES[_library.LinkProgram], files, len(files), *_library.texts(flags))


def _link_input(given: LinkInput) -> tuple[bytes, bytes, int]:
    if isinstance(given, tuple):
        name, contents, kind = given if len(given) == 3 else (*given, "any")
        if kind not in _INPUT_TYPES:
            raise ValueError(f"{kind!r} is not one of {', '.join(_INPUT_TYPES)}")
        _library.check_type("the name of an input", "a str", name, str)
        return _library.encoded(name), _contents("each of inputs", contents), _INPUT_TYPES[kind]
    artifacts = getattr(given, "artifacts", None)
    if artifacts is None:
        return b"", _contents("each of inputs", given), 0
    kind, contents = next(iter(artifacts.items()))
    return b"", contents, _INPUT_TYPES.get(kind, 0)


class Nvvm(_Program):
    """Modules of NVVM IR for libNVVM. The parameters are those of `Client.nvvm`."""

    __slots__ = ()

    ask = _library.function("ask_nvvm", c_int, *_ASKED)
    explain = _library.function("explain_nvvm", c_int, *_HANDED)
    add = _library.function("batch_add_nvvm", c_int, *_ADDED)

    def __init__(self, modules: Sequence[NvvmModule], *, arch: str, options: Sequence[str] = (),
                 lazy_modules: Sequence[NvvmModule] = (), libdevice: bool = False, toolchain: int | str | None = None,
                 emit: str = "ptx", timeout: float | None = None, priority: str | None = None,
                 on_miss: str = "wait") -> None:
        self._choice = toolchain, _checked(emit, ("ptx", "ltoir")), timeout, b"", _priority(priority), _on_miss(on_miss)
        options = _library.checked_options(arch, options)
        modules = _library.checked_inputs("modules", modules)
        lazy_modules = _library.checked_inputs("lazy_modules", lazy_modules)
        flags = ["-arch=" + _library.arch_of(arch, "compute_"), *(["-gen-lto"] if emit == "ltoir" else ()), *options]
        given = [(*_nvvm_module(each), 0) for each in modules] + [(*_nvvm_module(each), 1) for each in lazy_modules]
        files = (_library.NvvmFile * len(given))()
        for file, (name, contents, lazy) in zip(files, given):
            file.__init__(name, len(name), contents, len(contents), lazy)
        self.fields = _library.NvvmProgram(
            _SIZES[_library.NvvmProgram], files, len(files), *_library.texts(flags), libdevice)


def _nvvm_module(given: NvvmModule) -> tuple[bytes, bytes]:
    if isinstance(given, tuple):
        _library.check_type("the name of a module", "a str", given[0], str)
        return _library.encoded(given[0]), _contents("each of modules", given[1])
    return b"", _contents("each of modules", given)

