# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The settings (NUMBA_...) of numba-cuda and of numba-cuda-mlir."""

from __future__ import annotations

from typing import Any, Iterable

from .._plugin.canonical import Description, Refused


def describe_settings(config: Any, names: Iterable[str]) -> Description:
    """Returns the values of these settings. Raises Refused for a value that is not made of numbers and texts."""
    return tuple((name, _describe(name, getattr(config, name, None))) for name in names)


def _describe(name: str, value: object) -> object:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (list, tuple)):
        return tuple(_describe(name, element) for element in value)
    if value is None or isinstance(value, str):
        return value
    raise Refused(f"numba's setting {name}")
