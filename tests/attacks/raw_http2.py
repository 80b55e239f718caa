"""HTTP/2 by hand (RFC 9113), for what no library sends: broken headers, half messages, windows that never open.

    connection = Connection("127.0.0.1:50051")
    connection.send(settings({INITIAL_WINDOW_SIZE: 0}))
    connection.send(headers(1, call_headers("/planwright.v1.PlanningService/GetServerInfo")))
    connection.send(data(1, grpc_message(request), end_stream=True))
    kind, flags, stream, payload = connection.read_frame()
"""
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = range(1, 6)

END_STREAM = 0x1
ACK = 0x1
END_HEADERS = 0x4

MAX_FRAME = 16384


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def settings(values=None):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", key, value) for key, value in (values or {}).items()))


def settings_ack():
    return frame(SETTINGS, ACK, 0)


def window_update(stream, bytes_more):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", bytes_more))


def integer(value, prefix_bits, first):
    """RFC 7541, 5.1."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([first | value])
    encoded = bytearray([first | limit])
    value -= limit
    while value >= 128:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes(encoded) + bytes([value])


def header_block(fields):
    """Literal fields that are not indexed (RFC 7541, 6.2.2); names and values are str or bytes, and not checked."""
    block = b""
    for name, value in fields:
        name = name.encode("latin-1") if isinstance(name, str) else name
        value = value.encode("latin-1") if isinstance(value, str) else value
        block += b"\x00" + integer(len(name), 7, 0) + name + integer(len(value), 7, 0) + value
    return block


def headers(stream, fields, end_stream=False, end_headers=True):
    flags = (END_STREAM if end_stream else 0) | (END_HEADERS if end_headers else 0)
    return frame(HEADERS, flags, stream, header_block(fields))


def continuation(stream, block, end_headers=False):
    return frame(CONTINUATION, END_HEADERS if end_headers else 0, stream, block)


def call_headers(path, more=()):
    """Those of a call in the clear; `more`: pairs."""
    return [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
            ("content-type", "application/grpc"), ("te", "trailers"), *more]


def grpc_message(message, stated_bytes=None):
    """A message with gRPC's prefix, which may state another size than it has."""
    encoded = message if isinstance(message, bytes) else message.SerializeToString()
    return struct.pack(">BI", 0, len(encoded) if stated_bytes is None else stated_bytes) + encoded


def data(stream, payload, end_stream=False):
    """Frames of at most 16 KiB; flow control is the caller's."""
    parts = [payload[first:first + MAX_FRAME] for first in range(0, len(payload), MAX_FRAME)] or [b""]
    last = len(parts) - 1
    return b"".join(frame(DATA, END_STREAM if end_stream and number == last else 0, stream, part)
                    for number, part in enumerate(parts))


class Connection:
    """A connection that has sent its preface; `source`: the address that it comes from, such as "127.0.0.2"."""

    def __init__(self, address, source=None, seconds=10.0, preface=True):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host.strip("[]"), int(port)), seconds,
                                               (source, 0) if source is not None else None)
        if preface:
            self.send(PREFACE)

    def send(self, encoded):
        self.socket.sendall(encoded)

    def _read(self, count):
        received = b""
        while len(received) < count:
            more = self.socket.recv(count - len(received))
            if not more:
                raise ConnectionError("the server has closed the connection")
            received += more
        return received

    def read_frame(self):
        """(kind, flags, stream, payload)."""
        head = self._read(9)
        count = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, self._read(count)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
