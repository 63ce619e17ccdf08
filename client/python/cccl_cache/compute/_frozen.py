# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The identities that operators had when they were compiled.

An iterator keeps the code of its operator. If a global that the operator uses changes later, the iterator's code is of
the old value while the operator describes itself with the new one. Such a pair must never be kept, so the identity that
an operator had when it was compiled is recorded here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from .._plugin.canonical import Refused

_MOST_COMPILED = 4096
_compiled: OrderedDict[str, object] = OrderedDict()
_compiled_lock = threading.Lock()


def record_compiled(symbol: str, identity: object) -> None:
    """Notes that the code of `symbol`, a name that a process uses once, was compiled from this identity."""
    with _compiled_lock:
        _compiled[symbol] = identity
        while len(_compiled) > _MOST_COMPILED:
            _compiled.popitem(last=False)


def check_not_frozen(iterator: Any) -> None:
    """Raises Refused if an iterator holds code of an earlier state of its operator."""
    from cuda.compute._caching import CachableFunction

    function = getattr(iterator._transform_op, "func", None)
    if function is None:
        return
    for operation in iterator._compiled_op.values():
        with _compiled_lock:
            identity = _compiled.get(operation.name)
        if identity is None or identity != CachableFunction(function)._identity[-1]:
            raise Refused("an iterator was compiled before its operator changed")
