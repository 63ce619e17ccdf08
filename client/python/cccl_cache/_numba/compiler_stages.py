# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The three compiler libraries that numba-cuda and numba-cuda-mlir call, replaced by the daemon.

Both packages call the libraries through names in the same modules:

    cudadrv.nvvm.compile_ir   modules of NVVM IR with options -> PTX or LTO-IR
    cudadrv.nvrtc.Program     CUDA C++ -> PTX or LTO-IR
    cudadrv.driver.Linker     object codes -> a cubin or PTX

If the daemon can't serve a call or the code does not compile, the package's own compiler runs and raises its own errors.
The daemon's compilers must be the same files as in this process, because results of both are linked together.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import Any, Callable, ContextManager, Union

import cuda.bindings.nvjitlink
import cuda.bindings.nvrtc
import cuda.bindings.nvvm
from cuda.core import ObjectCode

import cccl_cache

from .._plugin import toolchain
from .._plugin.canonical import Refused
from .._plugin.daemon import ask
from .._plugin.switch import Patches
from .._plugin.report import Report
from .._plugin.toolchain import Compiler, OwnToolchain
from ..core._compile import from_daemon

_FAST = {"ftz": True, "fma": True, "prec_div": False, "prec_sqrt": False}
_DEBUG = "g"
_NVVM, _NVRTC, _NVJITLINK = "NVVM", "NVRTC", "nvJitLink"
Served = Callable[[cccl_cache.Client, str], Any]


class CompilerStages:
    """Serves the compiler calls of one package from the daemon. Thread-safe.

    `connect` returns the client. `wait` is the longest wait for a compile, in seconds. `waiting` is a context manager
    around each wait. The report counts `stages_served` and `stages_compiled`.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        wait: float,
        report: Report,
        waiting: Callable[[], ContextManager[None]] = contextlib.nullcontext,
    ):
        self._connect = connect
        self._client: Any = None
        self._wait = wait
        self._report = report
        self._waiting = waiting
        self._toolchains = {_NVRTC: OwnToolchain(_own_nvrtc), _NVJITLINK: OwnToolchain(_own_nvjitlink)}

    def attach(self, patches: Patches, nvvm: Any, nvrtc: Any, driver: Any) -> None:
        """Replaces the compilers in the modules of the package."""
        self._toolchains[_NVVM] = OwnToolchain(functools.partial(_own_nvvm, nvvm))
        patches.replace(nvvm, "compile_ir", self._compile_ir(nvvm, nvvm.compile_ir))
        patches.replace(nvrtc, "Program", functools.partial(_Program, self, nvrtc.Program))
        patches.replace(driver, "Linker", functools.partial(_Linker, self, driver.Linker))

    def serve(self, stage: str, served: Served, own: Callable[[], Any]) -> Any:
        """Returns the daemon's result, else that of the package's own compiler. `served` gets the id of the toolchain."""
        try:
            with self._waiting():
                client = self._connected()
                made = served(client, ask(client, lambda: self._toolchains[stage].id(client, self._wait)))
        except Exception as error:  # the package's own compiler may serve the call all the same, or has the better message
            self._toolchains[stage].failed(error)
            if not isinstance(error, cccl_cache.CompileError):
                kind = "" if isinstance(error, Refused) else f"{type(error).__name__}: "
                self._report.not_cached(stage, f"{kind}{error}")
            self._report.count("stages_compiled")
            return own()
        self._report.count("stages_served")
        return made

    def run(self, client: cccl_cache.Client, program: Union[cccl_cache.Nvvm, cccl_cache.Link]) -> cccl_cache.Result:
        """Returns the daemon's result. Raises as cccl_cache.Client.run does."""
        return ask(client, lambda: client.run(program))

    @property
    def wait(self) -> float:
        return self._wait

    def _connected(self) -> Any:
        if self._client is None:
            self._client = self._connect()
        return self._client

    def _compile_ir(self, nvvm: Any, original: Callable[..., bytes]) -> Callable[..., bytes]:
        @functools.wraps(original)
        def compile_ir(llvmir: Union[str, list[str]], **options: Any) -> bytes:
            if _DEBUG in options:  # the package compiles each module alone then, and first tests options
                return original(llvmir, **options)

            def served(client: cccl_cache.Client, own_toolchain: str) -> bytes:
                modules = [nvvm.llvm_replace(text) for text in ([llvmir] if isinstance(llvmir, str) else llvmir)]
                result = self.run(client, self._nvvm(modules, dict(options), own_toolchain))
                if result.log:
                    warnings.warn(result.log, category=getattr(nvvm, "NvvmWarning", UserWarning))
                return bytes(result.artifacts["ltoir" if "gen-lto" in options else "ptx"])

            made: bytes = self.serve(_NVVM, served, lambda: original(llvmir, **options))
            return made

        return compile_ir

    def _nvvm(self, modules: list[str], options: dict[str, Any], own_toolchain: str) -> cccl_cache.Nvvm:
        if options.pop("fastmath", False):
            options.update(_FAST)
        lto = "gen-lto" in options
        options.pop("gen-lto", None)
        return cccl_cache.Nvvm(
            modules,
            arch=options.pop("arch"),
            options=sorted(_option(name, value) for name, value in options.items()),
            libdevice=True,
            toolchain=own_toolchain,
            emit="ltoir" if lto else "ptx",
            timeout=self._wait,
        )


class _Program:
    """Replaces cuda.core.Program for CUDA C++."""

    def __init__(self, stages: CompilerStages, original: Callable[..., Any], code: Any, code_type: str, options: Any = None):
        self._stages = stages
        self._original = original
        self._given = code, code_type, options

    def compile(self, target_type: str, name_expressions: Any = (), logs: Any = None) -> Any:
        code, code_type, options = self._given

        def own() -> Any:
            return self._original(code, code_type, options=options).compile(target_type, name_expressions, logs)

        def served(client: cccl_cache.Client, own_toolchain: str) -> Any:
            made, log = from_daemon(
                code, code_type, target_type, options, name_expressions, client, self._stages.wait, own_toolchain
            )
            if logs is not None and log:
                logs.write(log)
            return made

        return self._stages.serve(_NVRTC, served, own)


class _Linker:
    """Replaces cuda.core.Linker. It links in `link`, and has the logs only after that."""

    def __init__(self, stages: CompilerStages, original: Callable[..., Any], *codes: Any, options: Any = None):
        self._stages = stages
        self._original = original
        self._options = options
        # The package (numba-cuda or numba-cuda-mlir) keeps all codes except the first in a set, so their order has no
        # meaning and may differ between processes. They are sorted here, so that the key of the link is the same in
        # every process.
        self._codes = [*codes[:1], *sorted(codes[1:], key=lambda code: (code.code_type, code.name or "", bytes(code.code)))]
        self._own: Any = None
        self._log = ""

    def link(self, target_type: str) -> Any:
        def served(client: cccl_cache.Client, own_toolchain: str) -> Any:
            arguments = [option.decode() for option in self._options.as_bytes()]
            program = cccl_cache.Link(
                [(code.name or "", bytes(code.code), code.code_type) for code in self._codes],
                arch=self._options.arch,
                options=[each for each in arguments if each != "-ptx" and not each.startswith("-arch=")],
                toolchain=own_toolchain,
                emit=target_type,
                timeout=self._stages.wait,
            )
            result = self._stages.run(client, program)
            self._log = result.log
            make = ObjectCode.from_cubin if target_type == "cubin" else ObjectCode.from_ptx
            return make(bytes(result.artifacts[target_type]))

        return self._stages.serve(_NVJITLINK, served, lambda: self._link_here(target_type))

    def get_info_log(self) -> str:
        return str(self._own.get_info_log()) if self._own is not None else self._log

    def get_error_log(self) -> str:
        return str(self._own.get_error_log()) if self._own is not None else ""

    def close(self) -> None:
        if self._own is not None:
            self._own.close()

    def _link_here(self, target_type: str) -> Any:
        self._own = self._original(*self._codes, options=self._options)
        return self._own.link(target_type)


def _own_nvvm(nvvm: Any) -> Compiler:
    libdevice = nvvm.get_libdevice()
    if libdevice is None:
        raise Refused("libdevice can't be found")
    cuda.bindings.nvvm.version()  # loads the library
    return toolchain.nvvm(libdevice)


def _own_nvrtc() -> Compiler:
    cuda.bindings.nvrtc.nvrtcVersion()  # loads the library
    return toolchain.nvrtc()


def _own_nvjitlink() -> Compiler:
    cuda.bindings.nvjitlink.version()  # loads the library
    return toolchain.nvjitlink()


def _option(name: str, value: Any) -> str:
    flag = "-" + name.replace("_", "-")
    return flag if value is None else f"{flag}={int(value) if isinstance(value, bool) else value}"
