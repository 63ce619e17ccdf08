# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The warnings of a kernel's compile. The deposit keeps them, and a process that loads the kernel gives them again."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from typing import Any, Callable, Iterator, Optional, Tuple

from numba.cuda.core import errors

Warned = Tuple[str, str]  # the name of the warning's class, and its text

_thread = threading.local()


def noting(original: Callable[..., None]) -> Callable[..., None]:
    """Returns a NumbaWarning.__init__ that records each warning for the thread that makes it, which compiles."""

    @functools.wraps(original)
    def __init__(warning: Any, *args: Any, **kwargs: Any) -> None:
        original(warning, *args, **kwargs)
        heard: Optional[dict[Warned, None]] = getattr(_thread, "heard", None)
        if heard is not None:
            heard[type(warning).__name__, str(warning)] = None

    return __init__


@contextlib.contextmanager
def heard() -> Iterator[dict[Warned, None]]:
    """Yields the warnings that this thread makes during the block, in order, each once."""
    before, _thread.heard = getattr(_thread, "heard", None), {}
    try:
        yield _thread.heard
    finally:
        _thread.heard = before


def warn(given: list[Warned]) -> None:
    """Gives the warnings of a kernel's compile again."""
    for name, text in given:
        kind = getattr(errors, name, errors.NumbaWarning)
        if not (isinstance(kind, type) and issubclass(kind, errors.NumbaWarning)):
            kind = errors.NumbaWarning
        warnings.warn(kind(text, highlighting=False), stacklevel=2)
