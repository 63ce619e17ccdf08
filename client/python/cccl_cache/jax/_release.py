# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of JAX. A release that has all of it is served, whatever its number."""

from __future__ import annotations

from .._plugin.switch import capable_release, differing, found

PACKAGE = "jax"
_COMPILER, _CACHE = "jax._src.compiler", "jax._src.compilation_cache"
_WRITE = ["cache_key", "compile_time_secs", "module_name", "backend", "executable"]
_FUNCTIONS = {
    (_COMPILER, "_compile_and_write_cache"): [
        "backend", "computation", "executable_devices", "compile_options", "host_callbacks", "module_name", "cache_key"],
    (_COMPILER, "_get_cache_key"): ["options", "backend", "computation", "devices", "override_fdo_profile"],
    (_CACHE, "compress_executable"): ["executable"],
    (_CACHE, "decompress_executable"): ["executable"],
    (_CACHE, "combine_executable_and_time"): ["serialized_executable", "compile_time"],
    (_CACHE, "extract_executable_and_time"): ["executable_and_time"],
}
# One of these: the releases that are served differ here.
_WRITES = [{(_COMPILER, "_cache_write"): parameters} for parameters in (_WRITE, [*_WRITE, "host_callbacks"])]
_ATTRIBUTES = [
    ("jax._src.lib", "_jax.LoadedExecutable.serialize"),
    ("jax._src.lib", "_jax.LoadedExecutable.unsafe_executable_pointer"),
    ("jax._src.lib", "_jax.Client.deserialize_executable"),
    ("jax._src.lib", "_jax.Client.serialize_executable"),
    ("jax._src.lib", "_jax.CompileOnlyPyClient"),
    ("jax._src.distributed", "global_state.client"),
    ("jax._src.config", "compilation_cache_check_contents.value"),
    ("jax._src.config", "remove_custom_partitioning_ptr_from_cache_key.value"),
]


def served_release() -> str:
    """Returns the package with its release. Imports JAX. Raises NotServed."""
    return capable_release(PACKAGE, _difference)


def _difference() -> str:
    """Returns what is missing or unknown in the package; empty if nothing is."""
    for module, name in _ATTRIBUTES:
        found(module, name)
    package = found("jax._src.lib", "_jax")
    for changed, name in ((package.Client, "serialize_executable"), (package.LoadedExecutable, "serialize")):
        setattr(changed, name, getattr(changed, name))  # raises an error if the class can't be changed
    return differing(_FUNCTIONS) or min(map(differing, _WRITES))  # empty if one of them is
