# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The warnings that numba gives while it compiles a kernel: they are kept with it, and given where it is loaded."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from typing import Any, Callable, Iterator, Optional, Tuple

from numba.cuda.core import errors

Warned = Tuple[str, str]  # the name of its class, and its text

_thread = threading.local()


def noting(original: Callable[..., None]) -> Callable[..., None]:
    """What NumbaWarning.__init__ is replaced by: each warning is made by the thread that compiles."""

    @functools.wraps(original)
    def __init__(warning: Any, *args: Any, **kwargs: Any) -> None:
        original(warning, *args, **kwargs)
        heard: Optional[dict[Warned, None]] = getattr(_thread, "heard", None)
        if heard is not None:
            heard[type(warning).__name__, str(warning)] = None

    return __init__


@contextlib.contextmanager
def heard() -> Iterator[dict[Warned, None]]:
    """The warnings that this thread makes meanwhile, in order, each once."""
    before, _thread.heard = getattr(_thread, "heard", None), {}
    try:
        yield _thread.heard
    finally:
        _thread.heard = before


def warn(given: list[Warned]) -> None:
    """Gives the warnings of a kernel's compile."""
    for name, text in given:
        kind = getattr(errors, name, errors.NumbaWarning)
        if not (isinstance(kind, type) and issubclass(kind, errors.NumbaWarning)):
            kind = errors.NumbaWarning
        warnings.warn(kind(text, highlighting=False), stacklevel=2)
