"""The alert rules and the dashboard against promtool, the tables of the docs and what real servers say of themselves:
monitoring_test.py PLANWRIGHTD WEBHOOK PLANWRIGHT."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

try:
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (python3-yaml, with /usr/bin/python3)")
    sys.exit(77)
if shutil.which("promtool") is None:
    print("skipped: promtool is not installed (prometheus)")
    sys.exit(77)

from rendered import SOURCE, named

DAEMON, WEBHOOK, PROGRAM = sys.argv[1:4]
MONITORING = pathlib.Path("deploy/monitoring")
RULES = [rule for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
PANELS = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel.get("targets", [])]
# Of a histogram the name without _bucket.
METRIC = re.compile(r"\b((?:planwright|grpc_server)_\w+?)(?:_bucket)?\b")
PATIENCE_SECONDS = 60


def metrics_of(expression):
    """The names of the metrics in an expression; what stands in braces are labels."""
    return set(METRIC.findall(re.sub(r"\{[^}]*\}", "", expression)))


def tables():
    """(names, alert) of every row of the tables of metrics in the docs."""
    rows = []
    for page in ("docs/operations.md", "docs/store.md", "docs/kubernetes.md"):
        for line in pathlib.Path(page).read_text().splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            names = re.findall(r"`(planwright_\w+)`", cells[0])
            if line.startswith("| `planwright_") and len(cells) >= 3:
                rows.append((names, cells[3].strip(" |") if len(cells) > 3 else ""))
    return rows


class Server:
    """A server with JSON logs; `addresses` by the message that tells of them."""

    def __init__(self, message, *command):
        self.process = subprocess.Popen([*command, "--log_format=json"], stderr=subprocess.PIPE, text=True)
        self.addresses = {}
        for line in self.process.stderr:
            entry = json.loads(line)
            self.addresses[entry["message"]] = entry.get("address")
            if entry["message"] == message:
                return
        raise RuntimeError(f"{command[0]} did not start")

    def names(self):
        """The names of all metrics."""
        with urllib.request.urlopen(f"http://{self.addresses['serving http']}/metrics", timeout=PATIENCE_SECONDS) as answer:
            return set(re.findall(r"^# TYPE (\w+) ", answer.read().decode(), re.MULTILINE))

    def end(self):
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE_SECONDS)


def scrape():
    """The names of all metrics of a planwrightd and of a hook that have each done of everything once."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "60", "-keyout", folder / "key", "-out", folder / "crt", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        tls = [f"--tls_cert_file={folder / 'crt'}", f"--tls_key_file={folder / 'key'}"]
        daemon = Server("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0", *tls,
                        f"--store=sqlite:{folder / 'store'}")
        hook = Server("serving reviews", WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0", *tls,
                      f"--server={daemon.addresses['serving grpc']}", f"--pools_file={folder / 'pools.yaml'}")
        try:
            work(folder, daemon, hook)
            return daemon.names() | hook.names()
        finally:
            hook.end()
            daemon.end()


def work(folder, daemon, hook):
    def run(*arguments, code=0):
        ran = subprocess.run([PROGRAM, *arguments, f"--server={daemon.addresses['serving grpc']}",
                              f"--tls_ca_file={folder / 'crt'}"], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        if ran.returncode != code:
            raise AssertionError(f"{arguments}: {ran.stderr}")
        return ran.stdout.strip()

    run("plan", "--graph=zoo:bert-base", "--cluster=zoo:pcie:2", "--memory_preset=sgd")
    run("plan", "--graph=zoo:bert-large", "--cluster=zoo:pcie:2?memory_gib=1", "--exclude=host0/cpu0", code=3)
    run("wait", run("submit", "--graph=zoo:bert-base", "--cluster=zoo:pcie:3", "--memory_preset=sgd"))
    daemon.process.send_signal(signal.SIGHUP)
    hook.process.send_signal(signal.SIGHUP)
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"annotations": {"planwright.dev/graph": "zoo:bert-base"}}}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "CREATE", "object": job}}
    asked = subprocess.run(["curl", "--silent", "--fail", "--cacert", folder / "crt", "--header",
                            "Content-Type: application/json", "--data", json.dumps(review),
                            f"https://{hook.addresses['serving reviews']}/mutate"], capture_output=True, text=True)
    if asked.returncode != 0 or "warnings" not in asked.stdout:
        raise AssertionError(asked.stdout + asked.stderr)
    end = time.monotonic() + PATIENCE_SECONDS
    while not {"planwright_reloads_total", "planwright_webhook_reloads_total",
               "planwright_operations_total"} <= daemon.names() | hook.names():
        if time.monotonic() > end:
            raise AssertionError("a reload or an operation is not counted")
        time.sleep(0.1)


class MonitoringTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scraped = scrape()

    def promtool(self, *arguments, **options):
        ran = subprocess.run(["promtool", *arguments], capture_output=True, text=True, **options)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_promtool_takes_the_rules_and_their_tests_pass(self):
        self.promtool("check", "rules", "alerts.yaml", cwd=MONITORING)
        self.promtool("test", "rules", "alerts_test.yaml", cwd=MONITORING)

    def test_the_command_of_the_readme_makes_a_rule_of_the_operator(self):
        block = re.search(r"```bash\n(.*?)```", (MONITORING / "README.md").read_text(), re.DOTALL)[1]
        command, _, applied = block.rpartition(" | ")
        self.assertEqual(applied.strip(), "kubectl apply --filename=-")
        made = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        rule = yaml.safe_load(made.stdout)
        self.assertEqual(rule["kind"], "PrometheusRule")
        self.assertEqual([one for group in rule["spec"]["groups"] for one in group["rules"]], RULES)

    def test_every_alert_is_tested_where_it_comes_and_where_it_does_not(self):
        tests = yaml.safe_load((MONITORING / "alerts_test.yaml").read_text())["tests"]
        cases = [case for test in tests for case in test["alert_rule_test"]]
        for rule in RULES:
            comes = {bool(case["exp_alerts"]) for case in cases if case["alertname"] == rule["alert"]}
            self.assertEqual(comes, {True, False}, rule["alert"])

    def test_what_the_docs_call_an_alert_has_a_rule(self):
        ruled = set().union(*(metrics_of(rule["expr"]) for rule in RULES))
        rows = tables()
        self.assertGreater(len(rows), 30)
        for names, alert in rows:
            if alert:
                self.assertTrue(ruled & set(names), f"{names}: {alert}")

    def test_rules_and_dashboard_name_metrics_that_servers_have(self):
        self.assertGreater(len(EXPRESSIONS), 20)
        for expression in EXPRESSIONS + [rule["expr"] for rule in RULES]:
            self.assertTrue(metrics_of(expression) or "up{" in expression, expression)
            self.assertEqual(metrics_of(expression) - self.scraped, set(), expression)

    def test_the_docs_name_every_metric_of_ours(self):
        documented = {name for names, _ in tables() for name in names}
        ours = {name for name in self.scraped if name.startswith("planwright_")}
        self.assertEqual(ours - documented, set())

    def test_expressions_of_the_dashboard_are_promql(self):
        rules = [{"record": f"panel:{i}", "expr": expression.replace("$__rate_interval", "5m")}
                 for i, expression in enumerate(EXPRESSIONS)]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
            file.flush()
            self.promtool("check", "rules", file.name)

    def test_panels_do_not_cover_each_other(self):
        places = [(panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y) for panel in PANELS
                  for x in range(panel["gridPos"]["w"]) for y in range(panel["gridPos"]["h"])]
        self.assertEqual(len(places), len(set(places)))
        self.assertEqual(len({panel["id"] for panel in PANELS}), len(PANELS))

    def test_service_monitors_find_the_services_and_name_the_jobs_of_the_alerts(self):
        monitors = list(yaml.safe_load_all((MONITORING / "service-monitors.yaml").read_text()))
        services = {}
        for path in ("base/planwrightd.yaml", "webhook/hook.yaml"):
            services.update(named(yaml.safe_load_all((SOURCE / path).read_text()), "Service"))
        jobs = set()
        for monitor in monitors:
            labels = monitor["spec"]["selector"]["matchLabels"].items()
            found = [service for service in services.values() if labels <= service["metadata"]["labels"].items()]
            self.assertEqual(len(found), 1)
            self.assertEqual(monitor["metadata"]["namespace"], found[0]["metadata"]["namespace"])
            self.assertIn(monitor["spec"]["endpoints"][0]["port"], [port["name"] for port in found[0]["spec"]["ports"]])
            jobs.add(found[0]["metadata"]["labels"][monitor["spec"]["jobLabel"]])
        wanted = {job for rule in RULES for job in re.findall(r'job="([^"]*)"', rule["expr"])}
        self.assertEqual(jobs, wanted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
