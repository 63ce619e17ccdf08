# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to the daemon about itself and about builds."""

from __future__ import annotations

import json
from ctypes import byref, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_void_p, sizeof

from . import _library
from ._errors import call, take_error
from ._library import Received, describe, function, milliseconds
from ._records import (Component, Difference, Explanation, Health, RejectedToolchain, Statistic, Statistics,
                       TierLook, Toolchain, Toolchains)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._programs import Program

_check_health = function("check_health", c_int, c_void_p, c_uint32, c_void_p, c_void_p)
_get_info = function("get_info", c_int, c_void_p, c_uint32, c_void_p, c_void_p)
_info_describe = function("info_describe", None, c_void_p, c_void_p)
_info_free = function("info_free", None, c_void_p)
_query = function("query", c_int, c_void_p, c_char_p, c_void_p, c_void_p, c_void_p)
_json_text = function("json_text", Received, c_void_p)
_json_free = function("json_free", None, c_void_p)
_get_toolchains = function("get_toolchains", c_int, c_void_p, c_uint32, c_uint32, c_void_p, c_void_p)
_toolchains_count = function("toolchains_count", c_size_t, c_void_p)
_toolchains_item = function("toolchains_item", None, c_void_p, c_size_t, c_void_p)
_toolchains_component = function("toolchains_component", None, c_void_p, c_size_t, c_size_t, c_void_p)
_toolchains_header_directory = function("toolchains_header_directory", Received, c_void_p, c_size_t, c_size_t)
_toolchains_accepted_option = function("toolchains_accepted_option", Received, c_void_p, c_size_t, c_size_t)
_toolchains_architecture = function("toolchains_architecture", Received, c_void_p, c_size_t, c_size_t)
_toolchains_rejected_count = function("toolchains_rejected_count", c_size_t, c_void_p)
_toolchains_rejected = function("toolchains_rejected", None, c_void_p, c_size_t, c_void_p)
_toolchains_free = function("toolchains_free", None, c_void_p)
_LIMITS = ("message_bytes", "source_bytes", "headers", "upload_bytes_per_uid", "connections_per_uid", "calls_per_uid",
           "calls", "build_seconds", "worker_bytes", "failures_remembered_seconds", "deposit_bytes",
           "deposit_bytes_per_uid", "leases_per_uid", "lease_heartbeat_ms", "queued", "queued_per_uid", "bytes_in_flight",
           "bytes_in_flight_per_uid", "connections", "upload_bytes", "lease_seconds")


def health(client: int, socket: str, timeout: float | None) -> Health:
    limit = milliseconds(timeout)
    serving, error = c_int32(), c_void_p()
    if _check_health(client, limit, byref(serving), byref(error)):
        raise take_error(error)
    info = call(_get_info, client, limit)
    try:
        daemon = describe(_info_describe, _library.DaemonFields, info)
        return Health(bool(serving.value), socket, daemon.version.text(), daemon.api_minor, daemon.fingerprint_layout,
                      daemon.uid, {name: getattr(daemon, name) for name in _LIMITS}, daemon.problem.text())
    finally:
        _info_free(info)


def query(client: int, question: str, timeout: float | None, *arguments: str) -> dict[str, Any]:
    """The answer to a question that client_c.h lists. Each of the arguments is "NAME=VALUE"."""
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
    found = call(_get_toolchains, client, _library.driver_version(), milliseconds(timeout))
    try:
        used = tuple(_toolchain(found, index) for index in range(_toolchains_count(found)))
        rejected = tuple(_rejected(found, index) for index in range(_toolchains_rejected_count(found)))
        return Toolchains(used, rejected)
    finally:
        _toolchains_free(found)


def _toolchain(toolchains: int, index: int) -> Toolchain:
    def texts(get: Callable[[int, int, int], Any], count: int) -> tuple[str, ...]:
        return tuple(get(toolchains, index, each).text() for each in range(count))

    fields = describe(_toolchains_item, _library.ToolchainFields, toolchains, index)
    components = tuple(_component(toolchains, index, each) for each in range(fields.component_count))
    return Toolchain(fields.id.text(), fields.version.text(), fields.root.text(), bool(fields.selected_by_default),
                     components, texts(_toolchains_header_directory, fields.header_directory_count),
                     texts(_toolchains_accepted_option, fields.accepted_option_count),
                     texts(_toolchains_architecture, fields.architecture_count))


def _component(toolchains: int, toolchain: int, index: int) -> Component:
    fields = describe(_toolchains_component, _library.ComponentFields, toolchains, toolchain, index)
    return Component(fields.name.text(), fields.version.text(), fields.id.text(), fields.path.text())


def _rejected(toolchains: int, index: int) -> RejectedToolchain:
    fields = describe(_toolchains_rejected, _library.RejectedFields, toolchains, index)
    return RejectedToolchain(fields.root.text(), fields.reason.text())


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
