# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The code of an object that is linked into each kernel that calls the object, for numba-cuda and numba-cuda-mlir.

    __numba_cuda_link__(self, *argument_types)       the code: bytes, a path, a LinkableCode, or several of them
    __numba_cuda_signature__(self, *argument_types)  (symbol, signature) of the C function that the object calls
    __numba_cuda_link_key__(self, *argument_types)   bytes that identify the code of __numba_cuda_link__

If an object has the third method, one process of the node generates the code while the others wait for it. The deposit is

    envelope = count(4) { length(4) header contents }*     header = JSON [kind, name or null, nrt, length of contents]
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import types
import weakref
from typing import Any, Callable, NamedTuple, Optional, Sequence

from .._plugin.canonical import Description, Refused, digest
from .._plugin.code import describe_code
from .._plugin.leases import Deposits, Key
from .._plugin.loaded import contents, loaded_copies, nvrtc_builtins, version
from .._plugin.recent import Recent
from .._plugin.report import Report

NAMESPACE = "numba.link"
SCHEMA = "1"
_MOST_KEPT = 256
_LINK, _SIGNATURE, _KEY = "__numba_cuda_link__", "__numba_cuda_signature__", "__numba_cuda_link_key__"
_MAGICS = ((b"\xedCN\x7f", "LTOIR"), (b"\x50\xed\x55\xba", "Fatbin"), (b"!<arch>\n", "Archive"))
_ELF, _MACHINE, _CUDA = b"\x7fELF", slice(18, 20), (190).to_bytes(2, "little")
_PTX = re.compile(rb"(\s|//[^\n]*\n|/\*.*?\*/)*\.version\s", re.DOTALL)


def links_code(value: Any) -> bool:
    """Returns whether an object has code that is linked into the kernels that call it."""
    return hasattr(type(value), _LINK)


def is_c_function(value: Any) -> bool:
    """Returns whether a call of the object becomes the call of a C function that the object names."""
    return links_code(value) and hasattr(type(value), _SIGNATURE)


def describe_link_code(value: Any) -> Description:
    """Returns the description of an object that links code, without the types of its calls. Raises Refused."""
    if not hasattr(type(value), _KEY):
        raise Refused(f"{_named(value, _LINK)} generates code that no {_KEY} describes")
    try:
        inspect.signature(getattr(value, _KEY)).bind()
    except TypeError:
        raise Refused(
            f"{_named(value, _KEY)} needs the types of a call, which are not known before the kernel is compiled: "
            "give it *argument_types instead"
        ) from None
    identity = _identity(value, ())
    return ("linked", type(value).__qualname__, identity, _class_digest(type(value)), generator())


class Backend(NamedTuple):
    """A compiler of Python functions: its `name` with the release, its modules of types and of LinkableCode, and a function
    that splits a signature into parameters and the returned type."""

    name: str
    types: types.ModuleType
    linkable: types.ModuleType
    split: Callable[[Any], Any]


class CFunction(NamedTuple):
    """The C function that a call of an object becomes."""

    symbol: str
    parameters: tuple[Any, ...]
    returns: Any


class LinkLists:
    """The code of the objects that kernels of this process call. Each object is asked once. For use under the compiler's
    own lock."""

    def __init__(self, backend: Backend, report: Report, deposits: Deposits):
        self._backend = backend
        self._report = report
        self._deposits = deposits
        self._codes: Recent[Any, tuple[Any, tuple[Any, ...]]] = Recent(_MOST_KEPT)
        self._interned: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()

    def function(self, value: Any, argument_types: Sequence[Any]) -> CFunction:
        """Returns the C function of a call with these types. Raises the object's errors, or TypeError."""
        given = self._widened(argument_types)
        answer = getattr(value, _SIGNATURE)(*given)
        if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], str):
            raise TypeError(f"{_named(value, _SIGNATURE)} must return (symbol, signature), not {answer!r}")
        parameters, returns = self._backend.split(answer[1])
        if returns is None:
            raise TypeError(f"{_named(value, _SIGNATURE)}: the signature of '{answer[0]}' has no return type")
        if len(parameters) != len(given):
            raise TypeError(f"'{answer[0]}' takes {len(parameters)} arguments and is called with {len(given)}: {given}")
        library = self._backend.types
        passed = tuple(library.CPointer(one.dtype) if isinstance(one, library.Array) else one for one in parameters)
        simple = (library.Integer, library.Float, library.Boolean, library.CPointer, library.RawPointer)
        for one in (*passed, returns):
            if not isinstance(one, simple) and one not in (library.void, library.none):
                raise TypeError(f"'{answer[0]}' takes or returns a {one}: C functions here have numbers and pointers")
        return CFunction(answer[0], passed, returns)

    def codes(self, value: Any, argument_types: Sequence[Any], target: str) -> tuple[Any, ...]:
        """Returns the LinkableCodes and paths of a call with these types in a kernel for a target ("9.0"). They are the same
        objects each time, so that each is linked once. Raises the object's errors, or TypeError."""
        given = self._widened(argument_types)
        identity = _identity(value, given) if hasattr(type(value), _KEY) else None
        who = id(value) if identity is None else (type(value), identity)
        known = (who, given, target)
        kept = self._codes.get(known)
        if kept is None:
            made = self._generate(value, given) if identity is None else self._shared(value, given, target, identity)
            codes = tuple(map(self._one_of_a_kind, made))
            kept = self._codes.keep(known, (value, codes))  # `known` has the id of the value, so the value must stay alive
        return kept[1]

    def _widened(self, argument_types: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(map(self._backend.types.unliteral, argument_types))

    def _generate(self, value: Any, given: tuple[Any, ...]) -> list[Any]:
        made = getattr(value, _LINK)(*given)
        self._report.count("links_generated")
        made = made if isinstance(made, (list, tuple)) else [made]
        return [as_linkable(self._backend.linkable, one, _named(value, _LINK)) for one in made]

    def _shared(self, value: Any, given: tuple[Any, ...], target: str, identity: bytes) -> list[Any]:
        """Returns the code that a process of the node has generated, or generates it under a lease."""
        what = type(value).__qualname__
        try:
            key = self._key(value, given, target, identity)
        except Refused as reason:
            self._report.not_cached(what, str(reason))
            return self._generate(value, given)
        with self._deposits.turn(key.digest), self._deposits.ask(key, what) as offer:
            found = offer.read(lambda contents: unpacked(self._backend.linkable, contents))
            if found is not None:
                self._report.count("links_hit")
                return found
            made = self._generate(value, given)
            try:
                offer.publish(packed(self._backend.linkable, made))
            except Refused as reason:
                self._report.not_cached(what, str(reason))
            return made

    def _key(self, value: Any, given: tuple[Any, ...], target: str, identity: bytes) -> Key:
        names = repr(given)
        if " at 0x" in names:
            raise Refused(f"the types {names} have no names outside this process")
        fields = {
            "schema": SCHEMA,
            "compiler": self._backend.name,
            "class": f"{type(value).__module__}.{type(value).__qualname__}",
            "types": names,
            "compute_capability": target,
            "object": hashlib.sha256(identity).hexdigest(),
            "generator": digest((_class_digest(type(value)), generator())),
        }
        return Key(fields, digest(tuple(sorted(fields.items()))))

    def _one_of_a_kind(self, code: Any) -> Any:
        """Returns the same LinkableCode object for equal contents, because the linker refuses two definitions."""
        if isinstance(code, str) or code.setup_callback or code.teardown_callback:
            return code
        data = code.data.encode() if isinstance(code.data, str) else bytes(code.data)
        return self._interned.setdefault((type(code), hashlib.sha256(data).digest(), code.nrt), code)


def as_linkable(linkable: Any, code: Any, named: str) -> Any:
    """Returns a LinkableCode or path that numba can link. The first bytes of given bytes show their type. Raises
    TypeError."""
    if isinstance(code, linkable.LinkableCode):
        return code
    if isinstance(code, (str, os.PathLike)):
        return os.fspath(code)
    if not isinstance(code, (bytes, bytearray, memoryview)):
        raise TypeError(f"{named} must return bytes, paths or LinkableCode, not a {type(code).__name__}")
    data = bytes(code)
    kind = next((kind for magic, kind in _MAGICS if data.startswith(magic)), None)
    if kind is None and data.startswith(_ELF):
        kind = "Cubin" if data[_MACHINE] == _CUDA else "Object"
    if kind is not None:
        return getattr(linkable, kind)(data)
    text = data.rstrip(b"\0")
    if _PTX.match(text):
        return linkable.PTXSource(text)
    try:
        return linkable.CUSource(text.decode())
    except UnicodeDecodeError:
        raise TypeError(f"{named} returned bytes that are no code: they begin with {data[:4]!r}") from None


def packed(linkable: Any, codes: Sequence[Any]) -> bytes:
    """Returns the bytes of generated code. Raises Refused for code that only this process can use, and OSError."""
    parts = [len(codes).to_bytes(4, "big")]
    for code in codes:
        code = linkable.LinkableCode.from_path_or_obj(code)
        if code.setup_callback or code.teardown_callback:
            raise Refused("code with callbacks lives in one process")
        data = code.data.encode() if isinstance(code.data, str) else bytes(code.data)
        if getattr(linkable, type(code).__name__, None) is not type(code):
            raise Refused(f"code of the class {type(code).__qualname__}")
        header = json.dumps([type(code).__name__, code._name, bool(code.nrt), len(data)]).encode()
        parts += [len(header).to_bytes(4, "big"), header, data]
    return b"".join(parts)


def unpacked(linkable: Any, envelope: bytes) -> list[Any]:
    """Returns the codes from the bytes of `packed`. Raises ValueError, TypeError or AttributeError for invalid bytes."""
    codes, at = [], 4
    for _ in range(int.from_bytes(envelope[:4], "big")):
        start = at + 4
        at = start + int.from_bytes(envelope[at:start], "big")
        kind, name, nrt, length = json.loads(envelope[start:at])
        data, at = envelope[at : at + length], at + length
        made = getattr(linkable, kind)
        codes.append(made(data.decode() if kind == "CUSource" else data, name=name, nrt=nrt))
    if at != len(envelope):
        raise ValueError("generated code has another size than it says")
    return codes


def generator() -> Description:
    """Returns the description of the known code generators: this process's NVRTC, and the packages that call it. Raises
    Refused."""
    from cuda.bindings import nvrtc

    nvrtc.nvrtcVersion()  # loads the library
    copies = loaded_copies("libnvrtc.so")
    versions = tuple((name, version(name)) for name in ("cuda-bindings", "cuda-core"))
    return (contents(copies[0]), nvrtc_builtins(copies), versions)


def _identity(value: Any, given: tuple[Any, ...]) -> bytes:
    """Returns the object's key for the code of these types. A method without parameters does not get the types."""
    method = getattr(value, _KEY)
    identity = method(*given) if inspect.signature(method).parameters else method()
    if not isinstance(identity, bytes):
        raise TypeError(f"{_named(value, _KEY)} must return bytes, not a {type(identity).__name__}")
    return identity


def _class_digest(kind: type) -> Description:
    """Returns the digests of the files that define a class and its bases. A class without a file has its methods' code."""
    described: list[Description] = []
    for part in kind.__mro__[:-1]:
        try:
            described.append(("file", contents(inspect.getfile(part))))
        except (TypeError, OSError, Refused):
            functions = (value for value in vars(part).values() if isinstance(value, types.FunctionType))
            described.append(("methods", *sorted(describe_code(function).digest for function in functions)))
    return tuple(described)


def _named(value: Any, method: str) -> str:
    return f"{type(value).__qualname__}.{method}"
