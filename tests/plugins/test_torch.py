# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""torch.compile makes a graph once per node, and never finds one of other inputs."""

import ast
import base64
import contextlib
import functools
import importlib
import operator
import os
import pathlib
import re
import signal
import sys
import tempfile
import threading
import types

import pytest
from cccl_cache._plugin.canonical import Refused
from cccl_cache._plugin.leases import LEASE_LIMIT, Settings
from cccl_cache.steps._steps import report_of
from cccl_cache.torch import _key, _libraries, _operators
from cccl_cache.torch._hooks import TorchHooks
from framework_node import FrameworkNode, counts
from lease_client import wait_for_waiters
from patience import PATIENCE, wait_for

HERE = pathlib.Path(__file__).parent
GUIDE = HERE.parents[1] / "docs/guide-torch.md"
COMPILER = """#!/bin/sh
case "$*" in
  *" -E "*) ;;
  *.main.cpp*) echo library >>{ran} ;;
  *"-x c++-header"*) echo header >>{ran} ;;
  *.cpp*) echo test >>{ran} ;;
esac
exec g++ "$@"
"""


class Node(FrameworkNode):
    """Each test compiles a function with another number."""

    program, original = "torch_program.py", "torch_steps.py"

    def __init__(self, directory, daemon):
        super().__init__(directory, daemon)
        # torch keeps precompiled headers there, which take longer than all graphs of this file.
        self._temporary = pathlib.Path(os.environ["XDG_CACHE_HOME"], "torch")
        self._temporary.mkdir(parents=True, exist_ok=True)
        self._ran = directory / "ran"
        self.compiler = directory / "g++"
        self.compiler.write_text(COMPILER.format(ran=self._ran))
        self.compiler.chmod(0o755)

    def variables(self):
        return {"CXX": str(self.compiler), "TMPDIR": str(self._temporary), "TORCHINDUCTOR_COMPILE_THREADS": "1"}

    def compiled(self):
        """Returns the numbers of graphs and of libraries that all processes have compiled."""
        return super().compiled(), self.ran().count("library")

    def ran(self):
        """Returns what all processes have compiled for C++, in turn: a "library", a "header", or a "test" of the processor."""
        return self._ran.read_text().split() if self._ran.exists() else []

    def compiles(self, process, *words):
        """Returns the answer of a process, with the graphs and libraries that were compiled for it."""
        before = self.compiled()
        answer = process.ask(*words)
        return answer, tuple(now - then for now, then in zip(self.compiled(), before))

    def empty(self):
        """Returns a new directory for the temporary files of a process."""
        return tempfile.mkdtemp(dir=self.directory)


@pytest.fixture(scope="module")
def later(node, four):
    """A process without the plug-in."""
    return node.start(CCCL_CACHE="0")[0]


def test_a_training_step_is_compiled_once_by_four_processes(node, four):
    for process in four:
        process.tell("train", node.file, 3)
    [made] = {tuple(process.hear()) for process in four}
    assert len(made) == 2 and node.compiled() == (2, 2)
    tests = node.ran().count("test")
    assert sum(counts(process)["made"] for process in four) == tests + 5  # two graphs, their libraries, the entry of AOTAutograd
    assert node.compiles(four[0], "train", node.file, 3) == (list(made), (0, 0))


def test_a_later_process_finds_the_step_and_compiles_libraries_again_for_another_compiler(node, four, later):
    uncached = node.compiles(later, "train", node.file, 4)
    assert uncached[1] == (2, 2) and later.ask("hooked") == [False] * 5 and not later.ask("status")["on"]
    assert node.compiles(four[0], "train", node.file, 4) == (uncached[0], (2, 2))
    assert later.ask("install") and later.ask("hooked") == [True] * 5
    assert node.compiles(later, "train", node.file, 4) == (uncached[0], (0, 0))
    node.compiler.write_text(node.compiler.read_text() + "# another\n")  # at the same place
    assert node.compiles(later, "train", node.file, 4) == (uncached[0], (0, 2))
    assert node.compiles(later, "train", node.file, 4) == (uncached[0], (0, 0))


def test_a_process_compiles_no_header_and_no_test_of_the_processor_for_a_library_that_it_finds(node):
    maker, finder = (node.start(TMPDIR=node.empty())[0] for _ in range(2))
    before = len(node.ran())
    made = maker.ask("infer", node.file, 40)
    *tests, header, library = node.ran()[before:]
    assert set(tests) <= {"test"} and (header, library) == ("header", "library")
    before = len(node.ran())
    assert finder.ask("infer", node.file, 40) == made and node.ran()[before:] == []
    finder.ask("uninstall")
    finder.ask("infer", node.file, 41)
    assert node.ran()[before:] == ["header", "library"]


def test_a_postponed_header_is_made_under_the_name_of_what_its_files_are_then():
    headers, made, name = _libraries.PostponedHeaders(), [], "first"
    compile = headers.skip(lambda lock_path, cpp_builders: made.append(cpp_builders[0].get_target_file_path()))

    @functools.lru_cache
    def precompile(header):
        compile("lock", (types.SimpleNamespace(get_target_file_path=lambda: f"{name}.gch"),))
        return name

    postponed = headers.postpone(precompile)
    assert postponed("cpp_prefix.h") == "first" and made == []
    name = "second"
    assert postponed("cpp_prefix.h") == "first" and not headers.make("first") and made == ["second.gch"]
    name = "first"
    assert headers.make("first") and headers.make("first") and headers.make(None)
    assert made == ["second.gch", "first.gch"]


def test_a_library_whose_postponed_header_has_changed_is_not_shared(monkeypatch, tmp_path, node):
    monkeypatch.setenv("CCCL_CACHE_SOCKET", node.daemon.socket)
    hooks, compiled = TorchHooks("header", Settings(wait=PATIENCE), report_of("header")), []
    source = tmp_path / "source.cpp"
    source.write_text("")
    builder = builder_of(source, "", "header.h")
    builder._preprocessing = builder._precompiling = False

    def compile(builder):
        compiled.append(changed)
        source.with_suffix(".so").write_bytes(b"library")

    build = hooks._stepping(compile)
    for changed in (True, False, True):
        monkeypatch.setattr(hooks._headers, "make", lambda header: not changed)
        build(builder)
    assert compiled == [True, False]


def test_a_compile_that_fails_raises_its_error_and_releases_waiting_processes(node, four):
    before, gate = node.compiled()[0], node.gate("fails")
    four[0].tell("gated", node.file, 5, gate)
    wait_for(lambda: node.compiled()[0] == before + 1, "a compile that runs")
    four[1].tell("infer", node.file, 5)
    wait_for_waiters(node.daemon, 1)
    pathlib.Path(gate).write_text("fail")
    assert four[0].hear() == "Unmade"
    assert len(four[1].hear()) == 1 and counts(four[1])["released"] == 1
    assert node.compiles(four[0], "infer", node.file, 5)[1] == (1, 0)  # the library was no part of the failure
    assert node.compiles(four[1], "infer", node.file, 5)[1] == (0, 0)


@pytest.mark.parametrize("end", ["exit", signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_ends_or_stops_holds_no_other_back(node, four, end):
    number = 6 + ["exit", signal.SIGKILL, signal.SIGSTOP].index(end)
    before, gate = node.compiled()[0], node.gate(f"ends{number}")
    holder = four[0].ask("child", node.file, number, gate)
    wait_for(lambda: node.compiled()[0] == before + 1, "a compile that runs")
    four[1].tell("infer", node.file, number)
    wait_for_waiters(node.daemon, 1)
    if end == "exit":
        pathlib.Path(gate).write_text("exit")
    else:
        os.kill(holder, end)
    assert len(four[1].hear()) == 1
    if end == signal.SIGSTOP:
        os.kill(holder, signal.SIGKILL)
    assert node.compiles(four[2], "infer", node.file, number)[1] == (0, 0)


def test_the_directory_and_the_lines_of_a_source_do_not_matter(node, four):
    made = four[0].ask("infer", node.file, 10)
    assert node.compiles(four[1], "infer", node.file_with("moved", shifted=3), 10) == (made, (0, 0))


def test_an_edited_function_is_compiled(node, four):
    made = four[0].ask("infer", node.file, 11)
    other, compiled = node.compiles(four[0], "infer", node.file_with("edited", ("tanh", "sin")), 11)
    assert other != made and compiled == (1, 1)
    assert node.compiles(four[1], "infer", node.file, 12)[1] == (1, 1)


def test_another_option_is_another_compile(node, four):
    four[0].ask("infer", node.file, 13)
    for process, compiled in ((four[0], (1, 0)), (four[1], (0, 0))):
        process.ask("set", "torch._inductor.config", "max_fusion_size", "63")
        assert node.compiles(process, "infer", node.file, 13)[1] == compiled
        process.ask("set", "torch._inductor.config", "max_fusion_size", "64")


def test_another_assembler_is_another_compile(node, four):
    four[0].ask("infer", node.file, 14)
    for name in ("one", "other"):
        assembler = node.directory / f"ptxas-{name}"
        assembler.write_text(name)
        four[3].ask("variable", "TRITON_PTXAS_PATH", assembler)
        assert node.compiles(four[3], "infer", node.file, 14)[1] == (1, 0), name
        assert node.compiles(four[3], "infer", node.file, 14)[1] == (0, 0), name
    four[3].ask("variable", "TRITON_PTXAS_PATH", "none")
    assert node.compiles(four[3], "infer", node.file, 14)[1] == (0, 0)


def test_the_assembler_that_inductor_names_counts_from_the_start(tmp_path, monkeypatch):
    own, other = tmp_path / "torch/bin/ptxas", tmp_path / "ptxas"
    own.parent.mkdir(parents=True)
    (tmp_path / "torch/__init__.py").touch()
    for file in (own, other):
        file.write_text(str(file))
        file.chmod(0o755)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("TRITON_PTXAS_PATH", raising=False)
    before = _key.assemblers(), _key.triton_settings()
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(own))
    assert (_key.assemblers(), _key.triton_settings()) == before
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(other))
    assert _key.assemblers() != before[0]


def test_the_device_library_that_torch_sets_at_the_first_kernel_counts_from_the_start(four):
    without, before, after = four[0].ask("libdevice")
    assert before == after != without


@pytest.mark.parametrize("name", ["TRITON_OVERRIDE_ARCH", "PTXAS_OPTIONS"])
def test_another_variable_of_triton_is_another_compile(node, four, name):
    assert node.compiles(four[0], "infer", node.file, 18)[1] in ((1, 1), (0, 0))
    four[3].ask("variable", name, "one")
    assert node.compiles(four[3], "infer", node.file, 18)[1][0] == 1
    assert node.compiles(four[3], "infer", node.file, 18)[1] == (0, 0)
    four[3].ask("variable", name, "none")
    assert node.compiles(four[3], "infer", node.file, 18)[1] == (0, 0)


def test_variables_of_tritons_caches_and_messages_do_not_count(monkeypatch):
    before = _key.triton_settings()
    for name in ("TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_PRINT_AUTOTUNING", "MLIR_ENABLE_DUMP"):
        monkeypatch.setenv(name, "1")
    assert _key.triton_settings() == before


def test_settings_of_triton_by_the_program_decide_a_compile(monkeypatch):
    knobs = importlib.import_module("triton.knobs")
    before = _key.triton_settings()
    for group, name, value in (("runtime", "debug", True), ("language", "fp32_default", "ieee"),
                               ("nvidia", "disable_ptxas_opt", True)):
        with getattr(knobs, group).scope():
            setattr(getattr(knobs, group), name, value)
            assert _key.triton_settings() != before, name
        assert _key.triton_settings() == before
    with knobs.runtime.scope():
        knobs.runtime.jit_post_compile_hook = print
        assert _key.triton_settings() == before
        knobs.runtime.add_stages_inspection_hook = print
        with pytest.raises(Refused, match="triton.knobs.runtime.add_stages_inspection_hook is set"):
            _key.triton_settings()
    monkeypatch.setenv("TRITON_KERNEL_OVERRIDE", "1")
    with pytest.raises(Refused, match="kernels are replaced by files"):
        _key.triton_settings()


def builder_of(source, options, header=None):
    """Returns a run of the compiler as torch describes it."""
    target = str(source.with_suffix(".so"))
    return types.SimpleNamespace(
        _build_option=types.SimpleNamespace(precompiled_header=header), _sources_args=str(source), _compiler="g++",
        get_command_line=lambda: f"g++ {source} {options} -shared -g1 -o {target}", get_target_file_path=lambda: target)


@pytest.mark.parametrize("included, keys", [
    ("torch/csrc/inductor/cpp_prefix.h", 1), ("c10/util/Unroll.h", 2)])
def test_headers_of_torch_count_if_a_source_includes_more_than_the_precompiled_one(monkeypatch, tmp_path, included, keys):
    import torch

    source, header = tmp_path / "source.cpp", tmp_path / "include/c10/util/Unroll.h"
    source.write_text(f"#include <{included}>\n")
    header.parent.mkdir(parents=True)
    builder = builder_of(source, "", "header.h")
    monkeypatch.setattr(torch, "__file__", str(tmp_path / "__init__.py"))
    described = []
    for text in ("one", "other"):
        header.write_text(text)
        described.append(_libraries.fields_of(builder))
    assert (described[0] == described[1]) == (keys == 1)


def test_the_assembler_of_a_host_compiler_is_a_part_of_it(tmp_path):
    compiler, assembler = tmp_path / "g++", tmp_path / "as"
    compiler.write_text(f'#!/bin/sh\nexec g++ -B {tmp_path} "$@"\n')
    described = []
    for text in ("one", "other"):
        assembler.write_text(f"#!/bin/sh\n# {text}\nexec as \"$@\"\n")
        for file in (compiler, assembler):
            file.chmod(0o755)
        described.append(_key.host_compiler(str(compiler)))
        assert described[-1] == _key.host_compiler(str(compiler))
    assert described[0] != described[1]


def test_the_headers_of_a_source_decide_its_compile_and_its_directory_does_not(tmp_path):
    headers, sources = tmp_path / "headers", [tmp_path / name / "source.cpp" for name in ("one", "other")]
    headers.mkdir()
    for source in sources:
        source.parent.mkdir()
        source.write_text('#include "value.h"\nint value = VALUE;\n')
    described = []
    for value in (1, 2):
        (headers / "value.h").write_text(f"#define VALUE {value}\n")
        one, other = (_libraries.fields_of(builder_of(source, f"-I{headers}")) for source in sources)
        assert one == other
        described.append(one)
    assert described[0] != described[1]


@pytest.mark.parametrize("name, text, reason", [
    ("source.o", "", "no compile of one"), ("source.cpp", '#include "none.h"', "that can't be preprocessed"),
    ("source.cpp", 'asm(".incbin \\"bytes\\"");', "the bytes of a file")])
def test_a_run_with_unknown_inputs_is_left_to_torch(tmp_path, name, text, reason):
    source = tmp_path / name
    source.write_text(text)
    with pytest.raises(Refused, match=reason):
        _libraries.fields_of(builder_of(source, ""))


def traced(function, *inputs):
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(function, tracing_mode="fake")(*inputs)


@pytest.fixture
def made():
    """An operator of this test. `fake` is its fake implementation."""
    import torch

    library = torch.library.Library("cccl_cache_example", "DEF")
    library.define("made(Tensor x) -> Tensor")
    operator = torch.ops.cccl_cache_example.made
    operator.fakes = [torch.empty_like]
    library.impl("made", lambda x: operator.fakes[-1](x), "CPU")
    library.impl("made", lambda x: operator.fakes[-1](x), "Meta")
    yield operator
    library._destroy()


def test_the_calls_of_operators_of_the_program_are_described_with_their_results(made):
    import torch
    from torch._inductor import lowering

    x, described = torch.ones(2, 3), []
    for fake in (torch.empty_like, lambda x: torch.empty_like(x, dtype=torch.float64), lambda x: x.new_empty(3, 2).t()):
        made.fakes.append(fake)
        described.append(_operators.calls(traced(lambda x: torch.tanh(made(x)), x)))
    assert [len(calls) for calls in described] == [1, 1, 1] and len(set(described)) == 3
    assert _operators.calls(traced(torch.tanh, x)) == ()
    graph = traced(made, x)
    lowering.make_fallback(made.default)
    assert _operators.calls(graph) == described[2]
    lowering.register_lowering(made.default)(lambda x: x)
    lowering.fallbacks.discard(made.default)
    with pytest.raises(Refused, match="cccl_cache_example.made.default has a lowering of its own"):
        _operators.calls(graph)
    lowering.fallbacks.add(made.default)
    with pytest.raises(Refused, match="cccl_cache_example.made.default has a lowering of its own"):
        _operators.calls(graph)
    lowering.make_fallback(made.default)
    lowering.add_layout_constraint(made.default, lambda node, *given, **named: (given, named))
    with pytest.raises(Refused, match="cccl_cache_example.made.default has a layout constraint of its own"):
        _operators.calls(graph)


def test_an_entry_of_aotautograd_with_code_of_the_program_is_not_shared(made):
    import torch
    from torch.testing._internal.two_tensor import TwoTensor

    class Own(TwoTensor):
        pass

    x = torch.ones(2, 3)
    assert _operators.why_not_shared(traced(torch.tanh, x), [x, 1, TwoTensor(x, x)], {}) == ""
    runs = "AOTAutograd runs code of the"
    assert _operators.why_not_shared(traced(made, x), [x], {}) == f"{runs} operator cccl_cache_example.made.default"
    assert _operators.why_not_shared(traced(torch.tanh, x), [Own(x, x)], {}) == f"{runs} tensor subclass Own"


def test_the_reason_why_an_entry_is_not_shared_is_told_when_torch_asks_for_it(made):
    """torch makes keys too where it does not ask: in ranks, and with a remote cache of the program."""
    import torch

    x, report = torch.ones(2, 3), report_of("asked")
    hooks = TorchHooks("asked", Settings(wait=PATIENCE), report)
    key_of = hooks._noting(lambda module, inputs, config: ("key", []))
    assert key_of(traced(made, x), [x], types.SimpleNamespace(decompositions=None)) == ("key", [])
    assert report.snapshot()["not_cached"] == {}
    assert hooks._entries.get("key") is None
    assert list(report.snapshot()["not_cached"]) == ["AOTAutograd runs code of the operator cccl_cache_example.made.default"]


@pytest.mark.parametrize("kind", ["lowering", "first lowering", "layout constraint", "decomposition"])
def test_nothing_is_shared_while_a_function_of_the_program_decides_an_operator_of_torch(monkeypatch, kind):
    import torch
    from torch._inductor import decomposition, lowering

    x, tanh, table = torch.ones(2, 3), torch.ops.aten.tanh.default, decomposition.select_decomp_table()
    functions = {
        "lowering": lowering.register_lowering(tanh, lowering_dict={})(lambda x: x),
        "first lowering": lambda x: None,
        "layout constraint": lambda node, *given, **named: (given, named),
        "decomposition": functools.wraps(torch.sin)(lambda x: x),
    }
    tables = {"lowering": lowering.lowerings, "first lowering": lowering.user_lowerings,
              "layout constraint": lowering._maybe_layout_constraints, "decomposition": table}
    graph = traced(torch.sin, x)
    assert _operators.calls(graph) == () and _operators.why_not_shared(graph, [x], table) == ""
    with monkeypatch.context() as patch:
        patch.setitem(tables[kind], tanh, functools.partial(functions[kind]))
        reason = f"the {kind} of aten.tanh.default is not torch's"
        with pytest.raises(Refused, match=reason):
            _operators.calls(graph)
        assert _operators.why_not_shared(graph, [x], table) == reason
    assert _operators.calls(graph) == () and _operators.why_not_shared(graph, [x], table) == ""


@pytest.mark.parametrize("function, torchs", [(operator.add, True), (lambda x, y: x + y, False)])
def test_a_function_of_python_that_torch_has_wrapped_as_a_lowering_is_torchs_own(monkeypatch, function, torchs):
    import torch
    from torch._inductor import lowering

    wrapped = lowering.register_lowering(operator.add, lowering_dict={})(function)  # as torch 2.11 does for operator.add
    monkeypatch.setitem(lowering.lowerings, operator.add, wrapped)
    graph = traced(torch.sin, torch.ones(2, 3))
    with contextlib.nullcontext() if torchs else pytest.raises(Refused, match="the lowering of <built-in function add>"):
        assert _operators.calls(graph) == ()


def test_a_fallback_of_the_program_is_another_compile_and_one_of_inductor_is_not(monkeypatch):
    import torch
    from torch._inductor import decomposition, lowering

    def fallback(operator):
        handler = lowering.fallback_handler(operator, add_to_fallback_set=False)
        return lowering.register_lowering(operator, lowering_dict={})(handler)

    graphs = TorchHooks("rules", Settings(wait=PATIENCE), report_of("rules"))._graphs
    usual, own, without = graphs._fields("key"), torch.ops.aten.tanh.default, torch.ops.aten.linalg_eig.default
    assert without not in lowering.lowerings
    with monkeypatch.context() as patch:
        patch.setitem(lowering.lowerings, without, fallback(without))
        assert graphs._fields("key") == usual
        patch.setitem(lowering.lowerings, own, fallback(own))
        assert graphs._fields("key") != usual
    assert graphs._fields("key") == usual
    monkeypatch.delitem(decomposition.select_decomp_table(), torch.ops.aten.gelu.default)
    assert graphs._fields("key") != usual


def test_a_process_with_a_lowering_of_its_own_neither_finds_graphs_nor_leaves_them_to_others(node, four):
    lowered = "import torch\nfrom torch._inductor.lowering import lowerings, register_lowering\naten = torch.ops.aten\n" \
              "register_lowering(aten.tanh.default)(lambda x: lowerings[aten.sin.default](x))\n"
    usual, own = node.file_with("usual"), node.file_with("lowered", ("import torch\n", lowered))
    [process] = node.start()
    [value] = four[0].ask("infer", usual, 26)
    [other], compiled = node.compiles(process, "infer", own, 26)
    assert compiled[0] == 1 and abs(other - value) > 1
    process.ask("infer", own, 27)
    assert four[0].ask("infer", usual, 27) == pytest.approx([value * 27 / 26])
    assert "the lowering of aten.tanh.default is not torch's" in process.ask("status")["not_cached"]
    process.end()


def test_an_operator_whose_definition_changes_is_another_compile(node, four):
    """AOTAutograd's own key has the name of the operator only."""
    define = "library = torch.library.Library('example', 'DEF')\nlibrary.define('scaled(Tensor x) -> Tensor')\n"
    values = []
    for process, factor in zip(four, (2, 3)):
        own = f"import torch\n{define}library.impl('scaled', lambda x: x * {factor}, 'CompositeImplicitAutograd')\n"
        file = node.file_with(f"scaled{factor}", ("import torch\n", own), ("torch.tanh(x)", "torch.ops.example.scaled(x)"))
        values += process.ask("infer", file, 20)
    assert values == pytest.approx([20 * 2 * 32, 20 * 3 * 32])


def test_a_graph_for_other_vector_instructions_is_compiled_and_replaced(monkeypatch, tmp_path, node):
    monkeypatch.setenv("CCCL_CACHE_SOCKET", node.daemon.socket)
    hooks = TorchHooks("vectors", Settings(wait=PATIENCE), report_of("vectors"))
    entry = {"data": base64.b64encode(b"#include <torch/csrc/inductor/cpp_prefix.h>")}
    graphs = hooks._graphs
    graphs.put("key", entry)
    assert graphs.get("key") == entry
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert graphs.get("key") is None
    graphs.put("key", entry)
    assert graphs.get("key") == entry
    monkeypatch.delenv("ATEN_CPU_CAPABILITY")
    assert graphs.get("key") is None
    without = {"data": base64.b64encode(b"no C++")}
    graphs.put("without", without)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert graphs.get("without") == without


def test_a_graph_with_guards_of_other_shapes_is_replaced(node, four):
    file = node.file_with("guarded", ("torch.tanh(x)", "torch.tanh(x) * (1 if x.shape[0] > 100 else 1)"))
    for process, size, compiled in ((0, 8, 1), (1, 8, 0), (1, 200, 1), (2, 200, 0), (2, 8, 1)):
        assert node.compiles(four[process], "shapes", file, 15, size)[1][0] == compiled, (process, size)


def test_a_process_replaces_a_graph_once(node, four):
    file = node.file_with("once", ("torch.tanh(x)", "torch.cos(x) * (1 if x.shape[0] > 100 else 1)"))
    for process, size, compiled in ((0, 8, 1), (1, 200, 1), (0, 8, 1), (1, 200, 1), (2, 8, 0)):
        assert node.compiles(four[process], "shapes", file, 19, size)[1][0] == compiled, (process, size)


def test_a_graph_that_is_put_late_waits_for_no_other_maker(monkeypatch, tmp_path):
    monkeypatch.setenv("CCCL_CACHE_SOCKET", str(tmp_path / "none"))
    hooks = TorchHooks("late", Settings(wait=LEASE_LIMIT), report_of("late"))
    put = threading.Thread(target=hooks._graphs.put, args=("key", {"data": base64.b64encode(b"value")}), daemon=True)
    with hooks._alone.get(hooks._graphs._fields("key")):
        put.start()
        put.join(PATIENCE)
        assert not put.is_alive()


@pytest.mark.parametrize("name, value, default", [
    ("fx_graph_remote_cache", "false", "null"), ("fx_graph_cache", "false", "true"), ("force_disable_caches", "true", "false")])
def test_a_cache_that_the_program_has_turned_off_stays_off(node, four, name, value, default):
    four[0].ask("infer", node.file, 16)
    four[0].ask("set", "torch._inductor.config", name, value)
    assert node.compiles(four[0], "infer", node.file, 16)[1][0] == 1
    four[0].ask("set", "torch._inductor.config", name, default)
    assert node.compiles(four[0], "infer", node.file, 16)[1] == (0, 0)


def test_a_remote_cache_of_the_program_is_asked_in_place_of_the_plug_ins(node, four):
    four[0].ask("infer", node.file, 17)
    before = counts(four[0])["made"]
    assert four[0].ask("backend", node.file, 17) == ["get", "put"]
    assert counts(four[0])["made"] == before


def test_the_changes_are_undone_and_a_release_that_differs_is_left_alone(node, later):
    later.ask("uninstall")
    assert later.ask("hooked") == [False] * 5
    on, why = later.ask("without", "torch._inductor.compile_fx", "should_use_remote_fx_graph_cache")
    assert not on and "differs from what is served: torch._inductor.compile_fx has no should_use_remote_fx_graph_cache" in why
    assert later.ask("install") and later.ask("status")["on"]


def test_the_guides_example_runs_unchanged(node):
    [example] = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    program = node.directory / "example.py"
    program.write_text(example)
    first, second = (node.run(program, TORCHINDUCTOR_CACHE_DIR=str(node.directory / name)) for name in ("first", "second"))
    first, second = (ast.literal_eval(told.splitlines()[-1]) for told in (first, second))
    assert first["made"] >= 5 and second["hits"] == first["made"] + first.get("hits", 0)
    assert "made" not in second and "not_cached" not in first


def test_the_reason_is_told_before_torch_is_imported(node):
    line = "import sys, cccl_cache.torch as plugin; print(plugin.switch.told(), 'torch' in sys.modules)"
    assert node.run("-c", line, CCCL_CACHE="0").startswith("off until cccl_cache.torch.install()")
    on = node.run("-c", line)
    assert on.startswith("on at the import of torch._inductor.compile_fx, if ") and on.endswith("(CCCL_CACHE_TORCH) False\n")
