# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Deposits: artifacts that only clients can make, one client at a time, and that the daemon keeps."""

from __future__ import annotations

from ctypes import POINTER, Structure, byref, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, pointer, sizeof

from . import _library
from ._snapshots import recording
from ._errors import call, take_error
from ._library import Given, Received, describe, function, milliseconds
from ._records import Deposit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Any, NoReturn, Union

    Value = Union[bytes, str, int]

_acquire = function("acquire", c_int, c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p)
_deposit_contents = function("deposit_contents", Received, c_void_p)
_deposit_id = function("deposit_id", Received, c_void_p)
_deposit_free = function("deposit_free", None, c_void_p)
_lease_held = function("lease_held", c_int32, c_void_p)
_lease_released = function("lease_released", c_int32, c_void_p)
_lease_id = function("lease_id", Received, c_void_p)
_lease_fence = function("lease_fence", c_uint64, c_void_p)
_lease_publish = function("lease_publish", c_int, c_void_p, Given, c_uint32, c_void_p)
_lease_abandon = function("lease_abandon", None, c_void_p)
_lease_fail = function("lease_fail", None, c_void_p)
_lease_free = function("lease_free", None, c_void_p)
_list_deposits = function("list_deposits", c_int, c_void_p, c_uint32, c_void_p, c_void_p)
_deposits_count = function("deposits_count", c_size_t, c_void_p)
_deposits_item = function("deposits_item", None, c_void_p, c_size_t, c_void_p)
_deposits_free = function("deposits_free", None, c_void_p)
_touch_deposits = function("touch_deposits", c_int, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p)
_remove_deposit = function("remove_deposit", c_int, c_void_p, Given, c_uint32, c_void_p, c_void_p)


class _Key(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name_space", Given),
        ("fields", POINTER(_library.NamedContents)),
        ("field_count", c_size_t),
        ("group", Given),
        ("released_at_limit", c_int32),
        ("replaces", c_int32),
        ("waits_only", c_int32),
    ]


class _DepositInfo(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("key", Received),
        ("name_space", Received),
        ("is_group", c_int32),
        ("gid", c_uint32),
        ("size", c_uint64),
        ("made_at", c_uint64),
        ("used_at", c_uint64),
    ]


def _encoded(value: Value) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _check_fields(fields: Mapping[str, Value]) -> None:
    if not hasattr(fields, "items"):
        raise _library.wrong_type("fields", "a mapping of str to bytes, str or int", fields)
    for name in fields:
        _library.check_type("each name in fields", "a str", name, str)


def _key(namespace: str, fields: Mapping[str, Value], group: str | None) -> _Key:
    _library.check_type("namespace", "a str", namespace, str)
    _library.check_type("group", "a str", group, str, type(None))
    _check_fields(fields)
    pairs = [(name, _encoded(value)) for name, value in fields.items()]
    array, count = _library.named(pairs)
    space, members = namespace.encode(), (group or "").encode()
    return _Key(sizeof(_Key), (space, len(space)), array, count, (members, len(members)))


class Lease:
    """A deposit, or the right to make it. `Client.lease` returns it.

    The end of its ``with`` block abandons a lease that was not published. For one thread at a time. A child process
    does not hold the leases of its parent.

    Attributes
    ----------
    contents : bytes or None
        The deposit. None if this process must make it and then call `publish`, `abandon` or `fail`.
    key : str
        The key of the deposit, in hexadecimal.
    """

    def __init__(self, client: int, namespace: str, fields: Mapping[str, Value], group: str | None,
                 timeout: float | None, replace: bool, wait_only: bool, released_at_limit: bool) -> None:
        self._lease = 0
        self.contents: bytes | None = None
        key = _key(namespace, fields, group)
        key.replaces = bool(replace)
        key.waits_only = bool(wait_only)
        key.released_at_limit = bool(released_at_limit)
        hit = c_void_p()
        self._lease = call(_acquire, client, byref(key), milliseconds(timeout), byref(hit))
        if hit.value:
            self.contents = _deposit_contents(hit).bytes()
            self.key = str(_deposit_id(hit).text())
            _deposit_free(hit)
            recording.note(self.key)
        else:
            self.key = str(_lease_id(self._lease).text())

    def __repr__(self) -> str:
        state = "held" if self.held else "deposited" if self.contents is not None else "given up"
        state = "released" if self.released else state
        return f"<cccl_cache.Lease {self.key[:16]} {state}>"

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.abandon()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a lease can't be copied, nor sent to another process: it has one owner")

    def __del__(self, free: Any = _lease_free) -> None:
        free(self._lease)

    @property
    def held(self) -> bool:
        """Returns whether this process still holds the lease, as far as the library knows."""
        return bool(self._lease and _lease_held(self._lease))

    @property
    def released(self) -> bool:
        """Returns whether the holder called `fail` while this process waited, or, with `wait_only`, no process makes the
        contents, or, with `released_at_limit`, the user holds as many leases as it may. This process then makes the
        contents for itself, and can't publish them."""
        return bool(self._lease and _lease_released(self._lease))

    @property
    def fence(self) -> int:
        """Returns a number that is greater than the fence of every earlier lease of this daemon; 0 without a lease."""
        return int(_lease_fence(self._lease)) if self._lease else 0

    def publish(self, contents: bytes, *, timeout: float | None = None) -> None:
        """Deposits the contents. All waiting processes get them.

        Parameters
        ----------
        contents : bytes
            The contents.
        timeout : float, optional
            Seconds for the call. Default: 30.

        Raises
        ------
        Error
            ``status`` is ``"lease-lost"`` if this process did not hold the lease any more. Nothing was deposited then. Only
            if the daemon ended during the call, the contents may be deposited, and the message says so. With
            ``"unavailable"``, for a daemon that hangs, they may be deposited too.
        """
        if not self._lease:
            raise ValueError("there is no lease to publish under: the contents are deposited already")
        _library.check_type("contents", "bytes", contents, bytes)
        error = c_void_p()
        given = Given(contents, len(contents))
        if _lease_publish(self._lease, given, milliseconds(timeout), byref(error)):
            raise take_error(error)
        self.contents = contents
        recording.note(self.key)

    def abandon(self) -> None:
        """Gives the lease up, so that the next waiting process gets it. Does nothing after `publish`."""
        if self._lease:
            _lease_abandon(self._lease)

    def fail(self) -> None:
        """Gives the lease up because the contents can't be made. Does nothing after `publish`.

        All waiting processes are released at once, and each makes the contents for itself: see `released`. The daemon
        does not remember the failure: a later caller gets the lease.
        """
        if self._lease:
            _lease_fail(self._lease)


def deposits(client: int, timeout: float | None) -> tuple[Deposit, ...]:
    found = call(_list_deposits, client, milliseconds(timeout))
    try:
        return tuple(_deposit(describe(_deposits_item, _DepositInfo, found, index))
                     for index in range(_deposits_count(found)))
    finally:
        _deposits_free(found)


def _deposit(info: _DepositInfo) -> Deposit:
    return Deposit(info.key.text(), info.name_space.text(), info.gid if info.is_group else None, info.size,
                   info.made_at, info.used_at)


def remove_deposit(client: int, key: str, timeout: float | None) -> bool:
    _library.check_type("key", "a str", key, str)
    removed, error, encoded = c_int32(), c_void_p(), key.encode()
    if _remove_deposit(client, Given(encoded, len(encoded)), milliseconds(timeout), byref(removed), byref(error)):
        raise take_error(error)
    return bool(removed.value)


def touch(client: int, namespace: str, deposits: Iterable[Mapping[str, Value]], group: str | None,
          timeout: float | None) -> None:
    keys = [_key(namespace, fields, group) for fields in deposits]
    pointers = (POINTER(_Key) * len(keys))(*map(pointer, keys))
    error = c_void_p()
    if _touch_deposits(client, pointers, len(keys), milliseconds(timeout), byref(error)):
        raise take_error(error)
