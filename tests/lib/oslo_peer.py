#!/usr/bin/python3
"""
A peer that is no scoria: oslo.messaging as other services use it. Prints one JSON line an answer.

    oslo_peer.py URL call TOPIC METHOD VERSION ARGUMENTS [SERVER]   call and print the end of it
    oslo_peer.py URL watch TOPIC METHOD VERSION ARGUMENTS SECONDS   the same; given up without a
                                                                    sign of life for so long
    oslo_peer.py URL cast TOPIC METHOD VERSION ARGUMENTS [SERVER]   SERVER "*": fanout
    oslo_peer.py URL listen TOPIC COUNT                             so many notifications, each once
    oslo_peer.py URL serve TOPIC SERVER                             prints its calls
"""

import json
import os
import queue
import sys

import oslo_messaging
from oslo_config import cfg

TIMEOUT = 60


def write_line(value):
    print(json.dumps(value), flush=True)


def transport_of(url, notifications=False):
    conf = cfg.CONF
    conf([])
    get = (oslo_messaging.get_notification_transport if notifications
           else oslo_messaging.get_rpc_transport)
    arguments = {"allowed_remote_exmods": ["cinder.exception"]}
    transport = get(conf, url=url, **arguments)
    conf.set_override("amqp_durable_queues", True, group="oslo_messaging_rabbit")
    conf.set_override("rabbit_quorum_queue", True, group="oslo_messaging_rabbit")
    return conf, transport


class Context(dict):
    def to_dict(self):
        return dict(self)


class Serializer(oslo_messaging.NoOpSerializer):
    def serialize_context(self, context):
        return dict(context)


def client(url, topic, version, server, monitor=None):
    _, transport = transport_of(url)
    fanout = server == "*"
    target = oslo_messaging.Target(topic=topic, version=version, fanout=fanout or None,
                                   server=None if fanout else server)
    return oslo_messaging.get_rpc_client(transport, target, timeout=TIMEOUT, serializer=Serializer(),
                                         call_monitor_timeout=monitor)


CONTEXT = {"user_id": "u", "project_id": "p", "auth_token": "a-secret-token", "roles": ["admin"],
           "is_admin": True, "request_id": "req-peer"}


def call(url, topic, method, version, arguments, server=None, monitor=None):
    try:
        write_line({"result": client(url, topic, version, server, monitor).call(CONTEXT, method,
                                                               **json.loads(arguments))})
    except oslo_messaging.RemoteError as failure:
        write_line({"failure": failure.exc_type, "text": str(failure.value)})
    except Exception as failure:  # pylint: disable=broad-except
        write_line({"failure": type(failure).__name__.replace("_Remote", ""), "text": str(failure)})


def watch(url, topic, method, version, arguments, seconds):
    call(url, topic, method, version, arguments, monitor=int(seconds))


def cast(url, topic, method, version, arguments, server=None):
    client(url, topic, version, server).cast(CONTEXT, method, **json.loads(arguments))
    write_line({"cast": method})


class Listener:
    def __init__(self):
        self.received = queue.Queue()
        self.ids = set()

    def info(self, context, publisher_id, event_type, payload, metadata):
        if metadata["message_id"] in self.ids:
            return  # once more: the promise is at least once
        self.ids.add(metadata["message_id"])
        self.received.put({"context": context, "publisher_id": publisher_id, "event": event_type,
                        "payload": payload, "metadata": metadata})


def listen(url, topic, count):
    _, transport = transport_of(url, notifications=True)
    endpoint = Listener()
    server = oslo_messaging.get_notification_listener(
        transport, [oslo_messaging.Target(topic=topic)], [endpoint], executor="threading")
    server.start()
    try:
        for _ in range(int(count)):
            write_line(endpoint.received.get(timeout=TIMEOUT))
    finally:
        server.stop()
        server.wait()


class Endpoint:
    target = oslo_messaging.Target(version="3.20")

    def extend_volume(self, context, **arguments):
        write_line({"extend_volume": arguments})


def serve(url, topic, server_name):
    _, transport = transport_of(url)
    server = oslo_messaging.get_rpc_server(
        transport, oslo_messaging.Target(topic=topic, server=server_name), [Endpoint()],
        executor="threading")
    server.start()
    write_line({"serving": topic})
    sys.stdin.read()
    server.stop()
    server.wait()


if __name__ == "__main__":
    {"call": call, "watch": watch, "cast": cast, "listen": listen, "serve": serve}[sys.argv[2]](
        sys.argv[1], *sys.argv[3:])
    os._exit(0)  # the library takes ten seconds to end its threads
