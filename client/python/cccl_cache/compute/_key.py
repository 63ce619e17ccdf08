# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The key of one build: fields that a person can read in a listing, and digests for the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _arguments
from ._canonical import digest
from ._environment import native_environment, python_environment
from ._registrations import check_registrations

SCHEMA = "1"


class Key(NamedTuple):
    """`fields` goes to the daemon; `digest` stands for them in this process."""

    fields: dict[str, str]
    digest: str


def build_key(release: str, wrapper: Any, initializer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
    """The key of building `wrapper` from these arguments. Raises Refused with the reason where there is none."""
    description = _arguments.describe_construction(wrapper, initializer, args, kwargs)
    python = "none"
    if _arguments.compiles_python(description):
        check_registrations()
        python = python_environment()
    fields = {
        "schema": SCHEMA,
        "package": f"cuda-cccl {release}",
        "algorithm": type(wrapper).__qualname__.lstrip("_"),
        "compute_capabilities": _targets(kwargs.get("compute_capability")),
        "arguments": digest(description),
        "native": native_environment(),
        "python": python,
    }
    return Key(fields, digest(tuple(sorted(fields.items()))))


def _targets(compute_capability: Any) -> str:
    from cuda.compute._cccl_interop import cc_to_key, normalize_compute_capabilities
    from cuda.compute._target_cc import get_target_cc

    targets = normalize_compute_capabilities(compute_capability) or [get_target_cc()]
    return " ".join(str(cc_to_key(target)) for target in targets)
