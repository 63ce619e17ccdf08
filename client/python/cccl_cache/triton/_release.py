# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What the plug-in needs of Triton. A release that has all of it is served, whatever its number."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from typing import Any, Iterator

from .._plugin.switch import capable_release

_METHODS = {
    "__init__": ["self", "key", "override", "dump"],
    "get_file": ["self", "filename"],
    "put": ["self", "data", "filename", "binary"],
    "get_group": ["self", "filename"],
    "put_group": ["self", "filename", "group"],
}
_KNOBS = ("compilation.override", "compilation.always_compile", "compilation.use_ir_loc", "compilation.store_binary_only",
          "build.impl")
# The statements of triton.compiler.compile that use the cache manager or the paths of the files. Files that are put appear
# only with their group, so a compile must not read them before.
_USED = re.compile(r"\b(fn_cache_manager|metadata_group)\b")
_KNOWN = [re.compile(pattern) for pattern in (
    r"fn_cache_manager = get_cache_manager\(hash\)",
    r"metadata_group = fn_cache_manager\.get_group\(metadata_filename\) or \{\}",
    r"metadata_path = metadata_group\.get\(metadata_filename\)",
    r"metadata_group\[\w+\] = fn_cache_manager\.put\(.*\)",
    r"ir_full_name = fn_cache_manager\.get_file\(ir_filename\)",
    r"fn_cache_manager\.put_group\(metadata_filename, metadata_group\)",
    r"compilation_listener\(.*\bmetadata_group=metadata_group\b.*\)",
    r"(res =|return) CompiledKernel\(src, metadata_group, hash\)",
)]


def served_release() -> str:
    """Returns the package with its release. Imports Triton. Raises NotServed."""
    return capable_release("triton", _difference)


def _difference() -> str:
    """Returns what is missing or unknown in Triton; empty if nothing is."""
    manager = importlib.import_module("triton.runtime.cache").FileCacheManager
    for name, parameters in _METHODS.items():
        if list(inspect.signature(getattr(manager, name)).parameters) != parameters:
            return f"FileCacheManager has no {name}({', '.join(parameters)})"
    knobs = importlib.import_module("triton.knobs")
    for name in _KNOBS:
        group, _, knob = name.partition(".")
        if not hasattr(getattr(knobs, group, None), knob):
            return f"knobs has no {name}"
    compiler = importlib.import_module("triton.compiler.compiler")
    uses = list(_uses(ast.parse(textwrap.dedent(inspect.getsource(compiler.compile)))))
    for text in uses:
        if not any(known.fullmatch(text) for known in _KNOWN):
            return f"compile has the statement {text}"
    missing = [known.pattern for known in _KNOWN if not any(map(known.fullmatch, uses))]
    return f"compile has no statement {missing[0]}" if missing else ""


def _uses(tree: ast.AST) -> Iterator[str]:
    """Yields the statements that use the cache, of a compound statement its head alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            parts: list[Any] = [node]
            if hasattr(node, "body"):
                parts = [child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.stmt, ast.excepthandler))]
            for text in map(ast.unparse, parts):
                if _USED.search(text):
                    yield text
