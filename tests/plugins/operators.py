# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Operators made from text, with the line numbers of a file."""

import textwrap


def define(source, name="f", *, file="operators.py", line=1, **values):
    """Returns the function `name` that a file with this text at this line would define, with these globals."""
    code = compile("\n" * (line - 1) + textwrap.dedent(source), file, "exec")
    values.setdefault("__builtins__", __builtins__)
    exec(code, values)
    return values[name]
