# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to the daemon about itself and about builds."""

from __future__ import annotations

import json
from ctypes import byref, c_char_p, c_int, c_int32, c_uint32, c_void_p, sizeof

from . import _library
from ._errors import call, take_error
from ._library import Received, function, milliseconds
from ._records import (Component, Difference, Explanation, Health, RejectedToolchain, Statistic, Statistics,
                       TierLook, Toolchain, Toolchains)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._programs import Program

_check_health = function("check_health", c_int, c_void_p, c_uint32, c_void_p, c_void_p)
_query = function("query", c_int, c_void_p, c_char_p, c_void_p, c_void_p, c_void_p)
_json_text = function("json_text", Received, c_void_p)
_json_free = function("json_free", None, c_void_p)


def health(client: int, socket: str, timeout: float | None) -> Health:
    serving, error = c_int32(), c_void_p()
    if _check_health(client, milliseconds(timeout), byref(serving), byref(error)):
        raise take_error(error)
    daemon = query(client, "info", timeout)
    return Health(bool(serving.value), socket, daemon["version"], daemon["api_minor"], daemon["fingerprint_layout"],
                  daemon["uid"], daemon["limits"], daemon["problem"])


def query(client: int, question: str, timeout: float | None, *arguments: str) -> dict[str, Any]:
    """Returns the answer to one of the questions that client_c.h lists. Each argument is "NAME=VALUE"."""
    options = _library.QueryOptions(sizeof(_library.QueryOptions), *_library.texts(arguments), milliseconds(timeout))
    return _take(call(_query, client, question.encode(), byref(options)))


def _take(answer: int) -> dict[str, Any]:
    try:
        return dict(json.loads(_json_text(answer).bytes()))
    finally:
        _json_free(answer)


def stats(client: int, timeout: float | None) -> Statistics:
    return Statistics(Statistic(each["name"], each["label"], float(each["value"]), each["gauge"], each["help"])
                      for each in query(client, "stats", timeout)["statistics"])


def toolchains(client: int, timeout: float | None) -> Toolchains:
    found = query(client, "toolchains", timeout, f"driver_version={_library.driver_version()}")
    used = tuple(Toolchain(each["id"], each["version"], each["root"], each["selected_by_default"],
                           tuple(Component(part["name"], part["version"], part["id"], part["path"])
                                 for part in each["components"]),
                           tuple(each["header_directories"]), tuple(each["accepted_options"]),
                           tuple(each["architectures"]))
                 for each in found["toolchains"])
    return Toolchains(used, tuple(RejectedToolchain(**each) for each in found["rejected"]))


def explain(client: int, what: Program | str, timeout: float | None) -> Explanation:
    if isinstance(what, str):
        found = query(client, "explain", timeout, "key=" + what)
    else:
        found = _take(call(what.explain, client, byref(what.fields), what.options()))
    nearest = found.get("nearest", {"key": "", "outcome": "", "time_ms": 0})
    return Explanation(
        found["verdict"], found["tier"], found["reason"], found["since_ms"], nearest["key"], nearest["outcome"],
        nearest["time_ms"], tuple(Difference(*each.values()) for each in found["differences"]),
        found["more_differences"], tuple(TierLook(**each) for each in found["tiers"]))
