# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that exactly the integration tests that need root have ROOT in CMakeLists.txt.

root_labels.py FOLDER prints each test that lacks ROOT and each test with a needless ROOT, with the reason. Exit status 1
if there is one.
"""

import ast
import pathlib
import re
import sys

TEST = re.compile(r"^integration_test\((\w+)(.*)\)$", re.MULTILINE)
# Keyword arguments of subprocess and of our helpers that run a program as another user.
OTHER_USERS = {"user", "uid", "group", "extra_groups"}
CALLS_OF_ROOT = {"chown", "lchown", "fchown", "mknod", "setuid", "setgid", "setgroups", "setresuid", "seteuid"}


def asks_for_root(expression):
    """Returns whether the expression is `os.geteuid() == 0`."""
    return ast.unparse(expression) == "os.geteuid() == 0"


def suits_both(function):
    """Returns whether the test has one way for root and one for other users."""
    return any(isinstance(node, ast.IfExp) and asks_for_root(node.test) for node in ast.walk(function))


def reasons(tree):
    """Returns the reasons why only root can run this code: the line and the words of each."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and suits_both(node):
            continue
        if isinstance(node, ast.Assert) and asks_for_root(node.test):
            yield f"{node.lineno}: demands root"
        if isinstance(node, ast.Call):
            others = [each for each in node.keywords if each.arg in OTHER_USERS]
            if any(ast.unparse(each.value) != "None" for each in others):
                yield f"{node.lineno}: runs something as {others[0].arg}={ast.unparse(others[0].value)}"
            if isinstance(node.func, ast.Attribute) and node.func.attr in CALLS_OF_ROOT:
                yield f"{node.lineno}: calls {node.func.attr}"
        yield from reasons(node)


def imports_of(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def needs_root(file):
    """Returns the first reason why a test needs root, its own or that of a fixture that it imports. None if there is
    no reason."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for reason in reasons(tree):
        return f"{file.name}:{reason}"
    for module in imports_of(tree):
        beside = file.with_name(f"{module}.py")
        if not beside.is_file():
            continue
        for reason in reasons(ast.parse(beside.read_text(encoding="utf-8"))):
            if reason.endswith("demands root"):
                return f"{beside.name}:{reason}"
    return None


def complaints(folder):
    for name, rest in TEST.findall((folder / "CMakeLists.txt").read_text(encoding="utf-8")):
        labelled = "ROOT" in rest.split()
        reason = needs_root(folder / f"test_{name}.py")
        if reason and not labelled:
            yield f"integration_test({name}) lacks ROOT: {reason}"
        if labelled and not reason:
            yield f"integration_test({name}) has ROOT and needs it for nothing"


def main():
    wrong = list(complaints(pathlib.Path(sys.argv[1])))
    print("\n".join(wrong) if wrong else "all tests that need root are labelled, and no others")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
