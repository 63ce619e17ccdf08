# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Operators made from text, as if they stood in some file."""

import textwrap


def define(source, name="f", *, file="operators.py", line=1, **values):
    """The function `name` that a file with this text at this line would define, with these globals."""
    code = compile("\n" * (line - 1) + textwrap.dedent(source), file, "exec")
    values.setdefault("__builtins__", __builtins__)
    exec(code, values)
    return values[name]
