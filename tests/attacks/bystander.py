"""An ordinary client: plans, asks and probes at a steady pace, first undisturbed, then until its input ends.

Prints "ready" when the undisturbed part is over, and at its end one line of JSON: p99 of its calls in both parts, the
number of calls, those that failed, and the slowest probe. Started by arena.py.
"""
import argparse
import json
import math
import socket
import sys
import threading
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--stubs", required=True)
parser.add_argument("--address", required=True)
parser.add_argument("--http", default="")
parser.add_argument("--tenant", default="ordinary")
parser.add_argument("--token", default="", help="file of a token")
parser.add_argument("--ca", default="", help="PEM file; with it, TLS")
parser.add_argument("--certificate", default="", help="PEM file of the client's chain")
parser.add_argument("--key", default="")
parser.add_argument("--quiet_seconds", type=float, default=4)
parser.add_argument("--interval", type=float, default=0.05)
options = parser.parse_args()

sys.path.append(options.stubs)
import grpc  # noqa: E402
import google  # noqa: E402

google.__path__.append(f"{options.stubs}/google")
from planwright.v1 import planning_service_pb2 as service, planning_service_pb2_grpc as stubs  # noqa: E402

CALL_SECONDS = 5.0
PROBE_SECONDS = 0.2
PROBE_TIMEOUT = 5.0


def content(name):
    if not name:
        return None
    with open(name, "rb") as file:
        return file.read()


def open_channel():
    own = [("grpc.use_local_subchannel_pool", 1)]
    if not options.ca:
        return grpc.insecure_channel(options.address, options=own)
    return grpc.secure_channel(
        options.address, grpc.ssl_channel_credentials(content(options.ca), content(options.key),
                                                      content(options.certificate)), options=own)


def metadata():
    if options.token:
        return [("authorization", "Bearer " + content(options.token).decode().strip())]
    return [("x-planwright-tenant", options.tenant)]


def plan(**arguments):
    return service.CreatePlanRequest(graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", **arguments)


class Times:
    """Milliseconds of the calls of one part."""

    def __init__(self):
        self.milliseconds = []
        self.failures = []

    def p99(self):
        ordered = sorted(self.milliseconds)
        return ordered[math.ceil(0.99 * len(ordered)) - 1] if ordered else 0.0


class Probes:
    """Asks both probes in turn, on a connection of its own each time, as a kubelet does."""

    def __init__(self):
        self.worst_ms = 0.0
        self.failures = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        paths = ["/livez", "/readyz"]
        while not self.stop.wait(PROBE_SECONDS):
            self.ask(paths[0])
            paths.reverse()

    def ask(self, path):
        host, _, port = options.http.rpartition(":")
        start = time.monotonic()
        try:
            with socket.create_connection((host, int(port)), PROBE_TIMEOUT) as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n".encode())
                answer = connection.makefile("rb").read()
        except OSError as error:
            self.failures.append(f"{path}: {error}")
            return
        if not answer.startswith(b"HTTP/1.1 200"):
            self.failures.append(f"{path}: {answer[:200]!r}")
        self.worst_ms = max(self.worst_ms, 1e3 * (time.monotonic() - start))


def call_until(is_over, times, calls):
    turn = 0
    while not is_over():
        start = time.monotonic()
        method, request = calls[turn % len(calls)]
        turn += 1
        try:
            method(request, timeout=CALL_SECONDS, metadata=metadata())
        except grpc.RpcError as error:
            times.failures.append(f"{error.code()}: {error.details()}")
        elapsed = time.monotonic() - start
        times.milliseconds.append(1e3 * elapsed)
        time.sleep(max(0.0, options.interval - elapsed))


def main():
    stub = stubs.PlanningServiceStub(open_channel())
    # A cached plan, one that is searched for, and what comes from memory.
    calls = [(stub.CreatePlan, plan()), (stub.CreatePlan, plan(skip_cache=True)),
             (stub.GetServerInfo, service.GetServerInfoRequest())]
    warm = Times()
    start = time.monotonic()
    call_until(lambda: time.monotonic() > start + 1, warm, calls)
    quiet = Times()
    start = time.monotonic()
    call_until(lambda: time.monotonic() > start + options.quiet_seconds, quiet, calls)
    print("ready", flush=True)

    probes = Probes()
    if options.http:
        probes.thread.start()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    attacked = Times()
    call_until(ended.is_set, attacked, calls)
    if options.http:
        probes.stop.set()
        probes.thread.join()
    print(json.dumps({"quiet_p99_ms": quiet.p99(), "attacked_p99_ms": attacked.p99(),
                      "calls": len(attacked.milliseconds), "failures": quiet.failures + attacked.failures,
                      "worst_probe_ms": probes.worst_ms, "probe_failures": probes.failures}))


main()
