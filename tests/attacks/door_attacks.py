"""Connections: too many, silent, half-sent, endless headers; slow clients of the metrics port."""
import contextlib
import os
import re
import socket
import subprocess
import threading
import time

import raw_http2 as http2
from arena import attack, expect, service, until

CREATE_PLAN = "/planwright.v1.PlanningService/CreatePlan"
MIB = 1 << 20


def connect(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), 10)


@contextlib.contextmanager
def idle_connections(address, count):
    """Connections that send nothing; fewer where the server ends them at once."""
    opened = []
    try:
        for _ in range(count):
            with contextlib.suppress(OSError):
                opened.append(connect(address))
        yield opened
    finally:
        for one in opened:
            one.close()


def serves_new_client(server):
    return server.stub().GetServerInfo(service.GetServerInfoRequest(), timeout=5).version != ""


def crowd(arena, descriptors):
    server = arena.serve("--cpus=2", descriptors=descriptors)
    with arena.bystander(server):
        with idle_connections(server.address, 1100):
            time.sleep(3)
            expect(serves_new_client(server), "a new client is not served beside idle connections")
    expect(serves_new_client(server), "a new client is not served after idle connections")
    until(lambda: server.metric('planwright_connections{port="grpc"}') < 50, "idle connections leave the count")


@attack(2, "1,100 idle connections, soft limit of 1,024 descriptors")
def idle_beyond_soft_limit(arena):
    crowd(arena, 1024)


@attack("2b", "1,100 idle connections, hard limit of 1,024 descriptors")
def idle_beyond_hard_limit(arena):
    crowd(arena, (1024, 1024))


@attack("2c", "1,100 idle connections beside an ordinary client", mixes=True)
def idle_mixed(arena):
    server = arena.serve("--cpus=2")
    with arena.bystander(server), idle_connections(server.address, 1100):
        time.sleep(2)


def half_a_message(address, mib, stated_mib=64, path=CREATE_PLAN):
    """A connection that has sent so much of a message and is silent; None where it was ended before. A thread reads
    frames, so that windows open."""
    connection = http2.Connection(address, seconds=20)
    windows = {0: 65535, 1: 65535}
    more = threading.Condition()
    gone = []

    def read():
        try:
            while True:
                kind, flags, stream, payload = connection.read_frame()
                with more:
                    if kind == http2.WINDOW_UPDATE:
                        windows[stream] = windows.get(stream, 0) + int.from_bytes(payload, "big")
                    elif kind == http2.SETTINGS and not flags & http2.ACK:
                        for first in range(0, len(payload), 6):
                            if int.from_bytes(payload[first:first + 2], "big") == http2.INITIAL_WINDOW_SIZE:
                                windows[1] += int.from_bytes(payload[first + 2:first + 6], "big") - 65535
                        connection.send(http2.settings_ack())
                    elif kind == http2.PING and not flags & http2.ACK:
                        connection.send(http2.frame(http2.PING, http2.ACK, 0, payload))
                    more.notify()
        except (OSError, ConnectionError, ValueError):
            with more:
                gone.append(True)
                more.notify()

    connection.send(http2.settings())
    threading.Thread(target=read, daemon=True).start()
    connection.send(http2.headers(1, http2.call_headers(path)))
    body = http2.grpc_message(b"", stated_bytes=stated_mib * MIB) + bytes(mib * MIB)
    sent = 0
    with contextlib.suppress(OSError):
        while sent < len(body):
            with more:
                if not more.wait_for(lambda: gone or min(windows[0], windows[1]) > 0, timeout=5) or gone:
                    break
                room = min(windows[0], windows[1], http2.MAX_FRAME, len(body) - sent)
                windows[0] -= room
                windows[1] -= room
            connection.send(http2.frame(http2.DATA, 0, 1, body[sent:sent + room]))
            sent += room
    return connection


def plan_stream(server, seconds, outcomes):
    """A stream of another client that searches for some seconds."""
    request = service.StreamPlanRequest(graph_reference="zoo:inception-v3", cluster_reference="zoo:random-uniform:8",
                                        skip_cache=True)
    request.options.time_limit.FromSeconds(seconds)
    request.options.threads = 1
    try:
        events = list(server.stub().StreamPlan(request, timeout=60))
        outcomes.append("OK" if events else "empty")
    except Exception as error:  # Whatever it is, it should not have been.
        outcomes.append(str(error))


@attack(7, "8 half-sent messages of 64 MiB beside streams of others")
def half_sent(arena):
    # Ordinary calls do not wait for the streams, which run before and during the attack.
    server = arena.serve("--cpus=2", "--max_running=4", "--memory_budget=1GiB")
    outcomes = []
    streams = [threading.Thread(target=plan_stream, args=(server, 14, outcomes)) for _ in range(2)]
    for stream in streams:
        stream.start()
    with arena.bystander(server):
        halves = [half_a_message(server.address, 63) for _ in range(8)]
        time.sleep(2)
        expect(server.metric("planwright_held_bytes") <= 128 * MIB, "more is held than the transport may")
        expect(server.metric('planwright_ended_connections_total{port="grpc",reason="held"}') >= 4, "nobody was ended")
        for stream in streams:
            stream.join()
        for half in halves:
            half.close()
    expect(outcomes == ["OK", "OK"], f"streams of others ended with {outcomes}")
    expect(server.peak_rss_mib() < 1.2 * 1024, f"{server.peak_rss_mib():.0f} MiB at a budget of 1 GiB")


def flood_headers(address, mib):
    """CONTINUATION frames without an end, until the server has had enough; how many MiB it took."""
    sent = 0
    with contextlib.suppress(OSError), http2.Connection(address, seconds=5) as connection:
        connection.send(http2.settings())
        connection.send(http2.headers(1, http2.call_headers(CREATE_PLAN), end_headers=False))
        chunk = 16 * http2.continuation(1, http2.header_block([("x-more", "x" * 16000)]))
        while sent < mib * MIB:
            connection.send(chunk)
            sent += len(chunk)
        time.sleep(1)
    return sent / MIB


@attack(20, "4 floods of CONTINUATION frames")
def endless_headers(arena):
    server = arena.serve("--cpus=2", "--memory_budget=1GiB")
    before = server.rss_mib()
    taken = []
    with arena.bystander(server):
        floods = [threading.Thread(target=lambda: taken.append(flood_headers(server.address, 400))) for _ in range(4)]
        for flood in floods:
            flood.start()
        for flood in floods:
            flood.join()
    expect(len(taken) == 4 and max(taken) < 400, f"a flood ended by itself only: {taken}")
    expect(server.peak_rss_mib() < before + 512, f"{server.peak_rss_mib():.0f} MiB of headers without an end")
    expect(server.metric('planwright_ended_connections_total{port="grpc",reason="held"}') >= 4, "nobody was ended")


@attack("20b", "floods of CONTINUATION frames beside an ordinary client", mixes=True)
def endless_headers_mixed(arena):
    server = arena.serve("--cpus=2", "--memory_budget=1GiB")
    with arena.bystander(server):
        for _ in range(3):
            flood_headers(server.address, 200)


def trickle(address, end):
    """One byte of a head a second."""
    with contextlib.suppress(OSError):
        with connect(address) as one:
            for letter in b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 1000:
                if end.wait(1):
                    return
                one.send(bytes([letter]))


@attack(10, "40 idle and 12 trickling connections to the metrics port")
def slow_probes(arena):
    server = arena.serve("--cpus=2")
    end = threading.Event()
    tricklers = [threading.Thread(target=trickle, args=(server.http, end)) for _ in range(12)]
    with arena.bystander(server):
        for one in tricklers:
            one.start()
        for _ in range(4):
            with idle_connections(server.http, 40):
                for path in ("/livez", "/readyz", "/metrics"):
                    code, _ = server.get(path, 2)
                    expect(code == 200, f"{path} answers {code}")
                time.sleep(1)
        end.set()
        for one in tricklers:
            one.join()


@attack("10b", "600 idle connections and 8 clients that ask for metrics without rest")
def hungry_probes(arena):
    server = arena.serve("--cpus=2")
    until_then = time.monotonic() + 5

    def ask():
        while time.monotonic() < until_then:
            with contextlib.suppress(OSError):
                server.get("/metrics", 2)

    askers = [threading.Thread(target=ask) for _ in range(8)]
    with idle_connections(server.http, 600):
        for one in askers:
            one.start()
        worst = 0.0
        while time.monotonic() < until_then:
            start = time.monotonic()
            expect(server.get("/livez", 2) == (200, "ok\n"), "/livez does not say ok")
            worst = max(worst, time.monotonic() - start)
        for one in askers:
            one.join()
    expect(worst < 1, f"/livez took {worst:.2f} s")
    expect(re.search(r"^planwright_ended_connections_total", server.get("/metrics")[1], re.M), "nothing is counted")


@attack("2d", "the server calls its own listener for 13 s, in the clear and through TLS")
def own_calls(arena):
    certificate, key = (os.path.join(arena.folder, name) for name in ("server.pem", "server.key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True,
                   stderr=subprocess.DEVNULL)
    tls = ["--tls_cert_file=" + certificate, "--tls_key_file=" + key]
    servers = [arena.serve(), arena.serve(*tls), arena.serve(*tls, "--tls_client_ca_file=" + certificate)]
    lines = [len(server.log()) for server in servers]
    time.sleep(13)
    for server, before in zip(servers, lines):
        expect(server.get("/livez") == (200, "ok\n"), f"/livez answers {server.get('/livez')}")
        accepted = server.metric('planwright_accepted_connections_total{port="grpc"}')
        expect(accepted >= 5, f"the server has called itself {accepted:.0f} times")
        expect(len(server.log()) == before, f"that is no news: {server.log()[-1]}")
