# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A client can neither write lines of its own into the daemon's log nor fill the log."""

import re

from attacker import attack

LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d (error|warning|info|debug) [a-z]+:? [\x20-\x7e]*")


def test_header_fields_with_line_breaks_neither_forge_log_lines_nor_fill_the_log(shared, bystander):
    done = attack(shared, "forged_lines")
    bystander.report(f"forged_lines, {done}")
    shared.stop()
    lines = shared.log.read_bytes().decode("latin-1").splitlines()
    assert all(LINE.fullmatch(line) for line in lines), [line for line in lines if not LINE.fullmatch(line)][:10]
    assert not any(line.startswith("2026-11-23T00:40:00.000") for line in lines)
    assert any("grpc: " in line for line in lines), "gRPC said nothing: this tests nothing"
    assert len(lines) < 100
