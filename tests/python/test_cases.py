# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/cases through Python, the command line, C and C++, with a daemon and without: one key, one answer.
"""

import json
import os
import pathlib
import subprocess

import cccl_cache
import pytest
from alone import Alone
from patience import PATIENCE
from places import PLACES

CASES = [case for path in sorted((pathlib.Path(__file__).parents[1] / "cases").glob("*.json"))
         for case in json.loads(path.read_text())]
PROGRAMS = [os.environ[f"CCCL_CACHED_TEST_RUN_CASE{each}"] for each in ("", "_CPP")]
KINDS = {"ptx": "1", "cubin": "2", "ltoir": "3"}


@pytest.fixture(scope="module")
def client(lasting):
    return cccl_cache.Client(lasting.socket, fallback="error")


@pytest.fixture(scope="module")
def nobody(tmp_path_factory):
    """An environment without a daemon. Programs in it compile locally, with the daemon's CUDA."""
    return Alone(tmp_path_factory.mktemp("nobody"), PLACES.cuda13)


@pytest.fixture
def inputs(client, case):
    """Returns the inputs of a link by name, built from the sources of the case."""
    return {name: client.build(source, arch=case["arch"], options=["-rdc=true"], emit="ltoir").ltoir
            for name, source in case.get("inputs", {}).items()}


def taken(output):
    """Returns the bytes of the output file and removes it, so that a later build can't be mistaken for its writer."""
    contents = output.read_bytes()
    output.unlink()
    return contents


def through_python(client, case, directory, inputs):
    """Returns (outcome, key, contents)."""
    how = {"arch": case["arch"], "options": case.get("options", []), "emit": case["emit"]}
    try:
        if case["kind"] == "link":
            made = client.link([(name, contents, "ltoir") for name, contents in inputs.items()], **how)
        elif case["kind"] == "nvvm":
            made = client.nvvm(list(case["modules"].items()), **how)
        else:
            made = client.build(case["source"], name=case["name"], include_dirs=case.get("include_dirs", []),
                                headers=case.get("headers", {}), name_expressions=case.get("name_expressions", []),
                                working_directory=directory, **how)
    except cccl_cache.CompileError as error:
        return "failed", error.result.key, b""
    return made.outcome, made.key, made.artifacts[case["emit"]]


def through_shell(cli, case, directory, inputs):
    output = directory / "shell.out"
    words = ["--arch", case["arch"], "--emit", case["emit"], "-o", str(output)]
    words += [f"--option={each}" for each in case.get("options", [])]
    if case["kind"] != "nvrtc":
        files = list(inputs or case["modules"])
    else:
        (directory / "source").write_text(case["source"])
        files = ["source", "--name", case["name"]]
        for each in case.get("include_dirs", []):
            words += ["-I", each]
        for each in case.get("headers", {}):
            words += ["--header", f"{each}={each.replace('/', '.')}"]
        for each in case.get("name_expressions", []):
            words += ["--name-expression", each]
    command = {"nvrtc": "build"}.get(case["kind"], case["kind"])
    done = cli("--json", command, *files, *words, check=False, cwd=directory)
    told = json.loads(done.stdout)
    return told["outcome"], told["key"], b"" if told["outcome"] == "failed" else taken(output)


def through_program(program, socket, environment, case, directory, inputs):
    output = directory / "program.out"
    prefix = "--gpu-architecture=" if case["kind"] == "nvrtc" else "-arch="
    words = ["directory", str(directory), "option", prefix + case["arch"]]
    if case["kind"] == "nvrtc":
        (directory / "source").write_text(case["source"])
        words += ["source", str(directory / "source"), "name", case["name"]]
        if case["emit"] == "ltoir":
            words += ["option", "-dlto"]
    for word, key in (("option", "include_dirs"), ("option", "options"), ("expression", "name_expressions")):
        start = "--include-path=" if key == "include_dirs" else ""
        for each in case.get(key, []):
            words += [word, start + each]
    for word, names in (("header", case.get("headers", {})), ("input", inputs), ("module", case.get("modules", {}))):
        for each in names:
            words += ["next", each, word, str(directory / each.replace("/", "."))]
    done = subprocess.run(
        [program, socket, case["kind"], KINDS[case["emit"]], str(output), *words], stdout=subprocess.PIPE,
        text=True, timeout=PATIENCE, env={"PATH": os.environ["PATH"], **environment})
    outcome, key = done.stdout.split()
    return outcome, key, b"" if outcome == "failed" else taken(output)


def through_programs(socket, environment, *what):
    return [through_program(program, socket, environment, *what) for program in PROGRAMS]


@pytest.fixture
def what(case, directory, inputs):
    """Returns the case and the directory of its files, as the arguments of the functions above."""
    for name, text in case.get("files", {}).items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    for name, contents in {**case.get("headers", {}), **case.get("modules", {}), **inputs}.items():
        (directory / name.replace("/", ".")).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return case, directory, inputs


@pytest.fixture
def leave(nobody, monkeypatch):
    """Returns a function that removes the daemon from this process's environment."""

    def leave():
        for name in [name for name in os.environ if name.startswith("CCCL_CACHED_")]:
            monkeypatch.delenv(name)  # the variables are settings of the daemon, which has none for tests
        for name, value in nobody.environment.items():
            monkeypatch.setenv(name, value)
        return str(nobody.directory / "nobody")

    return leave


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_every_language_gets_one_answer_with_a_daemon_and_without(client, lasting, nobody, case, what, leave):
    answers = [through_python(client, *what), through_shell(lasting.cli, *what),
               *through_programs(lasting.socket, {}, *what)]
    socket = leave()
    answers += [through_python(cccl_cache.Client(socket, fallback="local"), *what), through_shell(nobody.cli, *what),
                *through_programs(socket, nobody.environment, *what)]
    outcomes, keys, contents = zip(*answers)
    assert outcomes == (("failed",) * 8 if case.get("fails") else ("built", *["hit"] * 3, *["local"] * 4))
    assert len(set(keys)) == 1 and keys[0]
    assert len(set(contents)) == 1
