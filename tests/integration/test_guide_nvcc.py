# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The script of docs/guide-nvcc.md, run unchanged."""

import pathlib
import re

from nvcc_toolkit import STANDIN, Toolkit
from standin import ended

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guide-nvcc.md"
[SCRIPT] = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.S)


def test_the_second_run_of_the_script_starts_no_nvcc(directory, make_daemon):
    daemon = make_daemon().start()
    toolkit = Toolkit(directory, daemon.socket)
    toolkit.environment["PATH"] = f"{STANDIN.parent}:{toolkit.root}/bin:{toolkit.environment['PATH']}"
    for name in ("reduce", "scale"):
        (toolkit.work / f"{name}.cu").write_text(f"int {name}() {{ return 1; }}\n")
    for hits in (0, 2):
        assert ended(toolkit.start_words(["sh", "-c", SCRIPT])) == (0, b"", b"")
        assert daemon.stats()["deposit_hits_total"] == hits
    assert {file.name for file in toolkit.work.glob("*.o")} == {"reduce.o", "scale.o"}
