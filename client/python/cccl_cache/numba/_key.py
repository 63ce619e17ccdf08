# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The key of one kernel: fields that a person can read in a listing, and digests of the other inputs."""

from __future__ import annotations

import os
from typing import Any, Mapping

from numba.cuda import dispatcher as numba_dispatcher
from numba.cuda.memory_management.nrt import NRT_LIBRARY
from numba.cuda.utils import cached_file_read

from .._numba.link_files import describe_link_files
from .._plugin.canonical import Description, digest
from .._plugin.dispatchers import DispatcherForm
from .._plugin.leases import Key
from ._environment import toolchain
from ._values import REFUSED_OPTIONS, VALUES

NAMESPACE = "numba.cuda"
SCHEMA = "1"
_KERNELS = DispatcherForm("numba", REFUSED_OPTIONS)
_RESHAPING = os.path.join(os.path.dirname(os.path.abspath(numba_dispatcher.__file__)), "reshape_funcs.cu")


def kernel_key(release: str, dispatcher: Any, argument_types: tuple[Any, ...], more: Mapping[str, str]) -> Key:
    """Returns the key of a kernel for these types of arguments, and for `more` inputs that only some kernels have.

    Raises Refused if the kernel has no key.
    """
    function = dispatcher.py_func
    options = dict(dispatcher.targetoptions)
    given = (file for file in options.pop("link", None) or () if not is_of_numba(file))
    files = describe_link_files(given, cached_file_read)
    walk = VALUES.walk()
    described: Description = (
        walk.function(function),
        _KERNELS.options(function.__name__, options),
        tuple(sorted(files)),
        tuple(VALUES.describe_type(each, walk) for each in argument_types),
    )
    fields = {
        "schema": SCHEMA,
        "package": release,
        "kernel": f"{function.__module__}.{function.__qualname__}",
        "compute_capability": "%d.%d" % tuple(numba_dispatcher.get_current_device().compute_capability),
        "arguments": ", ".join(map(str, argument_types))[:200],
        "function": digest(described),
        "toolchain": toolchain(),
        **more,
    }
    return Key(fields, digest(tuple(sorted(fields.items()))))


def is_of_numba(file: Any) -> bool:
    """Returns whether a linked file is numba's own. numba adds such files to the program's list at each compile."""
    return file is NRT_LIBRARY or file == _RESHAPING
