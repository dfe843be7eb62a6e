#!/usr/bin/python3
"""
One call of a CSI driver: csi_call.py SOCKET PACKAGE.SERVICE/METHOD [JSON...]. The JSON objects
together are the request; the response is printed as JSON, and a refusal as its code.
"""

import json
import sys

from google.protobuf import json_format

from csi_client import MODULES, Driver, Refused


def request_of(module, method, texts):
    """The fields of the request by name."""
    values = {}
    for text in texts:
        values.update(json.loads(text))
    message = json_format.ParseDict(values, getattr(module, f"{method}Request")())
    return {field.name: value for field, value in message.ListFields()}


def main():
    if len(sys.argv) < 3 or sys.argv[2].partition("/")[0].rpartition(".")[0] not in MODULES:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    path, name, *texts = sys.argv[1:]
    service, _, method = name.partition("/")
    package, _, service = service.rpartition(".")
    module = MODULES[package]
    driver = Driver(path)
    try:
        answer = driver.call(module, service, method, **request_of(module, method, texts))
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    finally:
        driver.close()
    print(json_format.MessageToJson(answer, preserving_proto_field_name=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
