# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What a program's operators, tensor subclasses and rules for torch's operators add to a graph. torch's own keys have the
names of operators only.

AOTAutograd runs their Python code, and the compiler uses the results as the operators' fake implementations describe them.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from .._plugin.canonical import Refused

_TORCHS_OWN = {
    "aten", "prim", "prims", "inductor", "rngprims", "mkldnn", "onednn", "quantized", "c10d_functional", "_c10d_functional",
}
# Operators of which torch has the same in each process, whatever is imported.
_SAME_EVERYWHERE = ("aten.", "prims.", "<built-in function ")
_FALLBACK = "fallback_handler."


class _Table(NamedTuple):
    """A table of torch by operators: its entries when it was looked at, `_foreign` of them, and the digest of their names."""

    entries: dict[Any, Any]
    foreign: str
    names: str


_tables: dict[str, _Table] = {}  # the last ones


def calls(graph: Any) -> tuple[str, ...]:
    """Describes the calls of the program's operators in a graph of AOTAutograd. Raises Refused for a lowering of the program."""
    from torch._inductor.decomposition import select_decomp_table

    reason = _rule_of_program(select_decomp_table())
    if reason:
        raise Refused(reason)
    return tuple(_call(node, operator) for node, operator in _operators(graph))


def why_not_shared(graph: Any, inputs: Sequence[Any], decompositions: Mapping[Any, Any]) -> str:
    """Returns why an entry of AOTAutograd for a graph of Dynamo is not shared; empty if it may be."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    for _, operator in _operators(graph):
        return f"AOTAutograd runs code of the operator {operator}"
    for each in inputs:
        if is_traceable_wrapper_subclass(each) and not type(each).__module__.startswith("torch."):
            return f"AOTAutograd runs code of the tensor subclass {type(each).__name__}"
    return _rule_of_program(decompositions)


def _rule_of_program(decompositions: Mapping[Any, Any]) -> str:
    """Returns which function of the program decides torch's own operators; empty if none does.

    All operators count, not those of a graph alone: a lowering, a pass and a decomposition may use others.
    """
    from torch._inductor import lowering

    tables = {
        "lowering": lowering.lowerings,
        "first lowering": getattr(lowering, "user_lowerings", {}),
        "layout constraint": getattr(lowering, "_maybe_layout_constraints", {}),
        "decomposition": decompositions,
    }
    for name, table in tables.items():
        foreign = _table(name, table).foreign
        if foreign:
            return foreign
    return ""


def rules() -> tuple[str, str]:
    """Returns digests of torch's lowerings and decompositions: a program can remove one, or call an operator in its place."""
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.lowering import lowerings

    return _table("lowering", lowerings).names, _table("decomposition", select_decomp_table()).names


def _table(name: str, table: Mapping[Any, Any]) -> _Table:
    found = _tables.get(name)
    if found is None or found.entries != table:  # the same objects compare in 30 us, a look at each takes 4 ms
        entries = dict(table)
        found = _tables[name] = _Table(entries, _foreign(name, entries), _names(entries))
    return found


def _names(table: Mapping[Any, Any]) -> str:
    """Returns a digest of the operators with the names of their functions. One that Inductor calls counts as if it were not in
    the table, as Inductor registers that itself at the first graph with the operator."""
    names = ((str(operator), getattr(function, "__qualname__", "")) for operator, function in table.items())
    kept = sorted(pair for pair in names if pair[0].startswith(_SAME_EVERYWHERE) and not pair[1].startswith(_FALLBACK))
    return hashlib.sha256(repr(kept).encode()).hexdigest()


def _foreign(name: str, table: Mapping[Any, Any]) -> str:
    for operator, function in table.items():
        if not _is_torchs_function(function) and not _is_of_program(operator):
            return f"the {name} of {operator} is not torch's"
    return ""


def _is_torchs_function(function: Any) -> bool:
    """Returns whether torch has defined a function and all that it wraps. None is no function. Before 2.15, torch has wrapped
    functions of Python's operator module as lowerings."""
    authors: tuple[str, ...] = ("torch.",)
    while function is not None:
        if isinstance(function, functools.partial):
            function = function.func
            continue
        # functools.wraps copies the name of the module, but not the globals.
        module = getattr(function, "__globals__", {}).get("__name__") or getattr(function, "__module__", "")
        if not f"{module}.".startswith(authors):
            return False
        function, authors = getattr(function, "__wrapped__", None), ("torch.", "_operator.")
    return True


def _operators(graph: Any) -> Iterator[tuple[Any, Any]]:
    """Yields each node with each operator that is not torch's own. A node can have several, as arguments."""
    from torch.fx import GraphModule
    from torch.utils._pytree import tree_leaves

    for module in graph.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            for each in tree_leaves((node.target, node.args, node.kwargs)):
                if _is_of_program(each):
                    yield node, each


def _is_of_program(value: Any) -> bool:
    """Returns whether a value is an operator that is not torch's own."""
    from torch._ops import OpOverload, OpOverloadPacket

    return isinstance(value, (OpOverload, OpOverloadPacket)) and str(value).partition(".")[0] not in _TORCHS_OWN


def _call(node: Any, operator: Any) -> str:
    from torch import Tensor
    from torch._inductor import lowering
    from torch._subclasses.fake_tensor import extract_tensor_metadata
    from torch.utils._pytree import tree_map_only

    if operator in getattr(lowering, "user_lowerings", ()) or not _is_fallback(operator, lowering):
        raise Refused(f"the operator {operator} has a lowering of its own")
    if not _is_torchs_function(getattr(lowering, "_maybe_layout_constraints", {}).get(operator)):
        raise Refused(f"the operator {operator} has a layout constraint of its own")
    if "val" not in node.meta:
        raise Refused(f"the result of the operator {operator} is not known")
    result = tree_map_only(Tensor, extract_tensor_metadata, node.meta["val"])
    return f"{operator._schema} {sorted(map(str, operator.tags))} {result!r}"


def _is_fallback(operator: Any, lowering: Any) -> bool:
    """Returns whether Inductor calls the operator. It registers that itself at the first graph with the operator."""
    found = lowering.lowerings.get(operator)
    return found is None or operator in lowering.fallbacks and _is_torchs_function(found)
