"""A real planwright-webhook before a real planwrightd, over TLS: webhook_test.py WEBHOOK PLANWRIGHTD PLANWRIGHT."""
import base64
import json
import pathlib
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
    import jsonpatch
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (python3-jsonpatch, python3-yaml, with /usr/bin/python3)")
    sys.exit(77)

from hook import EXAMPLES, PATIENCE_SECONDS, SHARED, Process, asking, example, make_certificate, review

WEBHOOK, DAEMON, PROGRAM = sys.argv[1:4]
JOBS = SHARED / "jobs"
HUGE = "zoo:transformer?layers=200&hidden=16384&heads=128&vocab=129280&sequence=4096"


class WebhookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.certificate, cls.key = make_certificate(folder)
        cls.pools = folder / "pools.yaml"
        cls.pools.write_text((EXAMPLES / "pools.yaml").read_text())
        cls.daemon = Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=",
                             f"--store=sqlite:{folder / 'store.db'}")
        cls.hook = cls.start_hook(cls.daemon.addresses["serving grpc"])

    @classmethod
    def start_hook(cls, server, *flags):
        return Process("serving reviews", WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0",
                       f"--server={server}", f"--tls_cert_file={cls.certificate}", f"--tls_key_file={cls.key}",
                       f"--pools_file={cls.pools}", "--reload_interval=100ms", *flags)

    @classmethod
    def tearDownClass(cls):
        codes = cls.hook.end(), cls.daemon.end()
        cls.folder.cleanup()
        assert codes == (0, 0), codes

    def context(self, certificate=None):
        return ssl.create_default_context(cafile=certificate or self.certificate)

    def post(self, body, path="/mutate", hook=None, **headers):
        """The HTTP code and the text of the answer."""
        address = (hook or self.hook).addresses["serving reviews"]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"https://{address}{path}", data,
                                         {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, context=self.context(), timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ask(self, item, path="/mutate", hook=None, **request):
        code, text = self.post(review(item, **request), path, hook)
        self.assertEqual(code, 200, text)
        answer = json.loads(text)
        self.assertEqual((answer["apiVersion"], answer["kind"]), ("admission.k8s.io/v1", "AdmissionReview"))
        self.assertEqual(answer["response"]["uid"], "uid-7")
        for warning in answer["response"].get("warnings", []):
            self.assertLessEqual(len(warning.encode()), 256)
        return answer["response"]

    @staticmethod
    def patched(item, response):
        patch = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
        return jsonpatch.apply_patch(item, patch)

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.hook.addresses['serving http']}/metrics") as answer:
            return answer.read().decode()

    def test_a_feasible_job_is_patched_stored_and_then_left_alone(self):
        job = example()
        response = self.ask(job)
        self.assertTrue(response["allowed"])
        patched = self.patched(job, response)
        annotations = patched["metadata"]["annotations"]
        container = patched["spec"]["template"]["spec"]["containers"][0]
        variables = {entry["name"]: entry["value"] for entry in container.get("env", [])}
        name = annotations["planwright.dev/plan"]
        shown = subprocess.run([PROGRAM, "plan", f"--server={self.daemon.addresses['serving grpc']}", "--help"],
                               capture_output=True, check=True)
        self.assertTrue(shown.stdout)
        listed = subprocess.run([PROGRAM, "plans", f"--server={self.daemon.addresses['serving grpc']}"],
                                capture_output=True, check=True, text=True)
        self.assertIn(name[:20], listed.stdout)
        if annotations["planwright.dev/devices-used"] == "8":
            self.assertEqual(variables["PLANWRIGHT_PLAN"], name)
            self.assertEqual(len(variables["PLANWRIGHT_STAGE_OF_RANK"].split(",")), 8)
        self.assertNotIn("command", container)
        again = self.ask(patched)
        self.assertNotIn("patch", again)
        self.assertTrue(self.ask(patched, "/validate")["allowed"])

    def test_an_infeasible_job_is_denied_by_the_validating_door(self):
        job = example(graph=HUGE)
        self.assertTrue(self.ask(job)["allowed"])
        response = self.ask(job, "/validate")
        self.assertFalse(response["allowed"], response)
        self.assertIn("cannot fit 8 nvidia.com/gpu", response["status"]["message"])
        self.assertIn("bytes", response["status"]["message"])
        job["metadata"]["annotations"]["planwright.dev/mode"] = "annotate"
        self.assertTrue(self.ask(job, "/validate")["allowed"])

    def test_dry_run_stores_nothing(self):
        job = example(problem="gap=0.0123")
        name = self.patched(job, self.ask(job, dryRun=True))["metadata"]["annotations"]["planwright.dev/plan"]
        listed = subprocess.run([PROGRAM, "plans", f"--server={self.daemon.addresses['serving grpc']}", "--output=json"],
                                capture_output=True, check=True, text=True)
        self.assertNotIn(name, listed.stdout)

    def test_a_service_that_keeps_nothing_plans_all_the_same(self):
        daemon = Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=", "--store=none")
        hook = self.start_hook(daemon.addresses["serving grpc"])
        job = example()
        annotations = self.patched(job, self.ask(job, hook=hook))["metadata"]["annotations"]
        self.assertIn("planwright.dev/gap", annotations)
        self.assertNotIn("planwright.dev/plan", annotations)
        self.assertEqual((hook.end(), daemon.end()), (0, 0))

    def test_other_objects_are_admitted_untouched(self):
        for item in (example(graph=""), {"apiVersion": "v1", "kind": "Pod", "metadata": {}}):
            response = self.ask(item)
            self.assertEqual((response["allowed"], "patch" in response, "warnings" in response), (True, False, False))

    def test_bad_requests_get_clear_answers(self):
        self.assertEqual(self.post(b"{")[0], 400)
        self.assertEqual(self.post({"kind": "AdmissionReview"})[0], 400)
        self.assertEqual(self.post(b"[" * 100_000)[0], 400)
        self.assertEqual(self.post(b'{"a": "\xff"}')[0], 400)
        self.assertEqual(self.post(b"x" * (9 << 20))[0], 413)
        self.assertEqual(self.post({}, path="/other")[0], 404)
        self.assertEqual(self.post({}, **{"Content-Type": "text/plain"})[0], 415)
        response = self.ask(example(problem="x" * 250_000))
        self.assertTrue(response["allowed"])
        self.assertIn("at most 4096 bytes", " ".join(response["warnings"]))

    def test_slow_clients_do_not_hold_others_up(self):
        host, port = self.hook.addresses["serving reviews"].rsplit(":", 1)
        slow = []
        try:
            for _ in range(100):
                raw = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
                connection = self.context().wrap_socket(raw, server_hostname="localhost")
                connection.sendall(b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                   b"Content-Length: 1000\r\n\r\n{")
                slow.append(connection)
            begin = time.monotonic()
            self.assertTrue(self.ask(example(graph=""))["allowed"])
            self.assertLess(time.monotonic() - begin, 10)
            # The deadline of a request ends the connection.
            slow[0].settimeout(PATIENCE_SECONDS)
            try:
                self.assertEqual(slow[0].recv(1), b"")
            except (ConnectionError, ssl.SSLError):
                pass
        finally:
            for connection in slow:
                connection.close()

    def test_without_planwrightd_jobs_are_admitted_with_a_warning(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            hook = self.start_hook(f"127.0.0.1:{unused.getsockname()[1]}")
            begin = time.monotonic()
            response = self.ask(example(), "/validate", hook)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertTrue(response["allowed"])
            self.assertIn("planwright: not judged", response["warnings"][0])
            self.assertEqual(hook.end(), 0)

    def test_a_service_that_says_nothing_does_not_hold_jobs_up(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            hook = self.start_hook(f"127.0.0.1:{silent.getsockname()[1]}", "--request_timeout=2s", "--time_limit=1s")
            response = self.ask(example(), "/validate", hook)
            self.assertTrue(response["allowed"])
            self.assertIn("planwright: not judged", response["warnings"][0])
            self.assertEqual(hook.end(), 0)

    def test_certificates_are_read_again_and_a_broken_pair_keeps_the_old_one(self):
        folder = pathlib.Path(self.folder.name)
        new_certificate, new_key = make_certificate(folder, "renewed")
        old = self.certificate.read_bytes(), self.key.read_bytes()
        self.certificate.write_text("broken")
        time.sleep(0.5)
        self.assertEqual(self.shown(), old[0])
        self.key.write_bytes(new_key.read_bytes())
        self.certificate.write_bytes(new_certificate.read_bytes())
        end = time.monotonic() + PATIENCE_SECONDS
        while self.shown() != new_certificate.read_bytes() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.shown(), new_certificate.read_bytes())
        self.assertIn('planwright_webhook_reloads_total{result="refused"}', self.metrics())

    def shown(self):
        """The certificate that the hook shows, in PEM form."""
        host, port = self.hook.addresses["serving reviews"].rsplit(":", 1)
        return ssl.get_server_certificate((host, int(port))).encode()

    def test_old_tls_is_refused(self):
        host, port = self.hook.addresses["serving reviews"].rsplit(":", 1)
        context = self.context()
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with socket.create_connection((host, int(port))) as raw, self.assertRaises((ssl.SSLError, OSError)):
            context.wrap_socket(raw, server_hostname="localhost")

    def test_metrics_pass_promtool(self):
        self.ask(example())
        text = self.metrics()
        self.assertIn("planwright_webhook_reviews_total", text)
        try:
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        except FileNotFoundError:
            self.skipTest("promtool is not installed (prometheus)")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_program_says_what_the_hook_says(self):
        checked = subprocess.run([PROGRAM, "check", EXAMPLES / "job.yaml", f"--pools_file={EXAMPLES / 'pools.yaml'}",
                                  "--output=json"], capture_output=True, check=True, text=True)
        said = json.loads(checked.stdout)[0]
        self.assertEqual((said["allowed"], said["outcome"]), (True, "planned"))
        manifest = pathlib.Path(self.folder.name) / "huge.yaml"
        manifest.write_text(yaml.safe_dump(example(graph=HUGE)))
        denied = subprocess.run([PROGRAM, "check", manifest, f"--pools_file={EXAMPLES / 'pools.yaml'}"],
                                capture_output=True, text=True)
        self.assertEqual(denied.returncode, 3, denied.stderr)
        self.assertIn("denied", denied.stdout)

    def test_published_manifests_are_admitted_and_planned_once_they_ask(self):
        if not JOBS.is_dir():
            self.skipTest(f"{JOBS} is not there")
        kinds = {"Job", "JobSet", "PyTorchJob"}
        count = 0
        for path in sorted(JOBS.glob("*.yaml")):
            for item in filter(None, yaml.safe_load_all(path.read_text())):
                with self.subTest(path=path.name, kind=item["kind"]):
                    response = self.ask(item)
                    self.assertEqual((response["allowed"], "patch" in response, "warnings" in response),
                                     (True, False, False))
                    if item["kind"] not in kinds:
                        continue
                    response = self.ask(asking(item))
                    self.assertTrue(response["allowed"])
                    self.assertIn("patch", response, response.get("warnings"))
                    annotations = self.patched(asking(item), response)["metadata"]["annotations"]
                    self.assertIn("planwright.dev/predicted-ms", annotations)
                    count += 1
        self.assertGreater(count, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
