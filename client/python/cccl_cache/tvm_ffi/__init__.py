# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the modules that ``tvm_ffi.cpp`` builds in the node's daemon.

    >>> import cccl_cache.tvm_ffi
    >>> cccl_cache.tvm_ffi.install()

After this call, a module of ``tvm_ffi.cpp.load_inline``, ``load`` and ``build`` is built once for all processes of this
user, whatever their cache directories. While one process builds it, the others wait for that build. TVM-FFI's file locks
keep their behaviour. The plug-in stays off for releases of TVM-FFI in which it does not find what it changes. It raises no
errors of its own.
"""

from __future__ import annotations

from .._plugin.leases import LEASE_LIMIT, Settings
from .._plugin.switch import Hooks, Switch, installed_release, installer
from ..steps._steps import report_of
from ._release import PACKAGE, served_release

__all__ = ["install", "status", "uninstall"]

NAMESPACE = "tvm_ffi"
switch = Switch("TVM-FFI", "CCCL_CACHE_TVM_FFI", served_release, report_of(NAMESPACE, __name__), module="tvm_ffi.cpp.extension",
                find_unimported=lambda: f"{PACKAGE} {installed_release(PACKAGE)}")


def _make_hooks(settings: Settings, release: str) -> Hooks:
    from ._hooks import TvmFfiHooks

    return TvmFfiHooks(NAMESPACE, settings, switch.report)


install = installer(switch, _make_hooks, LEASE_LIMIT)
status, uninstall = switch.status, switch.uninstall
