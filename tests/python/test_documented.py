# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The docstrings of the package and of `steps`: each public name has one, and describes each parameter or refers to another
class."""

import inspect
import re

import cccl_cache
import pytest
from cccl_cache import steps

REFERS = re.compile(r"(As|those of|As of) `(Client|AsyncClient|Steps|Step)\b")


def public():
    """Yields (name, class or function or property, its class or None)."""
    for name in (*cccl_cache.__all__, *steps.__all__):
        each = getattr(steps if name in steps.__all__ else cccl_cache, name)
        yield name, each, None
        for inner, member in vars(each).items() if inspect.isclass(each) else ():
            if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                yield f"{name}.{inner}", member, each


EVERYTHING = {name: (each, owner) for name, each, owner in public()}


def section(text, name):
    """Returns the names that a section of a docstring in NumPy's style describes."""
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.M | re.S)
    lines = re.findall(r"^(\S[^:\n]*?)(?: : .*)?$", found[1], re.M) if found else []
    return {each.strip() for line in lines for each in line.split(",")}


@pytest.mark.parametrize("name", EVERYTHING)
def test_each_public_name_is_described_with_its_parameters(name):
    each, owner = EVERYTHING[name]
    text = inspect.getdoc(each.fget if isinstance(each, property) else each) or ""
    if isinstance(each, property):
        assert text or name.partition(".")[2] in section(inspect.getdoc(owner), "Attributes")
        return
    assert text
    described = section(text, "Parameters")
    given = set(inspect.signature(each).parameters) - {"self"} if inspect.isfunction(each) else described
    assert described <= given, "it has no such parameter"
    assert REFERS.search(text) or given - described <= {"timeout"}
