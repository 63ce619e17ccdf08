# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a compile of JAX: JAX's own key, and what that key forgets.

JAX's key has the module without debug information, jaxlib's version, the platform's version, the topology with the features of
the processor, XLA_FLAGS and the options of the compile. The options name the directory of JAX's cache, which is left out here.
JAX's key has neither the build of jaxlib and of the GPU's plug-in, nor the contents of the compilers and libraries of CUDA and
of files that flags name, nor the environment variables of XLA, nor the number of threads for which the CPU is compiled for.
"""

from __future__ import annotations

import copy
import functools
import glob
import hashlib
import io
import os
import sys
from typing import Any, Iterator, Sequence

from .._plugin.canonical import Description, Refused
from .._plugin.loaded import contents

# Variables that XLA and the libraries below it read. XLA_FLAGS is part of JAX's key. The others belong to
# Terraform, name the process in its job, or decide what is logged.
_READ = ("CUBLAS", "CUDNN_", "DISABLE_", "DNNL_", "LLVM_", "MLIR_", "NCCL_", "NVIDIA_TF32_", "OMP_NUM_THREADS", "ONEDNN_", "PJRT_",
         "TF_", "TRITON_", "XLA_")
_NOT_READ = ("TF_CLI_", "TF_CONFIG", "TF_CPP_", "TF_VAR_", "XLA_FLAGS")
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
    if "jax.experimental.serialize_executable" in sys.modules:
        raise Refused("the program serializes executables")  # and XLA serializes some loaded executables incompletely
    flags = _flags(options)
    key = compiler._get_cache_key(_without_directory(options), backend, computation, numpy.array(devices))
    if key is None:
        raise Refused("JAX has no key")
    return {
        "key": key,
        "compression": compilation_cache.compress_executable(b""),
        "files": tuple((name, contents(value)) for name, value in flags if "cache" not in name and os.path.exists(value)),
        "variables": tuple(sorted((name, value) for name, value in os.environ.items()
                                  if name.startswith(_READ) and not name.startswith(_NOT_READ))),
        "platform": _platform(backend.platform, options),
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


def _without_directory(options: Any) -> Any:
    """Returns a copy of the options without the paths of JAX's own cache."""
    shared = copy.deepcopy(options)
    debug = shared.executable_build_options.debug_options
    for name in ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir"):
        if hasattr(debug, name):
            setattr(debug, name, "")
    return shared


def _platform(name: str, options: Any) -> Description:
    if name == "cpu":
        return name, _records(("jaxlib",)), len(os.sched_getaffinity(0))
    if name != "gpu":
        raise Refused(f"the platform {name}")
    versions = [module for each, module in list(sys.modules.items())
                if each.startswith("jax") and each.endswith("._versions") and hasattr(module, "cublas_get_version")]
    if not versions:
        raise Refused("a GPU without CUDA")
    return (name, _records(("jaxlib", "jax_cuda", "nvidia_")),
            tuple(getattr(versions[0], f"{each}_get_version")() for each in _VERSIONS),
            tuple(_tools(options.executable_build_options.debug_options.xla_gpu_cuda_data_dir)))


def _tools(data_directory: str) -> Iterator[str]:
    """Yields the digests of CUDA's compilers in all directories in which XLA looks for them, in a fixed order."""
    nvidia = sys.modules.get("nvidia")
    roots = [data_directory, "cuda_sdk_lib", "/usr/local/cuda", "/opt/cuda", sys.prefix]
    roots += sorted(root for path in getattr(nvidia, "__path__", ()) for root in glob.glob(f"{glob.escape(path)}/*/"))
    patterns = [os.path.join(glob.escape(root), tool) for root in roots if root for tool in _TOOLS]
    patterns += [os.path.join(glob.escape(directory or "."), os.path.basename(tool))
                 for directory in os.environ.get("PATH", "").split(os.pathsep) for tool in _TOOLS[:3]]
    found = (os.path.realpath(path) for pattern in patterns for path in sorted(glob.glob(pattern)))
    for path in dict.fromkeys(found):
        yield contents(path)


@functools.lru_cache(maxsize=None)
def _records(names: tuple[str, ...]) -> Description:
    """Returns the digests of the files of installed wheels whose names begin with one of these, by their RECORDs. They are
    read once, because the process has loaded the libraries."""
    packages = [module for name, module in list(sys.modules.items()) if name == "nvidia" or name.startswith("jax") and "." not in name]
    sites = {os.path.dirname(path) for package in packages for path in getattr(package, "__path__", ())}
    records = sorted(record for site in sites for name in names
                     for record in glob.glob(f"{glob.escape(site)}/{name}*.dist-info/RECORD"))
    if not any(os.path.basename(os.path.dirname(record)).startswith("jaxlib-") for record in records):
        raise Refused("jaxlib was not installed from a wheel")
    return tuple(sorted(map(_record_digest, records)))


def _record_digest(record: str) -> str:
    """Returns the digest of a wheel's files. Files that the installer has added or compiled do not count."""
    with open(record, encoding="utf-8") as lines:
        files = sorted(line for line in lines if ",sha256=" in line and ".dist-info/" not in line)
    return hashlib.sha256("".join(files).encode()).hexdigest()
