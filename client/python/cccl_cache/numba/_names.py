# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Names by content: renames the functions in numba-cuda's NVVM IR so that the IR is the same in each process.

numba numbers all functions of a process. The number is in the first ABI tag of each mangled name (`B<length>v<number>`) of
the IR, and thus of PTX, LTO-IR and cubin. This module replaces the number by a digest of the function's module. In the
digested text, the function's own number is blank and the numbers of its callees are their digests. Equal names thus mean
equal code, even in a link of LTO-IR from two processes.

Two other kinds of names are replaced in the same way. numba numbers the shared arrays of a process. It names constants by
Python's hash of their bytes, whose seed differs between processes.
"""

from __future__ import annotations

import hashlib
import re
from typing import Callable, NamedTuple, Optional

_NAME = re.compile(r"_Z[A-Za-z0-9_.$]+")
_BYTES_OR_NAME = re.compile(r'(?<=\] )c"[^"]*"|_Z[A-Za-z0-9_.$]+')
_DEFINED = re.compile(r'^define [^@\n]*@"?(_Z[A-Za-z0-9_.$]+)', re.M)
_VARIABLE = re.compile(r'^@(?!"_ZN08NumbaEnv|"llvm\.)[^\n]*\bglobal\b', re.M)
_MODULE_ID = re.compile(r"\A; ModuleID = .*\n")
_CONSTANT = re.compile(r'@"\.bytes\.(-?\d+)"')
_SHARED = re.compile(r'@"_cudapy_smem_(\d+)"')
_OF_A_TYPE = re.compile(r"0x[0-9a-f]{6,}|(?<=6RecordILi)\d+(?=E)")  # the address of a function, the number of a record type
_DIGITS = re.compile(r"\d+")


class _NotUnderstood(Exception):
    """The modules have an unknown form, for which renaming is not safe."""


class Renamed(NamedTuple):
    """Modules with names by content: first the kernel's module, then each other module once, callers before callees."""

    texts: list[str]
    tags: dict[int, str]

    def name(self, name: str) -> str:
        """Returns the new form of a mangled name."""
        return _renamed(name, self.tags.get)


def renamed(texts: list[str]) -> Optional[Renamed]:
    """Returns the modules of a kernel with names by content, or None if the modules have an unknown form."""
    try:
        _check_arrays(texts)
        plain = [_plain(text) for text in texts]
        modules = list(dict.fromkeys(plain))
        owner = _owners(modules)
        tags = _Tags(owner).all()
        _check_twins(owner, tags)
        done = [_finished(text, owner, tags) for text in modules]
        return Renamed(_ordered([done[0], *sorted(set(done[1:]) - {done[0]})]), tags)
    except _NotUnderstood:
        return None


def number_in(name: str) -> Optional[tuple[int, int, int]]:
    """Returns the place of the tag in a mangled name, and its number: (start, end, number). None without a tag.

    The parts of the name are skipped by their lengths, because a program may give a function a name that looks like a tag.
    """
    at, parts = (3 if name[2:3] == "N" else 2), 0
    while length := _DIGITS.match(name, at):
        at = length.end() + int(length.group())
        parts += 1
    length = _DIGITS.match(name, at + 1)
    if parts == 0 or name[at : at + 1] != "B" or length is None:
        return None
    end = length.end() + int(length.group())
    tag = name[length.end() : end]
    if end > len(name) or tag[:1] != "v" or not tag[1:].isdigit():
        return None
    return at, end, int(tag[1:])


class _Tags:
    """The new tag of each number: a digest of the function's module with the tags of its callees."""

    def __init__(self, owner: dict[int, str]):
        self._owner = owner
        self._tags: dict[int, str] = {}
        self._open: set[str] = set()

    def all(self) -> dict[int, str]:
        for number in self._owner:
            self._tag(number)
        return self._tags

    def _tag(self, number: int) -> Optional[str]:
        text = self._owner.get(number)
        if text is None or number in self._tags:
            return self._tags.get(number)
        if text in self._open:
            raise _NotUnderstood  # the functions call each other in a circle
        self._open.add(text)
        own = sorted(each for each, module in self._owner.items() if module is text)
        body = _renamed(text, lambda each: f"vself{own.index(each)}" if each in own else self._tag(each))
        self._open.discard(text)
        for position, each in enumerate(own):
            content = f"numba function 1\0{position}\0{body}".encode()
            self._tags[each] = "v" + hashlib.sha256(content).hexdigest()[:24]
        return self._tags[number]


def _plain(text: str) -> str:
    """Returns a module without the comment that names it. Constants and shared arrays are numbered in the order of their
    first use."""
    constants: dict[str, int] = {}
    arrays: dict[str, int] = {}
    text = _MODULE_ID.sub("", text)
    text = _CONSTANT.sub(lambda m: f'@".bytes.{constants.setdefault(m.group(1), len(constants))}"', text)
    return _SHARED.sub(lambda m: f'@"_cudapy_smem_x{arrays.setdefault(m.group(1), len(arrays))}"', text)


def _renamed(text: str, tag_of: Callable[[int], Optional[str]]) -> str:
    def one(match: re.Match[str]) -> str:
        name = match.group()
        span = None if name.startswith('c"') else number_in(name)  # the bytes of a constant are not a name
        tag = None if span is None else tag_of(span[2])
        if span is None or tag is None:
            return name
        return f"{name[: span[0]]}B{len(tag)}{tag}{_OF_A_TYPE.sub('0', name[span[1] :])}"

    return _BYTES_OR_NAME.sub(one, text)


def _check_arrays(texts: list[str]) -> None:
    """Refuses modules that share an array of shared memory: it is an external symbol, so that one module must own it."""
    arrays = [number for text in dict.fromkeys(texts) for number in set(_SHARED.findall(text))]
    if len(arrays) != len(set(arrays)):
        raise _NotUnderstood


def _owners(modules: list[str]) -> dict[int, str]:
    """Returns the text of the module that defines each number."""
    owner: dict[int, str] = {}
    for text in modules:
        for match in _DEFINED.finditer(text):
            span = number_in(match.group(1))
            if span is not None and owner.setdefault(span[2], text) is not text:
                raise _NotUnderstood
    return owner


def _check_twins(owner: dict[int, str], tags: dict[int, str]) -> None:
    """Refuses functions of equal code that have variables, such as shared arrays: one name would merge the variables."""
    first: dict[str, str] = {}
    for number, text in owner.items():
        if first.setdefault(tags[number], text) is not text and _VARIABLE.search(text):
            raise _NotUnderstood


def _finished(text: str, owner: dict[int, str], tags: dict[int, str]) -> str:
    own = [tags[number] for number, module in owner.items() if module is text]
    if not own and "_cudapy_smem_x" in text:
        raise _NotUnderstood
    named = _declared_once(_renamed(text, tags.get))
    # The name keeps numba's form with a number, for programs that search for numba's name of a shared array.
    return named.replace("_cudapy_smem_x", f"_cudapy_smem_{int(own[-1][1:], 16):029d}") if own else named


def _declared_once(text: str) -> str:
    """Removes repeated declarations: callees of equal code have one name now, and a module may declare a name once."""
    seen: set[str] = set()
    lines = []
    for line in text.split("\n"):
        if not line.startswith("declare ") or line not in seen:
            lines.append(line)
        if line.startswith("declare "):
            seen.add(line)
    return "\n".join(lines)


def _ordered(texts: list[str]) -> list[str]:
    """Returns the modules with callers before callees, and otherwise in the given order. libNVVM drops a linkonce_odr
    function that no earlier module refers to. A later reference to the function is then an undefined symbol."""
    defines = {match.group(1): position for position, text in enumerate(texts) for match in _DEFINED.finditer(text)}
    callers: list[set[int]] = [set() for _ in texts]
    for position, text in enumerate(texts):
        for name in set(_NAME.findall(text)):
            callee = defines.get(name, position)
            if callee != position:
                callers[callee].add(position)
    left, order = set(range(len(texts))), []
    while left:
        ready = [position for position in sorted(left) if not callers[position] & left]
        if not ready:
            raise _NotUnderstood
        order.append(ready[0])
        left.discard(ready[0])
    return [texts[position] for position in order]
