# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The functions and types that packages register with a compiler of the numba family.

A registration changes the code to which other functions compile. The code of the package that registered it is
therefore an input of each compile.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import sys
from typing import Any, Callable, Iterable, Iterator, Mapping

from .canonical import Description, Refused
from .loaded import contents

_MADE_FROM = ("_overload_func", "_definition_func")


class Registrations:
    """The packages that have registered something in given registries. Not thread-safe.

    `known` has the packages whose files are in the key already. `home_of` returns the module of a class whose
    `__module__` does not name it.
    """

    def __init__(
        self,
        known: Iterable[str],
        home_of: Callable[[Any], str | None] = lambda definition: getattr(definition, "__module__", None),
    ):
        self._known = frozenset(known)
        self._home_of = home_of
        self._sizes: dict[int, int] = {}
        self._strangers: dict[int, set[str]] = {}

    def strangers(self, registries: Iterable[Any]) -> tuple[str, ...]:
        """Returns the other modules that registered something. A registry is read again only if its size has changed."""
        found: set[str] = set()
        for registry in registries:
            parts = list(_lists(vars(registry)))
            size = sum(map(len, parts))
            if self._sizes.get(id(registry)) != size:
                read: set[type] = set()
                homes = {home for part in parts for entry in part for home in self._homes(entry, read)}
                self._strangers[id(registry)] = {home for home in homes if home.partition(".")[0] not in self._known}
                self._sizes[id(registry)] = size
            found |= self._strangers[id(registry)]
        return tuple(sorted(found))

    def _homes(self, entry: Any, read: set[type]) -> Iterator[str]:
        """Yields the modules that define a registration's classes, their bases, and its functions. `read` has the classes
        of earlier registrations."""
        for part in entry if isinstance(entry, tuple) else (entry,):
            for found in (part, *getattr(part, "templates", ())):
                for attribute in _MADE_FROM:
                    found = getattr(found, attribute, found)
                if isinstance(found, type):
                    yield from self._homes_of(found, read)
                elif callable(found) and isinstance(home := self._home_of(found), str):
                    yield home

    def _homes_of(self, kind: type, read: set[type]) -> Iterator[str]:
        for definition in kind.__mro__:
            if definition not in read:
                read.add(definition)
                if isinstance(home := self._home_of(definition), str):
                    yield home


def _lists(holder: Mapping[Any, Any]) -> Iterator[list[Any]]:
    for part in holder.values():
        if isinstance(part, list):
            yield part
        elif isinstance(part, dict):
            yield from (each for each in part.values() if isinstance(each, list))


@functools.lru_cache(maxsize=None)
def describe_package(module: str) -> Description:
    """Returns the record of the package that contains a module, and the present digests of its files.

    Raises Refused for a module that is in no installed package, such as `__main__`.
    """
    top = module.partition(".")[0]
    path = getattr(sys.modules.get(top), "__file__", None) or ""
    site, name = os.path.split(os.path.dirname(path))
    for record in sorted(glob.glob(f"{glob.escape(site)}/{glob.escape(top)}*.dist-info/RECORD")) if name == top else ():
        with open(record, "rb") as file:
            files = file.read()
        if f"\n{top}/__init__.py," in "\n" + files.decode(errors="replace"):
            return (top, hashlib.sha256(files).hexdigest(), contents(os.path.dirname(path)))
    raise Refused(f"the module {module}, which no package installed, registered functions or types with the compiler")
