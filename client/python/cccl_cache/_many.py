# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Many builds at once, on threads: each waits for the daemon without the interpreter's lock."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from ._errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Union

    from ._client import Client, Program
    from ._result import Result

    Finished = tuple[int, Union[Result, Error]]

# As many as wait at once; the daemon has a line per user anyway.
_THREADS = 32


def build_many(client: Client, programs: Iterable[Program]) -> Iterator[Finished]:
    """What `Client.build_many` gives."""
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="cccl_cache")
    numbers: dict[Future[Result], int] = {}
    try:
        for number, program in enumerate(programs):
            numbers[pool.submit(client.run, program)] = number
        for done in as_completed(numbers):
            yield numbers[done], _end_of(done)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _end_of(done: Future[Result]) -> Result | Error:
    try:
        return done.result()
    except Error as error:
        return error
