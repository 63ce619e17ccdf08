# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compares what --json prints with docs/json.schema.json, which has to name every key."""

import functools
import json
import pathlib

SCHEMA = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/json.schema.json"


def check(words, text):
    """`words`: of the command line. `text`: what it printed."""
    command = next((word for word in words if word in definitions()), "failure")
    errors = sorted(validator(command).iter_errors(json.loads(text)), key=lambda error: error.json_path)
    assert not errors, f"{words}: {[(error.json_path, error.message) for error in errors]}: {text}"


@functools.cache
def definitions():
    """Without keys that are not described, which the schema allows to those who read it."""

    def closed(node):
        if isinstance(node, list):
            return [closed(each) for each in node]
        if not isinstance(node, dict):
            return node
        return {**{key: closed(value) for key, value in node.items()},
                **({"additionalProperties": False} if "properties" in node and "additionalProperties" not in node else {})}

    found = closed(json.loads(SCHEMA.read_text())["$defs"])
    return {**found, "link": found["build"], "nvvm": found["build"]}


@functools.cache
def validator(command):
    import jsonschema

    either = {"anyOf": [{"$ref": f"#/$defs/{command}"}, {"$ref": "#/$defs/failure"}], "$defs": definitions()}
    return jsonschema.Draft202012Validator(either)
