# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Where CuPy is changed: each of its programs for NVRTC asks the daemon first.

That is one class, which all that CuPy compiles passes: raw, elementwise, reduction, fused and jitted kernels after its
disk cache, and the empty program whose PTX tells NVRTC's build to that cache.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

from .._plugin.switch import Patches
from ._compile import Compiler, Source

_OWN_HEADERS = "_cccl_cache_own_headers"


class CupyHooks:
    """The changes, and the way back. Made and removed by one thread at a time."""

    def __init__(self, compiler: Compiler):
        self._compiler = compiler
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Earlier results are unchanged."""
        from cupy.cuda import compiler

        program = compiler._NVRTCProgram
        self._patches.replace(program, "__init__", _marking(program.__init__))
        self._patches.replace(program, "compile", self._asking(program.compile, compiler.CompileException))

    def detach(self) -> None:
        """Puts the package back as it was."""
        self._patches.undo()

    def _asking(self, original: Callable[..., Any], exception: Callable[..., Exception]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compile(program: Any, options: Sequence[str] = (), log_stream: Any = None) -> Any:
            made = None
            expressions = tuple(program.name_expressions or ())
            if not getattr(program, _OWN_HEADERS, True):
                source = Source(program.src, program.name, expressions, program.method)
                made = self._compiler.compile(source, options)
            if made is None:
                return original(program, options, log_stream)
            if made.code is None:
                raise exception(made.log, program.src, program.name, options, "nvrtc")
            if log_stream is not None:
                log_stream.write(made.log)
            if not expressions:
                return made.code, None
            return made.code, {each: made.lowered_names[each] for each in expressions}

        return compile


def _marking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Marks programs that bring their own headers: those that jitify has rewritten."""

    @functools.wraps(original)
    def __init__(program: Any, src: Any, name: Any = "default_program", headers: Any = (), *args: Any, **kwargs: Any) -> None:
        setattr(program, _OWN_HEADERS, bool(headers))
        original(program, src, name, headers, *args, **kwargs)

    return __init__
