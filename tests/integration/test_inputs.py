# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The files that a build may read. All of them are part of its key, so that a change never gives a stale hit."""

import json
import os

import pytest

KERNEL = 'extern "C" __global__ void k() {}\n'


def build(daemon, directory, text, *arguments):
    """Returns `build --json` of a file in the directory."""
    source = directory / "k.cu"
    source.write_text(text)
    done = daemon.cli("--json", "build", str(source), "--arch", "sm_90", "-o", os.devnull, *arguments)
    return json.loads(done.stdout)


def test_a_header_beside_the_source_is_part_of_the_key_and_never_stale(fake, directory):
    text = '#include "local.h"\n' + KERNEL
    answers = []
    for header in ("// one\n", "//fake: warn two\n", "//fake: warn two\n", "// one\n"):
        (directory / "local.h").write_text(header)
        answers.append(build(fake, directory, text))
    assert [answer["outcome"] for answer in answers] == ["built", "built", "hit", "hit"]
    assert ["two" in answer["log"] for answer in answers] == [False, True, True, False]


def test_a_new_file_that_hides_a_header_of_the_toolchain_is_noticed(fake, directory):
    """A later file outside the toolchain may hide the header that is found in the toolchain today."""
    place = directory / "inc"
    place.mkdir()
    text = "#include <cuda_runtime.h>\n" + KERNEL
    outcomes = [build(fake, directory, text, "-I", str(place))["outcome"] for _ in range(2)]
    assert outcomes == ["built", "hit"]
    (place / "cuda_runtime.h").write_text("//fake: warn hidden\n")
    assert "hidden" in build(fake, directory, text, "-I", str(place))["log"]


def test_the_toolchains_own_directories_named_with_I_are_cacheable(fake, toolkit, directory):
    text = "#include <cuda_runtime.h>\n" + KERNEL
    include = os.path.join(toolkit.root, "include")
    assert build(fake, directory, text, "-I", include)["outcome"] == "built"
    assert build(fake, directory, text, "-I", include)["outcome"] == "hit"


@pytest.mark.parametrize("limit, output", (("256KiB", ""), ("2MiB", "//fake: output-size 3M\n")))
def test_an_input_above_the_message_limit_is_uploaded_in_chunks_before_the_build(make_daemon, directory, limit, output):
    daemon = make_daemon("--message-limit", limit).start()
    text = output + "//" + 3_000_000 * "x" + "\n" + KERNEL
    assert [build(daemon, directory, text)["outcome"] for _ in range(2)] == ["built", "hit"]


def test_compiler_messages_have_the_clients_file_names(real, directory):
    source = directory / "broken.cu"
    source.write_text("this is not CUDA\n")
    done = real.cli("build", str(source), "--arch", "sm_90", check=False)
    assert done.returncode == 1
    assert f"{source}(1): error".encode() in done.stderr
    assert b"cccl-root" not in done.stderr


def test_a_compiler_sees_no_environment_and_a_canonical_working_directory(fake, directory):
    source = directory / "k.cu"
    source.write_text("//fake: environment\n//fake: working-directory\n")
    output = directory / "k.ptx"
    fake.cli("build", str(source), "--arch", "sm_90", "--emit", "ptx", "-o", str(output),
             environment={"NVRTC_DISABLE_PCH": "1"})
    text = output.read_text(errors="replace")
    assert "/cccl-work" in text
    assert "NVRTC_DISABLE_PCH" not in text
    assert str(directory) not in text
