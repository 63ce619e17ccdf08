# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a compile may wait for another process of the same job.

A compile can contain collectives: torch's compiler lets the ranks agree on estimates, timings and partitions. A rank that
waits for the lease of another one, or finds the graph that another one must compile, never joins them, and the job hangs.
Where torch.distributed has several ranks, a graph is therefore shared only if it is known that its compile has none.
"""

from __future__ import annotations

import functools
import glob
import importlib
import importlib.util
import os
import re
from typing import Any

# Files of the compiler with collectives. Each is reached only with an option below, or for a graph that has a collective.
_KNOWN = {
    "comms.py", "distributed_autotune.py", "select_algorithm.py", "fx_passes/overlap_scheduling.py", "fx_passes/spmd_check.py",
    "partitioners.py", "_aot_autograd/autograd_cache.py",
}
_COLLECTIVE = re.compile(
    rb"\b(all_gather_object|gather_object|broadcast_object_list)\(|"
    rb"\b(dist|distributed|c10d)\.(barrier|all_reduce|all_gather\w*|all_to_all\w*|broadcast|gather|reduce\w*|scatter|send|recv)\(")
_SETTINGS = ("torch._inductor.config", "torch._inductor.config_comms", "torch._functorch.config", "torch._dynamo.config")
_ON = {
    "torch._inductor.config": ("distributed_max_autotune_gemm", "aten_distributed_optimizations.spmd_check"),
    "torch._inductor.config_comms": ("runtime_estimations_align_across_all_distributed_ranks",),
    "torch._functorch.config": ("_sync_decision_cross_ranks", "_sync_cache_decision_cross_ranks"),
    "torch._dynamo.config": ("enable_compiler_collectives",),
}
_OF_RANKS = re.compile("distributed|collective|comm_|_comm|comms|cross_rank|custom|ddp|overlap|spmd|sync_")
_PLAIN_OPERATORS = {"aten", "prims", "prim"}
_PLAIN_MODULES = {"_operator", "builtins", "math"}


def several() -> bool:
    """Returns whether this process is a rank of a job with other ranks."""
    from torch import distributed

    return bool(distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1)


def why_not_shared(graph: Any) -> str:
    """Returns why a graph must be compiled by each rank; empty if it need not be."""
    return unknown_collectives() or _option() or _operator(graph)


@functools.lru_cache(maxsize=1)
def unknown_collectives() -> str:
    """Returns the first file of the compiler whose collectives are not known."""
    for package in ("torch._inductor", "torch._functorch"):
        spec = importlib.util.find_spec(package)
        for home in (spec.submodule_search_locations or ()) if spec is not None else ():
            for path in sorted(glob.glob(f"{glob.escape(home)}/**/*.py", recursive=True)):
                if os.path.relpath(path, home) not in _KNOWN and _has_collectives(path):
                    return f"collectives in {path}"
    return ""


def _has_collectives(path: str) -> bool:
    with open(path, "rb") as file:
        text = file.read()
    return b"distributed" in text and _COLLECTIVE.search(text) is not None


def _option() -> str:
    """Returns the first option that may add collectives: one that is on, or one of ranks that does not have its default."""
    for module in _SETTINGS:
        settings = importlib.import_module(module)
        known = settings._config
        for name in _ON[module]:
            if name in known and getattr(settings, name):
                return f"the option {name}"
        for name in known:
            if _OF_RANKS.search(name) and not settings._is_default(name):
                return f"the option {name}"
    return ""


def _operator(graph: Any) -> str:
    """Returns the first operator that is none of torch's own for one device, such as a collective or one of a library."""
    from torch._ops import OpOverload
    from torch.fx import GraphModule

    for module in graph.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            target = node.target
            if isinstance(target, OpOverload):
                plain = target.namespace in _PLAIN_OPERATORS
            else:
                plain = node.op == "call_function" and getattr(target, "__module__", None) in _PLAIN_MODULES
            if not plain:
                return f"the operator {target}"
    return ""
