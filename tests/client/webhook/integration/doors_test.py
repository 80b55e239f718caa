"""Who may ask a real planwright-webhook, how much, and what files and a planwrightd that change do to it: doors_test.py
WEBHOOK PLANWRIGHTD PLANWRIGHT."""
import hashlib
import http.client
import itertools
import json
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

try:
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (python3-yaml, with /usr/bin/python3)")
    sys.exit(77)

from hook import EXAMPLES, PATIENCE_SECONDS, Process, example, make_certificate, review

WEBHOOK, DAEMON, PROGRAM = sys.argv[1:4]
TOKENS = {"team-a": "token-of-a", "team-b": "token-of-b", "slow": "token-of-slow"}


class DoorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.certificate, cls.key = make_certificate(cls.folder)
        auth = {"tokens": [{"name": tenant, "sha256": hashlib.sha256(token.encode()).hexdigest(), "tenant": tenant,
                            "role": "planner"} for tenant, token in TOKENS.items()],
                "tenants": [{"name": "slow", "requests_per_second": 0.001, "burst": 1}]}
        (cls.folder / "auth.json").write_text(json.dumps(auth))
        cls.daemon = cls.start_daemon()

    @classmethod
    def start_daemon(cls):
        return Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=",
                       f"--store=sqlite:{cls.folder / 'store.db'}", f"--auth_config={cls.folder / 'auth.json'}",
                       f"--tls_cert_file={cls.certificate}", f"--tls_key_file={cls.key}")

    @classmethod
    def tearDownClass(cls):
        code = cls.daemon.end()
        cls.scratch.cleanup()
        assert code == 0, code

    def setUp(self):
        self.pools = self.folder / "pools" / "pools.yaml"
        self.pools.parent.mkdir(exist_ok=True)
        self.pools.write_text((EXAMPLES / "pools.yaml").read_text())
        self.token = self.write("token", TOKENS["team-a"])

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start_hook(self, *flags, daemon=None, interval="100ms"):
        hook = Process("serving reviews", WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0",
                       f"--server={(daemon or self.daemon).addresses['serving grpc']}", f"--server_ca_file={self.certificate}",
                       f"--token_file={self.token}", f"--tls_cert_file={self.certificate}", f"--tls_key_file={self.key}",
                       f"--pools_file={self.pools}", f"--reload_interval={interval}", *flags)
        self.addCleanup(lambda: self.assertEqual(hook.end(), 0))
        return hook

    def connect(self, hook, identity=None, source="127.0.0.1"):
        context = ssl.create_default_context(cafile=self.certificate)
        if identity is not None:
            context.load_cert_chain(*identity)
        host, port = hook.addresses["serving reviews"].rsplit(":", 1)
        connection = http.client.HTTPSConnection(host, int(port), timeout=PATIENCE_SECONDS, context=context,
                                                 source_address=(source, 0))
        self.addCleanup(connection.close)
        return connection

    def post(self, connection, body, path="/mutate"):
        """The HTTP code and the text of the answer."""
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def ask(self, hook, item, path="/mutate", **options):
        code, text = self.post(self.connect(hook, **options), json.dumps(review(item)), path)
        self.assertEqual(code, 200, text)
        return json.loads(text)["response"]

    def warnings(self, hook, item, **options):
        response = self.ask(hook, item, **options)
        self.assertTrue(response["allowed"])
        return " ".join(response.get("warnings", []))

    def metric(self, hook, series):
        with urllib.request.urlopen(f"http://{hook.addresses['serving http']}/metrics") as answer:
            found = re.search(rf"^{re.escape(series)} (\S+)$", answer.read().decode(), re.MULTILINE)
        return float(found[1]) if found else 0

    def is_ready(self, hook):
        try:
            with urllib.request.urlopen(f"http://{hook.addresses['serving http']}/readyz"):
                return True
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, 503)
            return False

    def wait_until(self, condition):
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_only_callers_with_a_certificate_of_the_authority_are_answered(self):
        ours, theirs = make_certificate(self.folder, "api-server"), make_certificate(self.folder, "stranger")
        authorities = self.write("authorities.crt", ours[0].read_text())
        hook = self.start_hook(f"--tls_client_ca_file={authorities}", "--max_requests_per_second=0.1", interval="1h")
        for identity in (None, theirs):
            with self.assertRaises((ssl.SSLError, OSError, http.client.HTTPException)):
                self.ask(hook, example(graph=""), identity=identity)
        # They have no rate.
        for _ in range(10):
            self.assertTrue(self.ask(hook, example(graph=""), identity=ours)["allowed"])
        authorities.write_text(theirs[0].read_text())
        hook.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.metric(hook, 'planwright_webhook_reloads_total{result="ok"}') > 0)
        self.assertTrue(self.ask(hook, example(graph=""), identity=theirs)["allowed"])
        with self.assertRaises((ssl.SSLError, OSError, http.client.HTTPException)):
            self.ask(hook, example(graph=""), identity=ours)

    def test_an_address_has_a_rate(self):
        hook = self.start_hook("--max_requests_per_second=5")
        body = json.dumps(review(example(graph="")))
        codes = [self.post(self.connect(hook), body)[0] for _ in range(100)]
        self.assertEqual(set(codes), {200, 429})
        # Two seconds of the rate are saved up.
        self.assertEqual(codes[:10], [200] * 10)
        self.assertEqual(self.post(self.connect(hook, source="127.0.0.2"), body)[0], 200)
        self.wait_until(lambda: self.post(self.connect(hook), body)[0] == 200)
        self.assertGreater(self.metric(hook, 'planwright_webhook_http_answers_total{code="429"}'), 0)

    def test_namespaces_ask_with_tokens_of_their_own(self):
        request = subprocess.run([PROGRAM, "register", "--graph=zoo:bert-base", "--cluster=zoo:pcie:2",
                                  f"--server={self.daemon.addresses['serving grpc']}", f"--tls_ca_file={self.certificate}",
                                  f"--token_file={self.token}"], capture_output=True, text=True, check=True)
        digest = re.search(r"graphs/\w+", request.stdout)[0]
        job = example(graph=digest, mode="annotate", pool="h100")
        tokens = self.write("tokens.yaml", f"team-b: {TOKENS['team-b']}\nnobody: wrong-token\n")
        hook = self.start_hook(f"--tokens_file={tokens}")

        def said(name_space):
            job["metadata"]["namespace"] = name_space
            return self.warnings(hook, job)

        # --token_file is for those that the file does not name.
        self.assertNotIn("not judged", said("team-a"))
        self.assertNotIn("not judged", said("other"))
        self.assertIn("not judged", said("team-b"))
        self.assertIn("planwrightd refused", said("nobody"))
        tokens.write_text(f"team-b: {TOKENS['team-a']}\n")
        self.wait_until(lambda: "not judged" not in said("team-b"))
        tokens.write_text("team-b: [")
        self.wait_until(lambda: self.metric(hook, 'planwright_webhook_reloads_total{result="refused"}') > 0)
        self.assertNotIn("not judged", said("team-b"))

    def test_bodies_have_room_together(self):
        hook = self.start_hook("--request_timeout=60s")
        body = json.dumps(review(example(graph=""))).encode().ljust(15 << 19)
        waiting = []
        for _ in range(4):
            connection = self.connect(hook)
            connection.putrequest("POST", "/mutate")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body[:-1])
            waiting.append(connection)
        self.wait_until(lambda: self.metric(hook, "planwright_webhook_body_bytes") >= 4 * (len(body) - 1))
        refused = self.connect(hook)
        refused.request("POST", "/mutate", body, {"Content-Type": "application/json"})
        refusal = refused.getresponse()
        self.assertEqual(refusal.status, 503)
        # Who is refused holds no room, though he has not gone yet, and small ones find it.
        self.assertEqual(self.metric(hook, "planwright_webhook_body_bytes"), 4 * (len(body) - 1))
        self.assertTrue(self.ask(hook, example(graph=""))["allowed"])
        refusal.close()
        for connection in waiting:
            connection.send(body[-1:])
            answer = connection.getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())["response"]["allowed"]), (200, True))
        self.wait_until(lambda: self.metric(hook, "planwright_webhook_body_bytes") == 0)
        self.assertEqual(self.post(self.connect(hook), body)[0], 200)

    def test_the_hook_starts_before_the_pools_are_counted(self):
        self.pools.unlink()
        hook = self.start_hook()
        self.assertIn("no pool has this job's queue", self.warnings(hook, example()))
        self.pools.write_text((EXAMPLES / "pools.yaml").read_text())
        self.wait_until(lambda: "patch" in self.ask(hook, example()))
        self.assertEqual(self.metric(hook, 'planwright_webhook_reloads_total{result="refused"}'), 0)
        # Once they are known, they do not go with their file.
        self.pools.unlink()
        self.wait_until(lambda: self.metric(hook, 'planwright_webhook_reloads_total{result="refused"}') > 0)
        self.assertIn("patch", self.ask(hook, example()))

    def test_a_folder_that_is_not_there_is_a_mistake(self):
        ran = subprocess.run([WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=", f"--pools_file={self.folder}/no/pools",
                              f"--tls_cert_file={self.certificate}", f"--tls_key_file={self.key}"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("--pools_file", ran.stderr)

    def test_pools_are_read_again_on_sighup_and_wrong_ones_change_nothing(self):
        hook = self.start_hook(interval="1h")
        pools = yaml.safe_load(self.pools.read_text())
        pools["pools"].append({**pools["pools"][0], "name": "more", "queues": []})
        self.pools.write_text(json.dumps(pools))
        self.assertEqual(self.metric(hook, "planwright_webhook_pools"), 1)
        hook.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.metric(hook, "planwright_webhook_pools") == 2)
        self.pools.write_text("pools: [{name: h100}]")
        hook.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.metric(hook, 'planwright_webhook_reloads_total{result="refused"}') == 1)
        self.assertEqual(self.metric(hook, "planwright_webhook_pools"), 2)

    def test_a_queue_of_kueue_selects_the_pool(self):
        pools = yaml.safe_load(self.pools.read_text())
        pools["pools"].append({**pools["pools"][0], "name": "single", "devices": 1, "queues": ["team-a/single", "team-b/gpu"],
                               "node_selector": {"example.com/pool": "single"}})
        self.pools.write_text(json.dumps(pools))
        hook = self.start_hook()
        job = example()
        self.assertIn("patch", self.ask(hook, job))
        # The same name in another namespace is another queue.
        job["metadata"]["namespace"] = "team-b"
        self.assertIn("nodes of pool single have 1", self.warnings(hook, job))
        job["metadata"]["namespace"] = "team-c"
        self.assertIn("no pool has this job's queue", self.warnings(hook, job))
        # A queue goes before a node selector, an annotation before both.
        job = example()
        job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "single"
        job["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/pool": "h100"}
        self.assertIn("nodes of pool single have 1", self.warnings(hook, job))
        job["metadata"]["annotations"]["planwright.dev/pool"] = "h100"
        self.assertIn("patch", self.ask(hook, job))
        del job["metadata"]["annotations"]["planwright.dev/pool"], job["metadata"]["labels"]
        self.assertIn("patch", self.ask(hook, job))

    def test_a_planwrightd_that_is_slow_refuses_or_goes_does_not_hold_jobs_up(self):
        daemon = self.start_daemon()
        self.addCleanup(daemon.process.kill)
        hook = self.start_hook("--request_timeout=2s", "--time_limit=1s", daemon=daemon)

        def asked(hidden):
            # A graph of its own, which no cached plan answers.
            graph = f"zoo:transformer?layers=2&hidden={64 * hidden}&heads=8&vocab=1000&sequence=128"
            begin = time.monotonic()
            said = self.warnings(hook, example(graph=graph), path="/validate")
            # The deadline is 2 s; what is more is the machine's.
            self.assertLess(time.monotonic() - begin, 20)
            return said

        sizes = itertools.count(10)
        self.assertNotIn("not judged", asked(1))
        daemon.process.send_signal(signal.SIGSTOP)
        self.assertIn("not judged", asked(2))
        daemon.process.send_signal(signal.SIGCONT)
        self.wait_until(lambda: "not judged" not in asked(3))
        self.token.write_text("unknown")
        self.wait_until(lambda: "planwrightd refused" in asked(4))
        self.token.write_text(TOKENS["slow"])
        self.wait_until(lambda: self.metric(hook, 'planwright_webhook_reloads_total{result="ok"}') >= 6)
        self.wait_until(lambda: "planwrightd refused" in asked(next(sizes)))
        self.assertEqual(daemon.end(), 0)
        self.wait_until(lambda: "cannot be reached" in asked(5))
        for reason in ("unavailable", "refused"):
            self.assertGreater(self.metric(hook, f'planwright_webhook_warnings_total{{reason="{reason}"}}'), 0)

    def memory(self, hook):
        """Of the process, in bytes."""
        status = pathlib.Path(f"/proc/{hook.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def test_silent_connections_stay_and_hold_little(self):
        hook = self.start_hook("--request_timeout=2s", "--time_limit=1s")
        self.assertTrue(self.ask(hook, example(graph=""))["allowed"])
        before = self.memory(hook)
        idle = [self.connect(hook) for _ in range(200)]
        for connection in idle:
            connection.connect()
        dripping = [self.connect(hook) for _ in range(20)]
        for connection in dripping:
            connection.connect()
            connection.sock.sendall(b"POST /mutate HTTP/1.1\r\n")
        begin = time.monotonic()
        self.assertTrue(self.ask(hook, example(graph=""))["allowed"])
        # Sanitizers hold what was freed.
        if b"__asan_" not in pathlib.Path(WEBHOOK).read_bytes():
            self.assertLess(self.memory(hook) - before, 220 * (40 << 10))
        # A request has a deadline, a connection that has begun none has not.
        for connection in dripping:
            self.assertEqual(connection.sock.recv(1), b"")
        self.assertGreater(time.monotonic() - begin, 1)
        # Two have asked in between, and keep their connections.
        self.wait_until(lambda: self.metric(hook, "planwright_webhook_connections") == 202)
        body = json.dumps(review(example(graph="")))
        self.assertEqual([self.post(connection, body)[0] for connection in idle], [200] * 200)

    def test_an_address_has_a_quarter_of_the_connections(self):
        hook = self.start_hook("--max_connections=12")
        idle = [self.connect(hook) for _ in range(3)]
        for connection in idle:
            connection.connect()
        with self.assertRaises(OSError):
            self.connect(hook).connect()
        body = json.dumps(review(example(graph="")))
        self.assertEqual(self.post(idle[0], body)[0], 200)
        # Another address of this machine has a quarter of its own.
        self.assertEqual(self.post(self.connect(hook, source="127.0.0.2"), body)[0], 200)
        idle.pop().close()
        self.wait_until(lambda: self.metric(hook, "planwright_webhook_connections") == 3)
        self.connect(hook).connect()

    def test_reviews_are_taken_for_a_while_after_the_end_was_announced(self):
        hook = self.start_hook("--drain_delay=10m")
        body = json.dumps(review(example(graph="")))
        held = self.connect(hook)
        self.assertEqual(self.post(held, body)[0], 200)
        self.assertIsNotNone(held.sock)
        hook.process.send_signal(signal.SIGTERM)
        self.wait_until(lambda: not self.is_ready(hook))
        # Who has a connection is answered and sent elsewhere; new ones are answered as well.
        self.assertEqual(self.post(held, body)[0], 200)
        self.assertIsNone(held.sock)
        self.assertEqual(self.post(self.connect(hook), body)[0], 200)
        self.assertIsNone(hook.process.poll())
        hook.process.send_signal(signal.SIGTERM)
        self.assertEqual(hook.process.wait(PATIENCE_SECONDS), 0)

    def test_values_without_end_are_too_much(self):
        hook = self.start_hook()
        huge = review(example(graph=""))
        huge["request"]["object"]["more"] = [0] * 150_000
        code, text = self.post(self.connect(hook), json.dumps(huge))
        self.assertEqual((code, text), (413, "review: has more than 150000 values\n"))

    def test_tls_of_either_version_carries_requests_that_come_at_once(self):
        hook = self.start_hook()
        body = json.dumps(review(example(graph=""))).encode()
        request = (b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
                   + str(len(body)).encode() + b"\r\n\r\n" + body)
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            connection = self.connect(hook)
            connection._context.minimum_version = connection._context.maximum_version = version
            connection.connect()
            connection.sock.sendall(request + request + request.replace(b"Host: x", b"Connection: close"))
            answers = connection.sock.makefile("rb").read()
            self.assertEqual(answers.count(b"HTTP/1.1 200 OK"), 3)
            # The end is announced: what was read is all.
            self.assertEqual(connection.sock.version(), version.name.replace("_", "."))

    def test_closed_and_broken_connections_leave_nothing_behind(self):
        hook = self.start_hook()
        host, port = hook.addresses["serving reviews"].rsplit(":", 1)
        for sent in (b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100_000):
            with socket.create_connection((host, int(port))) as connection:
                connection.sendall(sent)
        self.wait_until(lambda: self.metric(hook, "planwright_webhook_connections") == 0)
        self.assertTrue(self.ask(hook, example(graph=""))["allowed"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
