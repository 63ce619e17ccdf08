# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Triton's cache manager over the daemon.

Triton makes one manager for each compile. At a hit it calls ``get_group`` alone. At a miss it calls ``get_group``, ``put``
for each file, and ``put_group``. If the compile fails in between, Triton drops the manager without a call. The files
therefore stay in memory until ``put_group``, and a manager that still has its lease at its end reports a failure.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import sysconfig
import threading
import weakref
from typing import Any, Optional

from triton import __version__, knobs
from triton.runtime.cache import FileCacheManager

from .._plugin.leases import Deposits, Key, Offer, Settings
from . import switch
from ._groups import Directory, pack, unpack
from ._touches import Touches

NAMESPACE = "triton"
_FORMAT = 1
_WAIT = "CCCL_CACHE_TRITON_WAIT"
_LIBC = platform.libc_ver()
_LIBRARY = sysconfig.get_config_var("EXT_SUFFIX")
_thread = threading.local()


def _settings() -> Settings:
    settings = Settings(group=os.environ.get("CCCL_CACHE_TRITON_GROUP") or None)
    try:
        wait = float(os.environ.get(_WAIT) or settings.wait)
        return settings._replace(wait=wait)
    except ValueError as error:
        switch.report.error(_WAIT, error)
        return settings


_deposits = Deposits(NAMESPACE, _settings(), switch.report)
_touches = Touches(_deposits)


def _by_itself() -> bool:
    """Returns whether Triton's result depends on an input that its key does not cover."""
    own = knobs.compilation
    hook = getattr(knobs.runtime, "add_stages_inspection_hook", None)  # Triton 3.5 has none
    return bool(own.override or own.always_compile or own.use_ir_loc or hook)


class CacheManager(FileCacheManager):  # type: ignore[misc]  # of a package without types
    """Triton's cache manager of one key. It looks in Triton's directory first, then asks the daemon."""

    def __init__(self, key: str, override: bool = False, dump: bool = False):
        self._offer: Optional[Offer] = None
        self._files: Optional[dict[str, bytes]] = None  # of the group in compilation
        super().__init__(key, override=override, dump=dump)
        self._directory = Directory(self.cache_dir)
        self._plain = override or dump or _by_itself()

    def get_group(self, filename: str) -> Optional[dict[str, str]]:
        found = self._directory.group(filename)
        if self._plain:
            return found
        if found is not None:
            switch.report.count("hits_local")
            _touches.note(self._key(filename), lambda: self._directory.age(filename))
            return found
        files = self._ask(filename)
        if files is not None:
            return self._directory.install(filename, files)
        self._files = {}
        return None

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        if self._plain or (self._files is None and not filename.endswith(_LIBRARY)):
            return str(super().put(data, filename, binary))
        contents = data if isinstance(data, bytes) else str(data).encode()
        if self._files is not None:
            self._files[filename] = contents
            return self._directory.file(filename)
        self._publish({filename: contents})
        return self._directory.install_file(filename, contents)

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        files, self._files = self._files, None
        if files is None:
            return str(super().put_group(filename, group))
        # Triton's key covers the name of the override file, but not its contents.
        if json.loads(files[filename]).get("ir_override"):
            switch.report.not_cached(filename, "ir_override replaces what Triton compiles")
            self._give_up()
        self._publish(files)
        self._directory.install(filename, files)
        return self._directory.manifest(filename)

    def get_file(self, filename: str) -> Optional[str]:
        found: Optional[str] = super().get_file(filename)
        if found is not None or self._plain or not filename.endswith(_LIBRARY) or knobs.build.impl:
            return found  # autotuning runs kernels that may wait for kernels of other processes, so it must not hold a lease
        files = self._ask(filename)
        return None if files is None else self._directory.install_file(filename, files[filename])

    def __del__(self) -> None:
        self._give_up()

    def _key(self, filename: str) -> Key:
        """Returns the key. A launcher's key also covers the C library that it is linked to, which Triton's key ignores."""
        what = [_FORMAT, __version__, self.key, filename, _LIBC, knobs.compilation.store_binary_only]
        digest = hashlib.sha256(json.dumps(what).encode()).hexdigest()
        return Key({"key": digest}, digest)

    def _ask(self, filename: str) -> Optional[dict[str, bytes]]:
        """Returns the deposit. None if this process must compile: the others wait until it publishes or gives up."""
        stale = getattr(_thread, "manager", lambda: None)()
        if stale is not None:
            stale._give_up()  # an earlier compile of this thread failed, and a kept traceback holds its manager
        self._directory.sweep()
        offer = _deposits.open(self._key(filename), filename)
        files = offer.read(functools.partial(_group, filename))
        if files is not None:
            switch.report.count("hits")
            offer.close()
            return files
        switch.report.count("released", int(offer.released))
        self._offer, _thread.manager = offer, weakref.ref(self)
        return None

    def _publish(self, files: dict[str, bytes]) -> None:
        switch.report.count("builds")
        offer, self._offer = self._offer, None
        if offer is not None:
            offer.publish(pack(files))
            offer.close()

    def _give_up(self) -> None:
        offer, self._offer = self._offer, None
        if offer is not None:
            offer.fail()
            offer.close()


def _group(filename: str, packed: bytes) -> dict[str, bytes]:
    files = unpack(packed)
    if filename not in files:
        raise ValueError(f"a group has no {filename}")
    return files
