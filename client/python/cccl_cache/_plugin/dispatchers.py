# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Functions under cuda.jit, of numba-cuda and of numba-cuda-mlir, as parts of the code that reaches them.

Such a function keeps the code that it was first compiled to, with the values that its globals had then. It has an
identity only while its present state is the one that it was compiled from.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, Iterable, Mapping

from .canonical import Description, Refused, digest, encode
from .functions import Walk

_NO_INFLUENCE = {"cache", "profile_jit"}
_seen: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class DispatcherForm:
    """How the functions of one package are described.

    `package` is where their class comes from; `refused` names the options that no key stands for, with the reason;
    `target` says what, besides the function, its first compile depends on; `named_elsewhere` are the options that the
    key has in other words.
    """

    def __init__(
        self,
        package: str,
        refused: Mapping[str, str],
        target: Callable[[], Description] = lambda: (),
        named_elsewhere: Iterable[str] = (),
    ):
        self._package = package
        self._refused = dict(refused)
        self._target = target
        self._left_out = _NO_INFLUENCE.union(named_elsewhere)

    def describe(self, dispatcher: Any, walk: Walk) -> Description:
        """The function with its options. Raises Refused if it was compiled from something else, or unseen."""
        kind = type(dispatcher)
        if kind.__module__.partition(".")[0] != self._package:
            raise Refused(f"a compiled function of {kind.__module__}")
        name = getattr(dispatcher.py_func, "__name__", "?")
        first = walk.meets(dispatcher)  # and not its function, of which there may be several
        description = ("dispatcher", walk.function(dispatcher.py_func), self.options(name, dispatcher.targetoptions))
        if first and not walk.apart:
            _check_unchanged(name, dispatcher, digest((walk.alone().value(dispatcher), self._target())))
        return description

    def options(self, name: str, given: Mapping[str, Any]) -> Description:
        """The options of a function. Raises Refused for one that no key covers."""
        options = dict(given)
        for option, reason in self._refused.items():
            if options.pop(option, None):
                raise Refused(f"cuda.jit function '{name}': {reason}")
        return tuple((key, _option(name, key, options[key])) for key in sorted(options) if key not in self._left_out)


def _option(name: str, option: str, value: Any) -> Description:
    if isinstance(value, (list, set)):
        value = tuple(sorted(value)) if isinstance(value, set) else tuple(value)
    try:
        encode(value)
    except Refused:
        raise Refused(f"cuda.jit function '{name}': its option '{option}'") from None
    return ("option", value)


def _check_unchanged(name: str, dispatcher: Any, now: str) -> None:
    with _lock:
        first = _seen.get(dispatcher)
        if first is None:
            if dispatcher.overloads:
                raise Refused(f"cuda.jit function '{name}' was compiled before it was seen here")
            _seen[dispatcher] = now
        elif first != now:
            _seen[dispatcher] = ""  # for good: a compile meanwhile has another state
            raise Refused(f"cuda.jit function '{name}' changed after its first use")
