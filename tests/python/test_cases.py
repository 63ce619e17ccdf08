# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The cases of tests/cases through Python, the command line (which is the C++ client) and C: one key, one answer."""

import json
import os
import pathlib
import subprocess

import cccl_cache
import pytest
from patience import PATIENCE

CASES = [case for path in sorted((pathlib.Path(__file__).parents[1] / "cases").glob("*.json"))
         for case in json.loads(path.read_text())]
KINDS = {"ptx": "1", "cubin": "2", "ltoir": "3"}


@pytest.fixture(scope="module")
def client(lasting):
    return cccl_cache.Client(lasting.socket, fallback="error")


@pytest.fixture
def inputs(client, case):
    """What a link links, by name: made of the sources that the case has."""
    return {name: client.build(source, arch=case["arch"], options=["-rdc=true"], emit="ltoir").ltoir
            for name, source in case.get("inputs", {}).items()}


def through_python(client, case, directory, inputs):
    """(outcome, key, contents)"""
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


def through_shell(lasting, case, directory, inputs):
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
    done = lasting.cli("--json", command, *files, *words, check=False, cwd=directory)
    told = json.loads(done.stdout)
    return told["outcome"], told["key"], b"" if told["outcome"] == "failed" else output.read_bytes()


def through_c(lasting, case, directory, inputs):
    output = directory / "c.out"
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
        [os.environ["CCCL_CACHED_TEST_RUN_CASE"], str(lasting.socket), case["kind"], KINDS[case["emit"]], str(output),
         *words], stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    outcome, key = done.stdout.split()
    return outcome, key, b"" if outcome == "failed" else output.read_bytes()


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_every_language_gets_one_answer(client, lasting, directory, case, inputs):
    for name, text in case.get("files", {}).items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    for name, contents in {**case.get("headers", {}), **case.get("modules", {}), **inputs}.items():
        (directory / name.replace("/", ".")).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    answers = [through_python(client, case, directory, inputs), through_shell(lasting, case, directory, inputs),
               through_c(lasting, case, directory, inputs)]
    outcomes, keys, contents = zip(*answers)
    expected = ("failed",) * 3 if case.get("fails") else ("built", "hit", "hit")
    assert outcomes == expected
    assert len(set(keys)) == 1 and keys[0]
    assert len(set(contents)) == 1
