# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots: files with results and deposits for another daemon."""

from __future__ import annotations

import contextlib
import os
from ctypes import POINTER, Structure, byref, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, sizeof
from typing import NamedTuple

from .._errors import take_error
from .._library import Given, function, milliseconds, texts, wrong_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Any, Union

    from .._lease import Lease
    from .._records import Deposit
    from .._result import Result

    Named = Union[Result, Lease, Deposit, str]
    Path = Union[str, os.PathLike[str]]
    Time = Union[float, datetime]

_create = function("snapshot_create", c_int, c_void_p, c_int, c_void_p, c_uint32, c_void_p, c_void_p)
_delta = function("snapshot_delta", c_int, c_void_p, c_int, c_int, c_void_p, c_uint32, c_void_p, c_void_p)
_insert = function("snapshot_insert", c_int, c_void_p, c_int, c_uint32, c_void_p, c_void_p)


class _Filter(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("toolchain", Given),
        ("arch", Given),
        ("since", c_uint64),
        ("until", c_uint64),
        ("name_space", Given),
        ("uids", POINTER(c_uint32)),
        ("uid_count", c_size_t),
        ("all_users", c_int32),
        ("only_keys", c_int32),
        ("keys", POINTER(Given)),
        ("key_count", c_size_t),
    ]


class _Summary(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("records", c_uint64),
        ("bytes", c_uint64),
        ("left_out", c_uint64),
        ("shared", c_int32),
    ]


class SnapshotSummary(NamedTuple):
    """The counts of a call that wrote or inserted a snapshot."""

    records: int  #: entries that were written, or inserted
    bytes: int  #: size of the written file, or of the inserted entries, decompressed
    left_out: int  #: entries that the daemon does not have, for a written file; that it had already, for an insert
    shared: bool  #: whether the entries were inserted for all users


def snapshot_filter(toolchain: str | None = None, arch: str | None = None, after: Time | None = None,
                    before: Time | None = None, namespace: str | None = None, uids: Sequence[int] = (),
                    all_users: bool = False, results: Iterable[Named] | None = None) -> Any:
    """Returns a cccl_cache_snapshot_filter."""
    keys, key_count = texts([] if results is None else map(_key, results))
    return _Filter(sizeof(_Filter), _text(toolchain), _text(arch), _seconds(after), _seconds(before),
                   _text(namespace), (c_uint32 * len(uids))(*uids), len(uids), all_users, results is not None,
                   keys, key_count)


def _key(named: Named) -> str:
    key = named if isinstance(named, str) else getattr(named, "key", None)
    if not isinstance(key, str):
        raise wrong_type("each of results", "a Result, Lease, Deposit or str", named)
    return key


def _text(text: str | None) -> tuple[bytes, int]:
    encoded = (text or "").encode()
    return encoded, len(encoded)


def _seconds(time: Time | None) -> int:
    if time is None:
        return 0
    # 0 means no bound, so the earliest bound is 1.
    return max(1, int(time if isinstance(time, (int, float)) else time.timestamp()))


def _run(function: Callable[..., int], *arguments: Any) -> SnapshotSummary:
    summary, error = _Summary(sizeof(_Summary)), c_void_p()
    if function(*arguments, byref(summary), byref(error)):
        raise take_error(error)
    return SnapshotSummary(summary.records, summary.bytes, summary.left_out, bool(summary.shared))


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _written(path: Path) -> Iterator[int]:
    """Opens a file that appears at `path` only when the block has ended without an error. The file is synced first."""
    if os.path.exists(path) and not os.path.isfile(path):
        # A pipe or a device is written in place: a new file must not replace it.
        with _opened(path, os.O_WRONLY) as file:
            yield file
        return
    place = os.path.realpath(os.fsdecode(path))
    # The name is unpredictable because all users may be able to write to the directory.
    part = f"{place}.{os.urandom(8).hex()}.part"
    try:
        with _opened(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            yield file
            os.fsync(file)
        os.replace(part, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise
    # A user who may not read the directory can't open it to sync it.
    with contextlib.suppress(PermissionError), _opened(os.path.dirname(place), os.O_RDONLY) as directory:
        os.fsync(directory)


def create(client: int, path: Path, filter: Any, timeout: float | None) -> SnapshotSummary:
    with _written(path) as file:
        return _run(_create, client, file, byref(filter), milliseconds(timeout))


def delta(client: int, since: Path, path: Path, filter: Any, timeout: float | None) -> SnapshotSummary:
    with _opened(since, os.O_RDONLY) as earlier, _written(path) as file:
        return _run(_delta, client, earlier, file, byref(filter), milliseconds(timeout))


def insert(client: int, path: Path, timeout: float | None) -> SnapshotSummary:
    with _opened(path, os.O_RDONLY) as file:
        return _run(_insert, client, file, milliseconds(timeout))
