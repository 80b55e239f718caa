"""Pages of a real planwrightd, read as a browser would: pages_test.py PLANWRIGHTD PLANWRIGHT."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

DAEMON, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
PATIENCE_SECONDS = 60
# Of a build without npm.
NO_PAGES = "makes no pages"


def planwright(*flags):
    return subprocess.run([PROGRAM, *flags], check=True, capture_output=True, text=True).stdout


def view_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["views"][0]


class Certificates:
    """A folder of certificates that openssl makes."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def file(self, name):
        return str(self.folder / name)

    def make(self, name, subject, authority=None, alternative=None):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                   "-days", "2", "-subj", f"/CN={subject}", "-keyout", self.file(f"{name}.key"),
                   "-out", self.file(f"{name}.pem")]
        if authority:
            command += ["-CA", self.file(f"{authority}.pem"), "-CAkey", self.file(f"{authority}.key"),
                        "-addext", f"subjectAltName={alternative or 'DNS:' + subject}"]
        subprocess.run(command, check=True, capture_output=True)

    def revoke(self, authority, name):
        """AUTHORITY.crl, with that certificate on it."""
        self.folder.joinpath("index").write_text("")
        self.folder.joinpath("openssl.cnf").write_text(
            f"[ca]\ndefault_ca = own\n[own]\ndatabase = {self.file('index')}\ndefault_md = sha256\n")
        signer = ["openssl", "ca", "-config", self.file("openssl.cnf"), "-cert", self.file(f"{authority}.pem"),
                  "-keyfile", self.file(f"{authority}.key")]
        subprocess.run([*signer, "-revoke", self.file(f"{name}.pem")], check=True, capture_output=True)
        subprocess.run([*signer, "-gencrl", "-crldays", "2", "-out", self.file(f"{authority}.crl")], check=True,
                       capture_output=True)

    def context(self, client=None):
        """What a browser with that client certificate brings."""
        context = ssl.create_default_context(cafile=self.file("ca.pem"))
        if client:
            context.load_cert_chain(self.file(f"{client}.pem"), self.file(f"{client}.key"))
        return context


class PagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="planwright-pages-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.certificates = Certificates(folder.name)

    def flags(self, *more):
        return [DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0", "--serve_pages",
                "--pages_address=127.0.0.1:0", f"--store=sqlite:{self.folder}/plans.db", "--log_format=json", *more]

    def start(self, *more):
        self.daemon = subprocess.Popen(self.flags(*more), stderr=subprocess.PIPE, text=True)
        self.lines = []
        addresses = {}
        for line in self.daemon.stderr:
            if not line.startswith("{"):
                self.fail(line)
            said = json.loads(line)
            if said["message"].startswith("serving "):
                addresses[said["message"].split()[1]] = said["address"]
            if said["message"] == "serving grpc":
                break
        reader = threading.Thread(target=lambda: self.lines.extend(self.daemon.stderr), daemon=True)
        reader.start()
        self.addCleanup(self.daemon.stderr.close)
        self.addCleanup(reader.join)
        self.addCleanup(self.end)
        self.grpc, self.http, self.pages = (addresses[name] for name in ("grpc", "http", "pages"))

    def end(self):
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(PATIENCE_SECONDS), 0)

    def ask(self, path, context=None, method="GET", headers=None, address=None):
        """The answer, with its whole text."""
        address = address or self.pages
        if context is None:
            connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
        else:
            port = address.rsplit(":", 1)[1]
            connection = http.client.HTTPSConnection("localhost", int(port), timeout=PATIENCE_SECONDS, context=context)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            answer.text = answer.read().decode()
            return answer
        finally:
            connection.close()

    def code(self, *arguments, **named):
        return self.ask(*arguments, **named).status

    def test_the_page_is_that_of_export(self):
        self.start()
        inputs = ["--graph=zoo:bert-base", "--cluster=zoo:pcie:4"]
        planwright("plan", f"--server={self.grpc}", *inputs, "--plan_id=bert-4")
        exported = self.folder / "bert.html"
        planwright("export", f"--server={self.grpc}", "--plan=plans/bert-4", "--to=html", *inputs,
                   f"--output_file={exported}")
        answer = self.ask("/plans/bert-4")
        self.assertEqual(answer.status, 200)
        served, known = view_of(answer.text), view_of(exported.read_text())
        self.assertEqual(served["title"], "plans/bert-4: bert-base on pcie:4")
        self.assertTrue(served["timeline"]["tasks"])
        for view in (served, known):
            del view["title"]
        self.assertEqual(served, known)

    def test_headers_forbid_what_the_page_does_not_need(self):
        self.start()
        planwright("plan", f"--server={self.grpc}", "--graph=zoo:bert-base", "--cluster=zoo:pcie:2", "--plan_id=bert-2")
        answer = self.ask("/plans/bert-2")
        inner = re.search(r'Content-Security-Policy" content="([^"]*)"', answer.text)[1]
        self.assertEqual(answer.headers["Content-Security-Policy"], inner + "; frame-ancestors 'none'")
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        head = self.ask("/plans/bert-2", method="HEAD")
        self.assertEqual((head.status, head.text), (200, ""))
        self.assertEqual(head.headers["Content-Length"], answer.headers["Content-Length"])

    def test_refusals_are_pages(self):
        self.start()
        for path, code, reason in [("/plans/nobody-1", 404, "nothing is stored as &quot;plans/nobody-1&quot;"),
                                   ("/plans/A", 400, "lower-case letters"),
                                   ("/plans/", 400, "lower-case letters"),
                                   ("/plans/" + "a" * 4000, 400, "lower-case letters"),
                                   ("/plans/%3Cscript%3E", 400, "lower-case letters"),
                                   ("/plans/bert-4?tenant=a%20b", 400, "tenant must be"),
                                   ("/", 404, "/plans/{id} only"),
                                   ("/%3Cscript%3E", 404, "/plans/{id} only"),
                                   ("/metrics", 404, "/plans/{id} only")]:
            answer = self.ask(path)
            self.assertEqual(answer.status, code, path)
            self.assertIn(reason, answer.text)
            self.assertNotIn("<script", answer.text)
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
        answer = self.ask("/plans/bert-4", method="POST")
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"))
        self.assertEqual(self.code("/plans/bert-4", method="DELETE"), 405)

    def test_names_that_others_give_this_machine_get_nothing(self):
        self.start()
        for host, code in [("evil.example", 403), ("127.evil.example", 403), ("localhost.evil.example:80", 403),
                           ("10.0.0.1", 403), ("", 403), ("localhost:80", 404), ("LOCALHOST", 404), ("[::1]:80", 404)]:
            self.assertEqual(self.code("/plans/nobody-1", headers={"Host": host}), code, host)

    def test_plans_without_their_graph_say_what_their_pages_lack(self):
        self.start()
        graph = "--graph=docs/examples/two-branches.json"
        planwright("plan", f"--server={self.grpc}", graph, "--plan_id=branches")
        view = view_of(self.ask("/plans/branches").text)
        self.assertIn("without its graph and cluster", view["timeline"]["notes"][0])
        self.assertTrue(view["stages"]["rows"])
        planwright("register", f"--server={self.grpc}", graph)
        view = view_of(self.ask("/plans/branches").text)
        self.assertTrue(view["timeline"]["tasks"])

    def test_tenants_without_authentication_are_those_that_are_stated(self):
        self.start()
        planwright("plan", f"--server={self.grpc}", "--graph=zoo:bert-base", "--cluster=zoo:pcie:2", "--plan_id=bert-2")
        self.assertEqual(self.code("/plans/bert-2?tenant=team-a"), 404)
        self.assertEqual(self.code("/plans/bert-2?tenant=default"), 200)

    def start_with_roles(self):
        made = self.certificates
        made.make("ca", "ca")
        made.make("stranger_ca", "stranger_ca")
        made.make("server", "localhost", "ca")
        made.make("reader", "reader", "ca", "URI:spiffe://cluster/reader")
        made.make("other", "other.example", "ca")
        made.make("roleless", "roleless", "ca")
        made.make("revoked", "revoked", "ca")
        made.make("stranger", "reader", "stranger_ca", "URI:spiffe://cluster/reader")
        made.revoke("ca", "revoked")
        (self.folder / "auth.json").write_text(json.dumps({"certificates": [
            {"subject": "spiffe://cluster/reader", "tenant": "team-a", "role": "reader"},
            {"subject": "revoked", "tenant": "team-a", "role": "reader"},
            {"subject": "other.example", "tenant": "team-b", "role": "planner"}]}))
        self.start(f"--tls_cert_file={made.file('server.pem')}", f"--tls_key_file={made.file('server.key')}",
                   f"--tls_client_ca_file={made.file('ca.pem')}", f"--tls_client_crl_file={made.file('ca.crl')}",
                   f"--auth_config={self.folder}/auth.json")
        port = self.grpc.rsplit(":", 1)[1]
        planwright("plan", f"--server=localhost:{port}", f"--tls_ca_file={made.file('ca.pem')}",
                   f"--tls_cert_file={made.file('other.pem')}", f"--tls_key_file={made.file('other.key')}",
                   "--graph=zoo:bert-base", "--cluster=zoo:pcie:2", "--plan_id=bert-2")

    def test_certificates_open_the_plans_of_their_tenant(self):
        self.start_with_roles()
        made = self.certificates
        self.assertEqual(self.code("/plans/bert-2", made.context("other")), 200)
        self.assertEqual(self.code("/plans/bert-2", made.context("reader")), 404)
        # Nobody is believed who says that they are somebody else.
        self.assertEqual(self.code("/plans/bert-2?tenant=team-b", made.context("reader")), 404)
        for client, reason in [(None, "those who show a client certificate"), ("roleless", "no name of the client"),
                               ("revoked", "has been revoked"), ("stranger", "is not valid here"),
                               ("server", "no name of the client")]:
            answer = self.ask("/plans/bert-2", made.context(client))
            self.assertEqual(answer.status, 403, client)
            self.assertIn(reason, answer.text)
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.ask("/plans/bert-2")

    def test_old_tls_is_refused(self):
        self.start_with_roles()
        context = self.certificates.context("other")
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.ask("/plans/bert-2", context)

    def test_a_new_certificate_is_shown_after_sighup(self):
        self.start_with_roles()
        made = self.certificates
        shown = []
        for name in ("first", "second", "third"):
            port = int(self.pages.rsplit(":", 1)[1])
            with made.context("other").wrap_socket(socket.create_connection(("127.0.0.1", port)),
                                                   server_hostname="localhost") as connection:
                shown.append(connection.getpeercert()["serialNumber"])
            made.make("server", "localhost", "ca")
            self.daemon.send_signal(signal.SIGHUP)
            self.wait_for_log("reloaded", len(shown))
            self.assertEqual(self.code("/plans/bert-2", made.context("other")), 200, name)
        self.assertEqual(len(set(shown)), 3)

    def wait_for_log(self, message, times):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while sum(json.loads(line)["message"] == message for line in list(self.lines)) < times:
            self.assertLess(time.monotonic(), deadline, f"no line {message}")
            time.sleep(0.01)

    def test_slow_clients_hold_up_neither_probes_nor_pages(self):
        self.start()
        planwright("plan", f"--server={self.grpc}", "--graph=zoo:bert-base", "--cluster=zoo:pcie:2", "--plan_id=bert-2")
        host, port = self.pages.split(":")
        silent = [socket.create_connection((host, int(port))) for _ in range(200)]
        for number, client in enumerate(silent):
            self.addCleanup(client.close)
            # Half of a request, or a whole one whose answer nobody reads.
            try:
                client.sendall(b"GET /plans/bert-2 HTTP/1.1\r\nHost: localhost\r\n" + b"\r\n" * (number % 2))
            except ConnectionError:
                pass  # Had to go for a later one.
        began = time.monotonic()
        self.assertEqual(self.code("/livez", address=self.http), 200)
        self.assertEqual(self.code("/readyz", address=self.http), 200)
        self.assertLess(time.monotonic() - began, 5)
        while self.code("/plans/bert-2") != 200:
            self.assertLess(time.monotonic() - began, 60)
            time.sleep(1)

    def test_floods_are_told_when_to_come_back(self):
        self.start()
        planwright("plan", f"--server={self.grpc}", "--graph=zoo:bert-large", "--cluster=zoo:pcie:4", "--plan_id=bert-4")
        with concurrent.futures.ThreadPoolExecutor(60) as threads:
            answers = list(threads.map(lambda _: self.ask("/plans/bert-4"), range(60)))
        for answer in answers:
            self.assertIn(answer.status, (200, 503))
            if answer.status == 503:
                self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
        self.assertGreater(sum(answer.status == 200 for answer in answers), 2)
        metrics = self.ask("/metrics", address=self.http).text
        good = sum(answer.status == 200 for answer in answers)
        self.assertIn(f'planwright_pages_total{{code="200"}} {good}\n', metrics)
        self.assertIn(f"planwright_page_seconds_count {len(answers)}\n", metrics)
        self.assertIn("planwright_running_pages 0\n", metrics)
        self.assertIn('planwright_connections{port="pages"}', metrics)
        documented = pathlib.Path("docs/operations.md").read_text()
        for name in re.findall(r"^# TYPE (planwright_\w*pages?\w*) ", metrics, re.MULTILINE):
            self.assertIn(f"`{name}`", documented)

    def refusal(self, *more):
        ended = subprocess.run([*self.flags(*more), "--validate_config"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 1, ended.stdout)
        return ended.stderr

    def test_settings_that_would_show_plans_to_anybody_are_refused(self):
        (self.folder / "auth.json").write_text('{"certificates": [{"subject": "a.example", "role": "reader"}]}')
        self.assertIn("--pages_address: \"0.0.0.0:80\" can be reached from other machines",
                      self.refusal("--pages_address=0.0.0.0:80"))
        self.assertIn("--serve_pages: with --auth_config needs --tls_client_ca_file",
                      self.refusal(f"--auth_config={self.folder}/auth.json"))
        self.assertIn("--serve_pages: needs a --store", self.refusal("--store=none"))
        self.assertIn("--pages_address: must be HOST:PORT", self.refusal("--pages_address=nowhere"))
        self.assertIn("--pages_address: must differ from --listen_address",
                      self.refusal("--pages_address=127.0.0.1:5", "--listen_address=127.0.0.1:5"))


if NO_PAGES in subprocess.run([DAEMON, "--serve_pages", "--store=none", "--validate_config"], capture_output=True,
                              text=True).stderr:
    print("skipped: this build makes no pages")
    sys.exit(77)
unittest.main(argv=sys.argv[:1])
