# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The changes to torch: its remote caches are there, and a run of the host's C++ compiler is a step.

No setting of torch is changed. Where the settings leave a remote cache open (None) and its local cache on, torch is told to
use the plug-in's. A program that has set one gets its own.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Callable, Optional

from .._plugin.canonical import Refused
from .._plugin.compile_steps import CompileSteps
from .._plugin.leases import Settings
from .._plugin.report import Report
from .._plugin.switch import Patches
from ..steps import Steps
from . import _libraries, _operators, _ranks
from ._release import AOT_CACHE, AOT_ENTRY, AOT_USERS, BUILDER, CODE, COMPILER
from ._remote import Compile, Remote, current

_RANKS_WAIT = 120.0  # seconds. A rank that waits joins no collective of the others, whose timeouts are 10 minutes and more
_BRIEFLY = 1.0  # seconds


class TorchHooks:
    """Makes and undoes the changes. For one thread at a time; compiles may run on any thread."""

    def __init__(self, namespace: str, settings: Settings, report: Report):
        def steps(wait: float) -> Steps:
            return Steps(namespace, group=settings.group, wait=wait, client=settings.connect)

        self._alone, self._of_ranks = steps(settings.wait), steps(min(settings.wait, _RANKS_WAIT))
        self._libraries, self._headers = CompileSteps(namespace, settings, report), _libraries.PostponedHeaders()
        late = steps(min(settings.wait, _BRIEFLY))
        self._graphs, self._entries = (Remote(kind, self._alone, late, report) for kind in ("graph", "entry"))
        self._report = report
        self._patches = Patches()

    def attach(self) -> None:
        """Changes the package. Does not affect earlier results."""
        compiler, builder, code = map(importlib.import_module, (COMPILER, BUILDER, CODE))
        self._replace(compiler, "_compile_fx_inner", self._watched)
        self._replace(compiler, "should_use_remote_fx_graph_cache", lambda original: lambda: original() or self._serves_compile())
        self._replace(importlib.import_module(AOT_ENTRY), "should_use_remote_fx_graph_cache",
                      lambda original: lambda: original() or self._serves_entries())
        for module in AOT_USERS:
            self._replace(importlib.import_module(module), "should_use_remote_autograd_cache",
                          lambda original: lambda: original() or self._serves_entries())
        self._replace(importlib.import_module(AOT_CACHE), "autograd_cache_key", self._noting)
        self._replace(code.FxGraphCache, "get_remote_cache",
                      lambda original: staticmethod(lambda: self._graphs if _graphs_open() else original()))
        self._replace(importlib.import_module(AOT_CACHE).AOTAutogradCache, "get_remote_cache",
                      lambda original: staticmethod(lambda: self._entries if _entries_open() else original()))
        self._replace(builder.CppBuilder, "build", self._stepping)
        forget = getattr(code._precompile_header, "cache_clear", lambda: None)
        self._patches.afterwards(forget)  # torch takes postponed headers for made
        self._replace(code, "_precompile_header", self._headers.postpone)
        self._replace(code, "_worker_compile_cpp", self._headers.skip)

    def detach(self) -> None:
        """Undoes the changes."""
        self._patches.undo()

    def _replace(self, owner: Any, name: str, change: Callable[[Any], Any]) -> None:
        self._patches.replace(owner, name, change(getattr(owner, name)))

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Returns `_compile_fx_inner`, which releases other processes at its end, also if it raises an error."""

        @functools.wraps(original)
        def _compile_fx_inner(graph: Any, *given: Any, **named: Any) -> Any:
            compile = Compile(*(self._sharing(graph) if _graphs_open() else (None, ())))
            token = current.set(compile)
            try:
                return original(graph, *given, **named)
            finally:
                current.reset(token)
                if compile.step is not None:
                    compile.step.fail()  # has no effect after a put

        return _compile_fx_inner

    def _sharing(self, graph: Any) -> tuple[Optional[Steps], tuple[str, ...]]:
        """Returns the steps of a graph's compile, and the calls of the program's operators. No steps if each process or each
        rank must compile it. The unknown is not shared."""
        try:
            operators = _operators.calls(graph)
            if not _ranks.several():
                return self._alone, operators
            reason = _ranks.why_not_shared(graph)
            if not reason:
                return self._of_ranks, operators
            self._report.not_cached("graph", f"of a job with several ranks: {reason}")
        except Refused as refusal:
            self._report.not_cached("graph", str(refusal))
        except Exception as error:
            self._report.error("graph", error)
        return None, ()

    def _noting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Returns `autograd_cache_key`, which also notes the keys of entries that are not shared."""

        @functools.wraps(original)
        def autograd_cache_key(module: Any, inputs: Any, *given: Any, **named: Any) -> Any:
            found = original(module, inputs, *given, **named)
            try:
                decompositions = given[0].decompositions or {}
                reason = _operators.why_not_shared(getattr(module, "gm", module), inputs, decompositions)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            if reason:
                self._entries.leave(found[0], reason)
            return found

        return autograd_cache_key

    def _serves_compile(self) -> bool:
        compile = current.get()
        return compile is not None and compile.steps is not None

    def _serves_entries(self) -> bool:
        """Returns whether entries of AOTAutograd are shared. Those of ranks are not: what they leave out may have collectives."""
        try:
            return _entries_open() and not _ranks.several()
        except Exception as error:
            self._report.error("entry", error)
            return False

    def _stepping(self, original: Callable[..., None]) -> Callable[..., None]:
        def compile(builder: Any) -> Optional[bool]:
            described = self._headers.make(builder._build_option.precompiled_header)
            original(builder)
            return described

        @functools.wraps(original)
        def build(builder: Any) -> None:
            if builder._preprocessing or builder._precompiling:  # of a header, whose result names this directory
                return original(builder)
            self._libraries.run("library", lambda: _libraries.fields_of(builder), lambda: compile(builder),
                                lambda described: _libraries.read(builder) if described else None,
                                lambda value: _libraries.write(builder, value))

        return build


def _graphs_open() -> bool:
    """Returns whether the program leaves open if there is a remote cache of graphs, and has turned no cache off."""
    from torch._inductor import config

    return config.fx_graph_remote_cache is None and bool(config.fx_graph_cache) and not config.force_disable_caches


def _entries_open() -> bool:
    from torch._functorch import config

    return config.enable_remote_autograd_cache is None and bool(config.enable_autograd_cache) and _graphs_open()
