# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the output of --json with docs/json.schema.json, which must name every key."""

import functools
import json
import pathlib

SCHEMA = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/json.schema.json"


def check(words, text):
    """Checks an output. `words` are those of the command line, and `text` is the output."""
    command = next((word for word in words if word in definitions()), "failure")
    errors = sorted(validator(command).iter_errors(json.loads(text)), key=lambda error: error.json_path)
    assert not errors, f"{words}: {[(error.json_path, error.message) for error in errors]}: {text}"


@functools.cache
def definitions():
    """Returns the definitions, changed to refuse keys that the schema does not describe. The schema itself allows
    such keys for readers of later outputs."""

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
