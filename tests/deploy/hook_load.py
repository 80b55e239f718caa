"""What planwright-webhook bears, in figures: hook_load.py WEBHOOK PLANWRIGHTD [REVIEWS_PER_SECOND [SECONDS]]. No test, since
what comes out depends on the machine; docs/results/kubernetes.md has what came out."""
import asyncio
import json
import pathlib
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.append(str(pathlib.Path(__file__).parent.parent / "client/webhook/integration"))
from hook import EXAMPLES, Process, example, make_certificate, review  # noqa: E402  (of another folder)

WEBHOOK, DAEMON = sys.argv[1:3]
RATE = float(sys.argv[3]) if len(sys.argv) > 3 else 200
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 20
CONNECTIONS, ROUNDS = 16, 5
IDLE, DRIPPING = 1000, 400


class Figures:
    """Times of answers in ms, and how jobs were admitted."""

    def __init__(self):
        self.times, self.warned, self.failed = [], 0, 0

    def share(self, part):
        """The time within which that part of the answers came."""
        return sorted(self.times)[min(len(self.times) - 1, int(part * len(self.times)))]

    def __str__(self):
        return (f"{len(self.times)} answers, median {self.share(0.5):.1f} ms, p99 {self.share(0.99):.1f} ms, "
                f"longest {self.share(1):.0f} ms; "
                f"{self.warned} with a warning, {self.failed} connections failed")


class Hook:
    def __init__(self, folder, daemon):
        self.certificate, key = make_certificate(folder)
        self.process = Process("serving reviews", WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0",
                               f"--server={daemon.addresses['serving grpc']}", f"--tls_cert_file={self.certificate}",
                               f"--tls_key_file={key}", f"--pools_file={EXAMPLES / 'pools.yaml'}",
                               "--max_requests_per_second=0")
        self.host, port = self.process.addresses["serving reviews"].rsplit(":", 1)
        self.port, self.tls = int(port), ssl.create_default_context(cafile=self.certificate)

    def open(self):
        return asyncio.open_connection(self.host, self.port, ssl=self.tls)

    def connections(self):
        with urllib.request.urlopen(f"http://{self.process.addresses['serving http']}/metrics") as answer:
            metrics = answer.read().decode()
        return int(metrics.split("\nplanwright_webhook_connections ")[1].split()[0])

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


class Attackers:
    """hook_attackers.py in a process of its own, which yields to those who are measured."""

    def __init__(self, hook):
        self.process = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("hook_attackers.py"), hook.host,
                                         str(hook.port), hook.certificate, str(IDLE), str(DRIPPING)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def end(self):
        """What they say of themselves."""
        return self.process.communicate("\n")[0].strip()


async def measure_attacked(hook, request):
    """Rounds of quiet and attacked, side by side."""
    quiet, attacked = [], []
    for _ in range(ROUNDS):
        quiet.append(await load(hook, request))
        print(f"cached reviews, {RATE:.0f} a second: {quiet[-1]}; {hook.mebibytes():.0f} MiB", flush=True)
        attackers = Attackers(hook)
        attacked.append(await load(hook, request))
        connections, said = hook.connections(), attackers.end()
        print(f"beside {IDLE} idle and {DRIPPING} dripping connections: {attacked[-1]}; {hook.mebibytes():.0f} MiB, "
              f"{connections} connections; {said}", flush=True)
    for name, rounds in (("quiet", quiet), ("attacked", attacked)):
        middle = [statistics.median(figures.share(part) for figures in rounds) for part in (0.5, 0.99, 1)]
        print("{}, medians of {}: median {:.1f} ms, p99 {:.1f} ms, longest {:.0f} ms".format(name, ROUNDS, *middle), flush=True)


async def measure(folder):
    daemon = Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=",
                     f"--store=sqlite:{folder / 'store.db'}")
    hook = Hook(folder, daemon)
    print(f"at rest: {hook.mebibytes():.0f} MiB")
    request = request_of(example())
    await load(hook, request, rate=20, seconds=2)
    await measure_attacked(hook, request)
    daemon.process.send_signal(signal.SIGSTOP)
    print(f"planwrightd frozen, 20 a second: {await load(hook, request, 20, 10)}", flush=True)
    daemon.process.send_signal(signal.SIGCONT)
    daemon.end()
    print(f"planwrightd gone, {RATE:.0f} a second: {await load(hook, request, seconds=10)}", flush=True)
    hook.process.end()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(measure(pathlib.Path(scratch)))
