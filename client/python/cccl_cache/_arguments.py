# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What arguments have to be: a TypeError names the one that is something else.

Run where something is made of them for the first time or has failed already, so that a hit is not slower for it.
"""

from __future__ import annotations

import os
import reprlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def wrong(name: str, wanted: str, given: object) -> TypeError:
    """For the caller to raise."""
    return TypeError(f"{name} must be {wanted}, not {reprlib.repr(given)} ({type(given).__name__})")


def check(name: str, wanted: str, given: object, *kinds: type) -> None:
    if not isinstance(given, kinds):
        raise wrong(name, wanted, given) from None


def sequence(name: str, wanted: str, given: Any, *kinds: type) -> tuple[Any, ...]:
    """What was given, each of one of these kinds. One text is no sequence, though it can be gone over like one."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise wrong(name, f"a sequence of {wanted}", given) from None
    elements = tuple(given)
    for each in elements:
        check(f"each of {name}", wanted, each, *kinds)
    return elements


def inputs(name: str, given: Any) -> tuple[Any, ...]:
    """Those of a link, or modules."""
    return sequence(name, "contents, or of tuples of a name and contents", given, object)


def options_for(arch: Any, options: Any) -> tuple[Any, ...]:
    """The options, once the architecture is found to be a text."""
    check("arch", 'a str such as "sm_90"', arch, str)
    return sequence("options", "str", options, str, bytes)


def check_build(arch: Any, emit: Any, include_dirs: Any, options: Any, name: Any, name_expressions: Any,
                working_directory: Any) -> None:
    """Those of CUDA C++, but for its texts."""
    options_for(arch, options)
    sequence("include_dirs", "str or path-like", include_dirs, str, os.PathLike)
    sequence("name_expressions", "str", name_expressions, str, bytes)
    check("name", "a str", name, str, type(None))
    check("working_directory", "a str or path-like", working_directory, str, bytes, os.PathLike, type(None))
    if not isinstance(emit, str):
        sequence("emit", "str", emit, str)
