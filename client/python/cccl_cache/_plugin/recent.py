# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A bounded cache in the memory of a process."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Generic, Hashable, Optional, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """The `max_entries` values that were used last. Thread-safe, and usable after a fork."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[_Key, _Value] = OrderedDict()
        self._renew_lock()
        os.register_at_fork(after_in_child=self._renew_lock)  # a thread of the parent may hold it

    def get(self, key: _Key) -> Optional[_Value]:
        """Returns the value of a key, or None. The value counts as used now."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def keep(self, key: _Key, value: _Value) -> _Value:
        """Keeps a value unless the key has one. Returns the key's value."""
        with self._lock:
            kept = self._entries.setdefault(key, value)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
            return kept

    def clear(self) -> None:
        """Removes all values."""
        with self._lock:
            self._entries.clear()

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()
