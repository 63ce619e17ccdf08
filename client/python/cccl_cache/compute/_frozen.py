# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The identities that operators had when they were compiled.

An iterator keeps the code of its operator. If a global of the operator changes later, the iterator's code has the old
value, but the operator's description has the new value. A build with such an iterator must not be deposited. This module
therefore records the identity of each operator at its compile.
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
    """Records the identity from which the code of `symbol` was compiled. A process uses each symbol once."""
    with _compiled_lock:
        _compiled[symbol] = identity
        while len(_compiled) > _MOST_COMPILED:
            _compiled.popitem(last=False)


def check_not_frozen(iterator: Any) -> None:
    """Raises Refused if the operator of an iterator has changed since its compile."""
    from cuda.compute._caching import CachableFunction

    function = getattr(iterator._transform_op, "func", None)
    if function is None:
        return
    for operation in iterator._compiled_op.values():
        with _compiled_lock:
            identity = _compiled.get(operation.name)
        if identity is None or identity != CachableFunction(function)._identity[-1]:
            raise Refused("an iterator was compiled before its operator changed")
