"""
Each response of the running service is checked against its own description, docs/openapi.json, as
tests/lib/answers.c does in unit tests: a status that the operation has, and a body that its schema
takes at the microversion of the response, with no key missing and none unknown.
"""

import functools
import json
import os
import re

import jsonschema

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/openapi.json")


class Differs(AssertionError):
    pass


def note(schema, key, default=None):
    return schema.get("x-openstack", {}).get(key, default)


def since(schema):
    return int(note(schema, "min-ver", "3.0").split(".")[1])


def as_of(schema, minor):
    """The schema as it is at a microversion: later keys are none of it, and those that have come
    to stay are required."""
    if isinstance(schema, list):
        return [as_of(one, minor) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: value if key == "enum" else as_of(value, minor)
              for key, value in schema.items()}
    keys = schema.get("properties")
    if not isinstance(keys, dict) or "type" not in schema:
        return schema
    schema["properties"] = {key: value for key, value in keys.items() if since(value) <= minor}
    stay = [key for key, value in schema["properties"].items() if note(value, "required")]
    return {**schema, "required": schema.get("required", []) + stay}


def segments(path):
    return [part for part in path.split("/") if part]


def words_matching(pattern, path):
    """How many segments are words of the pattern, and one; 0: it is another path."""
    if len(pattern) != len(path):
        return 0
    words = 1
    for number, (expected, part) in enumerate(zip(pattern, path), 1):
        if expected[0] != "{":
            if part != expected and (number < len(path) or part != expected + ".json"):
                return 0
            words += 1
    return words


def schema_in(part):
    return part.get("content", {}).get("application/json", {}).get("schema")


def of_action(schema, sent):
    """Of schemas of actions that of the requested one."""
    if not schema or not note(schema, "discriminator"):
        return schema
    requested = next(iter(sent), None) if isinstance(sent, dict) else None
    return next((one for one in schema["oneOf"] if note(one, "action-name") == requested), None)


def parsed(data):
    try:
        return json.loads(data)
    except (TypeError, ValueError):
        return None


class Description:
    def __init__(self):
        with open(DOCUMENT, encoding="utf-8") as file:
            self.document = json.load(file)
        self.paths = [(segments(path), methods) for path, methods in self.document["paths"].items()]

    def operation(self, method, path):
        found = [(words_matching(pattern, path), methods[method])
                 for pattern, methods in self.paths if method in methods]
        words, operation = max(found, key=lambda one: one[0], default=(0, None))
        return operation if words else None

    @functools.lru_cache(maxsize=None)
    def components(self, minor):
        return {"components": as_of(self.document["components"], minor)}

    @functools.lru_cache(maxsize=None)
    def _validator(self, text, minor):
        schema = as_of(json.loads(text), minor)
        resolver = jsonschema.RefResolver("", self.components(minor))
        return jsonschema.Draft202012Validator(schema, resolver=resolver)

    def check(self, what, schema, value, minor):
        error = next(self._validator(json.dumps(schema), minor).iter_errors(value), None)
        if error:
            raise Differs(f"{what}{error.json_path[1:]}: {error.message}")

    def check_body(self, schema, data, minor):
        if schema is None:
            if data:
                raise Differs("a body where there should be none")
        elif set(schema) - {"x-openstack"}:  # else it is bare text
            if parsed(data) is None:
                raise Differs("no JSON")
            self.check("answer", schema, parsed(data), minor)

    def check_accepted(self, operation, sent, status, data, minor):
        if not operation or since(operation) > minor:
            raise Differs("an operation that there is not")
        if str(status) not in operation["responses"]:
            raise Differs("the operation has no such status")
        taken = of_action(schema_in(operation.get("requestBody", {})), sent)
        if taken and sent is not None:
            self.check("what was sent and taken", taken, sent, minor)
        self.check_body(of_action(schema_in(operation["responses"][str(status)]), sent), data,
                        minor)

    def verify(self, method, path, sent, status, headers, data):
        """`sent` and `data` are bytes or None.  An answer that is not the API's is let pass."""
        version = re.fullmatch(r"volume 3\.(\d+)", headers.get("OpenStack-API-Version", ""))
        parts = segments(path.partition("?")[0])
        if "x-compute-request-id" not in headers or parts[:1] != ["v3"] or not any(parts[1:]):
            return  # the version document is no operation
        minor = int(version.group(1)) if version else 0
        name = method.lower()
        try:
            if status < 400:
                operation = self.operation(name, parts[1:]) or self.operation(name, parts[2:])
                self.check_accepted(operation, parsed(sent), status, data, minor)
            elif status == 412:
                self.check_body(None, data, minor)
            else:
                fault = self.document["components"]["responses"]["fault"]
                self.check_body(schema_in(fault), data, minor)
        except Differs as reason:
            raise Differs(f"{method} {path} at 3.{minor}: {status}: not as the description of the "
                          f"API has it: {reason}\n{str(sent)[:500]}\n{str(data)[:1000]}") from None
