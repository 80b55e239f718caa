"""Where servers are attacked: a planwrightd of the attack's own, an ordinary client beside the attack, and what to expect.

An attack is a function with the number of what it tries (see docs/threats.md) and a title:

    from arena import attack, expect, service

    @attack(2, "idle connections beyond the limit of descriptors")
    def idle_connections(arena):
        server = arena.serve("--cpus=2", descriptors=1024)
        with arena.bystander(server):
            ...                                   # Everything here happens while an ordinary client calls.
        expect(server.metric("planwright_...") == 0, "what should be, and is not")

arena.serve(*flags)      starts a planwrightd on free ports (Server, below); the arena ends it, with SIGTERM, and expects 0.
arena.bystander(server)  an ordinary client in a process of its own: it calls undisturbed for some seconds, then, while the
                         block runs; at its end every call must have been answered, with a p99 of at most twice the
                         undisturbed one plus arena.slack_ms, and every probe within PROBE_MS plus the slack.
arena.folder             a temporary folder of the attack's own.
expect(fact, message)    fails the attack with the message where the fact is not one.
refusal(call)            runs the call and returns the grpc.RpcError with which it ended; fails where it was answered.
@attack(..., mixes=True)  an attack that is nothing but traffic against whatever server it gets, with whatever flags: it takes
                         part in the minutes of mixed attack (run.py --mixed), where only the ordinary client judges.
until(fact, what)        waits for a fact to become true; fails with `what` after a number of seconds.
service, problems, ...   the generated messages; stub classes through Server.stub.

Raw HTTP/2 frames are in raw_http2.py. Attacks are bounded in count and time and stay on the loopback.
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.append(str(PROJECT / "tests" / "support"))
import python_stubs  # noqa: E402

STUBS = python_stubs.make(str(PROJECT / "proto"))
import grpc  # noqa: E402
from google.protobuf import duration_pb2 as durations  # noqa: E402,F401
from google.rpc import error_details_pb2 as error_details, status_pb2 as status  # noqa: E402,F401
from planwright.v1 import plan_pb2 as plans  # noqa: E402,F401
from planwright.v1 import planning_service_pb2 as service, planning_service_pb2_grpc as stubs  # noqa: E402
from planwright.v1 import problem_pb2 as problems  # noqa: E402,F401

# In which a probe answers.
PROBE_MS = 100
START_SECONDS = 30
END_SECONDS = 60


class Failure(Exception):
    """What an attack expected and did not see."""


def expect(fact, message):
    if not fact:
        raise Failure(message)


def until(fact, what, seconds=10.0):
    end = time.monotonic() + seconds
    while not fact():
        expect(time.monotonic() < end, f"not within {seconds:g} s: {what}")
        time.sleep(0.02)


def refusal(call):
    try:
        call()
    except grpc.RpcError as error:
        return error
    raise Failure("a call that should have been refused was answered")


def small_plan(**arguments):
    """A request that is searched in milliseconds."""
    return service.CreatePlanRequest(graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", **arguments)


class Server:
    """A running planwrightd: .address, .http (of both "HOST:PORT"), .pid, .log_file."""

    def __init__(self, daemon, folder, *flags, descriptors=None, environment=None, stderr=None):
        defaults = ["--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0", "--log_format=json"]
        if not any(flag.startswith("--store") for flag in flags):
            defaults.append("--store=none")
        self.log_file = os.path.join(folder, f"planwrightd-{len(os.listdir(folder))}.log")
        self.limit = descriptors
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen([daemon, *defaults, *flags], stderr=stderr or log,
                                            env={**os.environ, **(environment or {})}, preexec_fn=self._prepare)
        self.pid = self.process.pid
        self.peak_mib = 0.0
        if stderr is None:
            self.http = self.wait_for_log("serving http")["address"]
            self.address = self.wait_for_log("serving grpc")["address"]

    def _prepare(self):
        """`descriptors`: the soft limit, or a pair of the soft and the hard one."""
        if self.limit is not None:
            soft, hard = self.limit if isinstance(self.limit, tuple) else (
                self.limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def log(self):
        """What was logged so far, as dicts."""
        with open(self.log_file, encoding="utf-8", errors="replace") as lines:
            return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}\n")]

    def wait_for_log(self, message, seconds=START_SECONDS):
        end = time.monotonic() + seconds
        while True:
            for record in self.log():
                if record["message"] == message:
                    return record
            if self.process.poll() is not None or time.monotonic() > end:
                with open(self.log_file, encoding="utf-8", errors="replace") as text:
                    raise Failure(f"planwrightd did not say \"{message}\" but: {text.read()[-2000:]}")
            time.sleep(0.02)

    def channel(self, *options, credentials=None):
        target = self.address
        if credentials is not None:
            return grpc.secure_channel(target, credentials, options=list(options))
        # Of its own: channels of one process share connections otherwise.
        return grpc.insecure_channel(target, options=[("grpc.use_local_subchannel_pool", 1), *options])

    def stub(self, *options, credentials=None):
        return stubs.PlanningServiceStub(self.channel(*options, credentials=credentials))

    def get(self, path, seconds=5.0):
        """Code and text of an answer over HTTP."""
        try:
            with urllib.request.urlopen(f"http://{self.http}{path}", timeout=seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, name):
        """The value of a line of /metrics, by everything that stands before it; 0 where there is none."""
        for line in self.get("/metrics")[1].splitlines():
            if line.rpartition(" ")[0] == name:
                return float(line.rpartition(" ")[2])
        return 0.0

    def _memory_mib(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as lines:
            for line in lines:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) / 1024
        return 0.0

    def rss_mib(self):
        return self._memory_mib("VmRSS")

    def peak_rss_mib(self):
        """The most that it ever took."""
        return self._memory_mib("VmHWM")

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_running(self):
        return self.process.poll() is None

    def end(self, seconds=END_SECONDS):
        """Drains with SIGTERM; the exit code."""
        if self.is_running():
            self.peak_mib = self.peak_rss_mib()
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise Failure(f"planwrightd had not ended {seconds:g} s after SIGTERM") from late

    def kill(self):
        self.process.kill()
        self.process.wait()


class SharedServer(Server):
    """The server of somebody else, who starts and ends it."""

    def __init__(self, address, http, pid, log_file):
        self.address = address
        self.http = http
        self.pid = int(pid)
        self.log_file = log_file
        self.peak_mib = 0.0

    def is_running(self):
        return os.path.exists(f"/proc/{self.pid}")

    def end(self, seconds=END_SECONDS):
        return 0

    def kill(self):
        pass


@dataclasses.dataclass
class Result:
    """What an ordinary client saw."""
    quiet_p99_ms: float
    attacked_p99_ms: float
    calls: int
    worst_probe_ms: float


class Arena:
    def __init__(self, daemon, slack_ms, folder):
        self.daemon = daemon
        self.slack_ms = slack_ms
        self.folder = folder
        self.servers = []
        self.results = []

    def serve(self, *flags, **arguments):
        self.servers.append(Server(self.daemon, self.folder, *flags, **arguments))
        return self.servers[-1]

    @contextlib.contextmanager
    def bystander(self, server, *, options=()):
        """See the head; `options`: those of bystander.py, such as "--tenant=b", "--ca=FILE", "--token=FILE"."""
        process = subprocess.Popen([sys.executable, str(HERE / "bystander.py"), f"--stubs={STUBS}",
                                    f"--address={server.address}", f"--http={server.http}", *options],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            expect(process.stdout.readline() == "ready\n", "the ordinary client did not start")
            yield
            expect(server.is_running(), f"planwrightd ended with {server.process.poll()}")
            seen = json.loads(process.communicate("", timeout=60)[0])
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self.results.append(Result(seen["quiet_p99_ms"], seen["attacked_p99_ms"], seen["calls"], seen["worst_probe_ms"]))
        self._judge(seen)

    def _judge(self, seen):
        expect(not seen["failures"], f"{len(seen['failures'])} of {seen['calls']} ordinary calls failed, as with: "
               f"{seen['failures'][:1]}")
        allowed = 2 * seen["quiet_p99_ms"] + self.slack_ms
        expect(seen["attacked_p99_ms"] <= allowed, f"p99 of an ordinary client was {seen['attacked_p99_ms']:.0f} ms, "
               f"undisturbed {seen['quiet_p99_ms']:.0f} ms")
        expect(not seen["probe_failures"], f"probes failed, as with: {seen['probe_failures'][:1]}")
        expect(seen["worst_probe_ms"] <= PROBE_MS + self.slack_ms,
               f"a probe took {seen['worst_probe_ms']:.0f} ms")

    def close(self):
        """Ends the servers; fails where one does not end well."""
        for server in self.servers:
            if server.is_running():
                code = server.end()
                expect(code == 0, f"planwrightd ended with {code}")


class SharedArena(Arena):
    """One whose attacks all meet the same server, and in which nobody else calls."""

    def __init__(self, server, folder):
        super().__init__(None, 0, folder)
        self.server = server

    def serve(self, *flags, **arguments):
        return self.server

    @contextlib.contextmanager
    def bystander(self, server, *, options=()):
        yield


@dataclasses.dataclass
class Attack:
    number: str
    title: str
    run: object
    mixes: bool


ATTACKS = []


def attack(number, title, mixes=False):
    def register(function):
        ATTACKS.append(Attack(str(number), title, function, mixes))
        return function
    return register


@contextlib.contextmanager
def open_arena(daemon, slack_ms):
    """An arena whose servers and files are gone afterwards, whatever happened."""
    with tempfile.TemporaryDirectory(prefix="planwright-attack-") as folder:
        arena = Arena(daemon, slack_ms, folder)
        try:
            yield arena
            arena.close()
        finally:
            for server in arena.servers:
                if server.is_running():
                    server.peak_mib = server.peak_rss_mib()
                    server.kill()
