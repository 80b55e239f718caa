"""What planwright-webhook bears, in figures: hook_load.py WEBHOOK PLANWRIGHTD [REVIEWS_PER_SECOND [SECONDS]]. No test, since
what comes out depends on the machine; docs/results/kubernetes.md has what came out."""
import asyncio
import json
import pathlib
import signal
import ssl
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parent.parent / "client/webhook/integration"))
from hook import EXAMPLES, Process, example, make_certificate, review  # noqa: E402  (of another folder)

WEBHOOK, DAEMON = sys.argv[1:3]
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else 200
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 20
CONNECTIONS = 16
IDLE, DRIPPING = 1000, 400


class Figures:
    """Times of answers in ms, and how jobs were admitted."""

    def __init__(self):
        self.times, self.warned, self.failed = [], 0, 0

    def __str__(self):
        times = sorted(self.times)
        share = lambda part: times[min(len(times) - 1, int(part * len(times)))]  # noqa: E731
        return (f"{len(times)} answers, median {share(0.5):.1f} ms, p99 {share(0.99):.1f} ms, longest {times[-1]:.0f} ms; "
                f"{self.warned} with a warning, {self.failed} connections failed")


class Hook:
    def __init__(self, folder, daemon):
        certificate, key = make_certificate(folder)
        self.process = Process("serving reviews", WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0",
                               f"--server={daemon.addresses['serving grpc']}", f"--tls_cert_file={certificate}",
                               f"--tls_key_file={key}", f"--pools_file={EXAMPLES / 'pools.yaml'}",
                               "--max_requests_per_second=0")
        self.host, port = self.process.addresses["serving reviews"].rsplit(":", 1)
        self.port, self.tls = int(port), ssl.create_default_context(cafile=certificate)

    def open(self):
        return asyncio.open_connection(self.host, self.port, ssl=self.tls)

    def mebibytes(self):
        """The most that it has had."""
        status = pathlib.Path(f"/proc/{self.process.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024


def request_of(item):
    body = json.dumps(review(item)).encode()
    return (b"POST /validate HTTP/1.1\r\nHost: hook\r\nContent-Type: application/json\r\nContent-Length: "
            + str(len(body)).encode() + b"\r\n\r\n" + body)


async def ask(reader, writer, request, figures):
    begin = time.monotonic()
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    answer = json.loads(await reader.readexactly(length))["response"]
    assert answer["allowed"], answer
    figures.times.append((time.monotonic() - begin) * 1000)
    figures.warned += "warnings" in answer


async def load(hook, request, rate=RATE, seconds=SECONDS):
    """Asks at the rate, from several connections that stay open."""
    figures, begin = Figures(), time.monotonic()

    async def connection(number):
        reader, writer = await hook.open()
        for turn in range(int(rate * seconds / CONNECTIONS)):
            due = begin + (number + turn * CONNECTIONS) / rate
            await asyncio.sleep(max(0, due - time.monotonic()))
            try:
                await ask(reader, writer, request, figures)
            except (OSError, asyncio.IncompleteReadError):
                figures.failed += 1
                reader, writer = await hook.open()
        writer.close()

    await asyncio.gather(*(connection(number) for number in range(CONNECTIONS)))
    return figures


async def drip(hook):
    """Sends a request byte by byte, and begins again when the hook has had enough."""
    while True:
        try:
            _, writer = await hook.open()
            for byte in b"POST /mutate HTTP/1.1\r\nContent-Length: 100\r\n":
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(1)
        except OSError:
            await asyncio.sleep(1)


async def open_idle(hook):
    opened = []
    for _ in range(IDLE):
        opened.append(await hook.open())
    return opened


async def measure(folder):
    daemon = Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=",
                     f"--store=sqlite:{folder / 'store.db'}")
    hook = Hook(folder, daemon)
    request = request_of(example())
    await load(hook, request, rate=20, seconds=2)
    print(f"cached reviews, {RATE:.0f} a second: {await load(hook, request)}; {hook.mebibytes():.0f} MiB", flush=True)
    idle = await open_idle(hook)
    drips = [asyncio.create_task(drip(hook)) for _ in range(DRIPPING)]
    await asyncio.sleep(5)
    print(f"beside {IDLE} idle and {DRIPPING} dripping connections: {await load(hook, request)}; {hook.mebibytes():.0f} MiB",
          flush=True)
    for task in drips:
        task.cancel()
    for _, writer in idle:
        writer.close()
    daemon.process.send_signal(signal.SIGSTOP)
    print(f"planwrightd frozen, 20 a second: {await load(hook, request, 20, 10)}", flush=True)
    daemon.process.send_signal(signal.SIGCONT)
    daemon.end()
    print(f"planwrightd gone, {RATE:.0f} a second: {await load(hook, request, seconds=10)}", flush=True)
    hook.process.end()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(measure(pathlib.Path(scratch)))
