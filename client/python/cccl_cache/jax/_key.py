# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a compile of JAX: JAX's own key, and what that key forgets.

JAX's key has the module without debug information, jaxlib's version, the platform's version, the topology with the features of
the processor, XLA_FLAGS and the options of the compile. The options name the directory of JAX's cache, which is left out here.
JAX's key has neither the build of XLA, nor the contents of CUDA's compilers and of files that flags name, nor the versions of
CUDA's libraries, nor the environment variables of XLA, nor the number of threads for which a processor's code is made.
"""

from __future__ import annotations

import copy
import functools
import glob
import io
import os
import sys
from typing import Any, Sequence

from .._plugin.canonical import Description, Refused
from .._plugin.loaded import contents, loaded_copies

# Variables that XLA and the libraries below it read. XLA_FLAGS is part of JAX's key. The others belong to
# Terraform, name the process in its job, or decide what is logged, or where Triton keeps results.
_READ = ("CUBLAS", "CUDNN_", "DISABLE_", "DNNL_", "LLVM_", "MLIR_", "NCCL_", "NPROC", "NVIDIA_TF32_", "OMP_NUM_THREADS",
         "ONEDNN_", "PJRT_", "TF_", "TRITON_", "XLA_")
_NOT_READ = ("TF_CLI_", "TF_CONFIG", "TF_CPP_", "TF_VAR_", "TRITON_CACHE_", "XLA_FLAGS")
_DATA_DIRECTORY = "xla_gpu_cuda_data_dir"  # only its tools count, since it may be a whole toolkit
_TOOLS = ("bin/fatbinary", "bin/nvlink", "bin/ptxas", "lib*/libnvJitLink.so.*", "nvvm/libdevice/*.bc")
_VERSIONS = ("cublas", "cuda_driver", "cuda_runtime", "cudnn", "cufft", "cusparse")


def fields_of(backend: Any, computation: Any, devices: Sequence[Any], options: Any, callbacks: bool) -> dict[str, Any]:
    """Returns the fields. Raises Refused if the compile can't be kept, or must not wait for another process. `callbacks` is
    whether the module calls functions of this process that JAX does not cache."""
    import numpy
    from jax._src import compilation_cache, compiler, config
    from jax._src.lib import _jax

    if callbacks:
        raise Refused("host callbacks")
    if len({device.process_index for device in devices}) > 1:
        # XLA's autotuning exchanges results between these processes, and waits 24 hours for one that does not compile.
        raise Refused("devices of several processes")
    if isinstance(backend, _jax.CompileOnlyPyClient):
        raise Refused("a compile for devices that are not here")
    if config.compilation_cache_check_contents.value:
        raise Refused("JAX compares each compile with its cache")
    if not config.remove_custom_partitioning_ptr_from_cache_key.value and _is_partitioned_by_python(computation):
        raise Refused("custom partitioning")
    flags = _flags(options)
    key = compiler._get_cache_key(_without_directory(options), backend, computation, numpy.array(devices))
    if key is None:
        raise Refused("JAX has no key")
    return {
        "key": key,
        "compression": compilation_cache.compress_executable(b""),
        "files": _files(flags),
        "variables": tuple(sorted((name, value) for name, value in os.environ.items()
                                  if name.startswith(_READ) and not name.startswith(_NOT_READ))),
        "platform": _platform(backend.platform, _data_directories(options, flags)),
    }


def _is_partitioned_by_python(computation: Any) -> bool:
    """Returns whether the module has the address of a Python function of this process."""
    bytecode = io.BytesIO()
    computation.operation.write_bytecode(bytecode)
    return b"CustomSPMDPartitioning" in bytecode.getvalue()


def _flags(options: Any) -> list[tuple[str, str]]:
    """Returns the flags that this process has given to XLA. Raises Refused if one asks XLA to write files."""
    given = os.environ.get("XLA_FLAGS", "").split()
    if any(not flag.startswith("--") for flag in given):
        raise Refused("XLA_FLAGS names a file")
    flags = [(name.lstrip("-"), value) for name, _, value in (flag.partition("=") for flag in given)]
    flags += [(name, str(value)) for name, value in options.env_option_overrides]
    if options.executable_build_options.debug_options.xla_dump_to or any("dump" in name for name, _ in flags):
        raise Refused("files of the compile are kept")
    return sorted(flags)


def _files(flags: list[tuple[str, str]]) -> Description:
    """Returns the digests of the files that flags name."""
    return tuple((name, contents(value)) for name, value in flags
                 if "cache" not in name and name != _DATA_DIRECTORY and os.path.exists(value))


def _without_directory(options: Any) -> Any:
    """Returns a copy of the options without the paths of JAX's own cache."""
    shared = copy.deepcopy(options)
    debug = shared.executable_build_options.debug_options
    for name in ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir"):
        if hasattr(debug, name):
            setattr(debug, name, "")
    return shared


def _data_directories(options: Any, flags: list[tuple[str, str]]) -> list[str]:
    """Returns the directories of CUDA that are given for this compile. Those of `flags` may not be in the options yet."""
    given = [getattr(options.executable_build_options.debug_options, _DATA_DIRECTORY)]
    return given + [value for name, value in flags if name == _DATA_DIRECTORY]


def _platform(name: str, data_directories: list[str]) -> Description:
    if name == "cpu":
        return name, _digests(tuple(loaded_copies("libjax_common.so"))), _processors()
    if name != "gpu":
        raise Refused(f"the platform {name}")
    versions = [module for each, module in list(sys.modules.items())
                if each.startswith("jax") and each.endswith("._versions") and hasattr(module, "cublas_get_version")]
    if not versions:
        raise Refused("a GPU without CUDA")
    return (name, _digests(tuple(loaded_copies("libjax_common.so") + loaded_copies("xla_cuda_plugin.so"))),
            tuple(getattr(versions[0], f"{each}_get_version")() for each in _VERSIONS), _digests(_tools(data_directories)))


@functools.lru_cache(maxsize=1)
def _processors() -> int:
    """Returns the number of processors at the first compile: XLA's pool keeps its size."""
    return len(os.sched_getaffinity(0))


@functools.lru_cache(maxsize=64)
def _digests(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the digests of files that this process loads or runs. They are read once in a process."""
    return tuple(map(contents, paths))


def _tools(data_directories: list[str]) -> tuple[str, ...]:
    """Returns CUDA's compilers in all directories in which XLA looks for them, in a fixed order."""
    nvidia = sys.modules.get("nvidia")
    roots = [*data_directories, "cuda_sdk_lib", "/usr/local/cuda", "/opt/cuda", sys.prefix]
    roots += sorted(root for path in getattr(nvidia, "__path__", ()) for root in glob.glob(f"{glob.escape(path)}/*/"))
    patterns = [os.path.join(glob.escape(root), tool) for root in roots if root for tool in _TOOLS]
    patterns += [os.path.join(glob.escape(directory or "."), os.path.basename(tool))
                 for directory in os.environ.get("PATH", "").split(os.pathsep) for tool in _TOOLS[:3]]
    return tuple(dict.fromkeys(os.path.realpath(path) for pattern in patterns for path in sorted(glob.glob(pattern))))
