# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The code that nvmath-python's device API generates for kernels of either compiler. One process of the node generates it.

libmathdx takes seconds to generate the code, and nvmath keeps it in one process only. The deposit is

    envelope = length(4) header code     header = JSON [symbol, major and minor of the ISA]
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import types
from typing import Any, Callable, Mapping

from .._plugin.canonical import Description, Refused, digest
from .._plugin.functions import Walk
from .._plugin.leases import Deposits, Key
from .._plugin.loaded import contents, loaded_copies
from .._plugin.recent import Recent
from .._plugin.report import Report
from .._plugin.switch import NotServed, Patches, tested_release
from .._plugin.values import describe_plain, why_refused
from .link_lists import SCHEMA, describe_link_code, generator, links_code

TESTED = ("1.0.0",)
_PACKAGE = "nvmath.device"
_SERVED = {"cufftdx": "compile_fft_execute", "cublasdx": "compile_blas_execute", "cusolverdx": "compile_solver_execute"}
_MOST_KEPT = 256
_COMPILERS = ("", "_numba", "_numba_cuda_mlir")
_OBJECTS = ("FFT", "Matmul", "Solver")


def is_nvmath(value: Any) -> bool:
    """Returns whether a value is an object of nvmath's device API that generates code."""
    kind = type(value)
    return kind.__module__.startswith(f"{_PACKAGE}.") and kind.__name__ in _OBJECTS


def describe_nvmath(value: Any) -> Description:
    """Returns the description of an nvmath object, with the library that generates its code. Raises Refused."""
    return (*_describe(value, Walk(_describe)), _library())


def brings_code(value: Any) -> bool:
    """Returns whether an object has its own code for the kernels that reach it."""
    return links_code(value) or is_nvmath(value)


def describe_code_of(value: Any) -> Description:
    """Returns the description of an object's own code. Raises Refused."""
    return describe_nvmath(value) if is_nvmath(value) else describe_link_code(value)


class NvmathCode:
    """Replaces nvmath's functions that generate code, as soon as a kernel uses an object of nvmath. Attached and detached
    under the compilers' own locks."""

    def __init__(self, report: Report, deposits: Deposits):
        self._report = report
        self._deposits = deposits
        self._patches = Patches()
        self._met = False
        self._kept: Recent[str, Any] = Recent(_MOST_KEPT)

    def meet(self, value: Any) -> None:
        """Changes nvmath if the value is the first object of nvmath."""
        if self._met or not is_nvmath(value):
            return
        self._met = True
        try:
            release = tested_release("nvmath-python", TESTED)
        except NotServed as reason:
            self._report.not_cached(_PACKAGE, str(reason))
            return
        for module, function in _SERVED.items():
            served = None
            for place in (f"{_PACKAGE}.{module}{compiler}" for compiler in _COMPILERS):
                original = getattr(sys.modules.get(place), function, None)
                if original is None or hasattr(original, "__wrapped__"):  # nvmath is not loaded, or the other plug-in has changed it
                    continue
                served = served or self._serving(original, release)
                self._patches.replace(sys.modules[place], function, served)

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()
        self._met = False

    def _serving(self, original: Callable[..., Any], release: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def compile_execute(value: Any, code_type: Any, *args: Any, **kwargs: Any) -> Any:
            what = type(value).__qualname__
            try:
                key = _key(release, original.__name__, value, (code_type, *args), kwargs)
            except Refused as reason:
                self._report.not_cached(what, str(reason))
                return self._generate(original, value, code_type, *args, **kwargs)
            with self._deposits.turn(key.digest):
                kept = self._kept.get(key.digest)
                if kept is None:
                    generate = functools.partial(self._generate, original, value, code_type, *args, **kwargs)
                    kept = self._kept.keep(key.digest, self._shared(key, what, code_type, generate))
                return kept

        return compile_execute

    def _shared(self, key: Key, what: str, code_type: Any, generate: Callable[[], Any]) -> Any:
        with self._deposits.ask(key, what) as offer:
            found = offer.read(functools.partial(_unpacked, code_type))
            if found is not None:
                self._report.count("links_hit")
                return found
            made = generate()
            offer.publish(_packed(*made))
            return made

    def _generate(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        self._report.count("links_generated")
        return made


def _key(release: str, function: str, value: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Key:
    walk = Walk(_describe)
    described = (describe_nvmath(value), walk.value(args), walk.value(dict(kwargs)))
    fields = {"schema": SCHEMA, "class": f"nvmath-python {release}: {function}", "object": digest(described)}
    return Key(fields, digest(tuple(sorted(fields.items()))))


def _library() -> Description:
    return (contents(loaded_copies("libmathdx.so")[0]), generator())


def _describe(value: Any, walk: Walk) -> Description:
    if is_nvmath(value):
        computed = {name for name in vars(value) if isinstance(getattr(type(value), name, None), functools.cached_property)}
        given = {name: kept for name, kept in vars(value).items() if name not in computed}
        return ("nvmath", type(value).__qualname__, walk.value(given))
    if type(value) is dict:
        return ("dict", tuple((name, walk.value(value[name])) for name in sorted(value)))
    if isinstance(value, tuple):
        return ("tuple", tuple(map(walk.value, value)))
    description = describe_plain(value, walk)
    if description is None:
        raise Refused(why_refused(value))
    return description


def _packed(code: Any, symbol: str) -> bytes:
    header = json.dumps([symbol, *code.isa_version]).encode()
    return len(header).to_bytes(4, "big") + header + bytes(code.data)


def _unpacked(code_type: Any, envelope: bytes) -> tuple[Any, str]:
    common: types.ModuleType = importlib.import_module(f"{_PACKAGE}.common_cuda")
    parse = importlib.import_module(f"{_PACKAGE}.common").parse_code_type
    start = 4 + int.from_bytes(envelope[:4], "big")
    symbol, major, minor = json.loads(envelope[4:start])
    return common.Code(parse(code_type), common.ISAVersion(major, minor), envelope[start:]), symbol
