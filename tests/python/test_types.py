# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The package's types, as a type checker sees them in a program that uses the package."""

import pathlib
import subprocess
import sys

from patience import PATIENCE

PYPROJECT = pathlib.Path(__file__).parents[2] / "client/python/pyproject.toml"
USE = """
import cccl_cache
from cccl_cache import steps

client = cccl_cache.Client()
result = client.build("", arch="sm_90", options=["-lineinfo"], emit=("cubin", "ptx"))
size: int = len(result.cubin or b"") + result.timing.total_us
names: dict[str, str] = result.lowered_names
try:
    client.link([result, ("a.ltoir", b"")], arch="sm_90")
except cccl_cache.Error as error:
    hint: float | None = error.retry_after
made: bytes = steps.Steps("org.example").make({"a": 1, "b": ("c", None)}, lambda: b"made")


async def ask(client: cccl_cache.AsyncClient) -> None:
    kept: bytes | None = (await client.build("", arch="sm_90", timeout=1.5)).cubin
    async with await client.lease("org.example", {"a": 1}) as lease:
        kept = lease.contents
    step: steps.AsyncStep = await steps.AsyncSteps("org.example", hold=5).get({"a": 1})
    kept = step.value
    records: int = (await client.snapshot("made.snap", arch="sm_90")).records
"""


def check(directory, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "mypy", f"--config-file={PYPROJECT}", f"--cache-dir={directory}/cache", *arguments],
        capture_output=True, text=True, timeout=PATIENCE * 5)


def test_the_package_checks_strictly(directory):
    checked = check(directory, "-p", "cccl_cache")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_type_checkers_accept_correct_programs_and_reject_wrong_ones(directory):
    right, wrong = directory / "right.py", directory / "wrong.py"
    right.write_text(USE)
    wrong.write_text(USE.replace("arch=", "architecture=").replace("int = len", "str = len"))
    assert check(directory, str(right)).returncode == 0
    told = check(directory, str(wrong)).stdout
    assert 'variable has type "str"' in told
    assert told.count('Unexpected keyword argument "architecture"') == 4  # of both clients
