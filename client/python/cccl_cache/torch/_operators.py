# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""What a program's operators and tensor subclasses add to a graph. torch's own keys have their names only.

AOTAutograd runs their Python code, and the compiler uses the results as the operators' fake implementations describe them.
"""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from .._plugin.canonical import Refused

_TORCHS_OWN = {
    "aten", "prim", "prims", "inductor", "rngprims", "mkldnn", "onednn", "quantized", "c10d_functional", "_c10d_functional",
}


def calls(graph: Any) -> tuple[str, ...]:
    """Describes the calls of the program's operators in a graph of AOTAutograd. Raises Refused for a lowering of the program."""
    return tuple(_call(node, operator) for node, operator in _operators(graph))


def why_not_shared(graph: Any, inputs: Sequence[Any]) -> str:
    """Returns why an entry of AOTAutograd for a graph of Dynamo is not shared; empty if it may be."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    for _, operator in _operators(graph):
        return f"AOTAutograd runs code of the operator {operator}"
    for each in inputs:
        if is_traceable_wrapper_subclass(each) and not type(each).__module__.startswith("torch."):
            return f"AOTAutograd runs code of the tensor subclass {type(each).__name__}"
    return ""


def _operators(graph: Any) -> Iterator[tuple[Any, Any]]:
    """Yields each node with each operator that is not torch's own. A node can have several, as arguments."""
    from torch._ops import OpOverload, OpOverloadPacket
    from torch.fx import GraphModule
    from torch.utils._pytree import tree_leaves

    for module in graph.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            for each in tree_leaves((node.target, node.args, node.kwargs)):
                if isinstance(each, (OpOverload, OpOverloadPacket)) and str(each).partition(".")[0] not in _TORCHS_OWN:
                    yield node, each


def _call(node: Any, operator: Any) -> str:
    from torch import Tensor
    from torch._inductor import lowering
    from torch._subclasses.fake_tensor import extract_tensor_metadata
    from torch.utils._pytree import tree_map_only

    if operator in getattr(lowering, "user_lowerings", ()) or operator in lowering.lowerings and operator not in lowering.fallbacks:
        raise Refused(f"the operator {operator} has a lowering of its own")
    if "val" not in node.meta:
        raise Refused(f"the result of the operator {operator} is not known")
    result = tree_map_only(Tensor, extract_tensor_metadata, node.meta["val"])
    return f"{operator._schema} {sorted(map(str, operator.tags))} {result!r}"
