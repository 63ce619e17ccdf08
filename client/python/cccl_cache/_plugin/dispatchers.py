# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The identity of dispatchers: functions under cuda.jit, of numba-cuda and of numba-cuda-mlir.

A dispatcher keeps the code of its first compile, with the values that its globals had then. It has an identity only as
long as its state is the same as at that compile.
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
    """Describes the dispatchers of one package.

    `package` defines the class of the dispatchers. `refused` has the options that a key can't cover, with the reason.
    `target` returns the inputs of a first compile besides the function. `named_elsewhere` has the options that other
    fields of the key cover.
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
        """Returns the function with its options. Raises Refused if the function was compiled from another state, or
        before the plug-in was on."""
        kind = type(dispatcher)
        if kind.__module__.partition(".")[0] != self._package:
            raise Refused(f"a compiled function of {kind.__module__}")
        name = getattr(dispatcher.py_func, "__name__", "?")
        first = walk.meets(dispatcher)  # not the function, which may have several dispatchers
        description = ("dispatcher", walk.function(dispatcher.py_func), self.options(name, dispatcher.targetoptions))
        if first and not walk.apart:
            _check_unchanged(name, dispatcher, digest((walk.alone().value(dispatcher), self._target())))
        return description

    def options(self, name: str, given: Mapping[str, Any]) -> Description:
        """Returns the options of a function. Raises Refused for an option that a key can't cover."""
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
