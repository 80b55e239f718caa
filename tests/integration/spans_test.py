"""A real planwrightd, and a collector of traces that takes what OTLP over HTTP (JSON) says: spans_test.py PLANWRIGHTD PROTO."""
import http.server
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import python_stubs  # noqa: E402

DAEMON, PROTO = sys.argv[1:3]
python_stubs.make(PROTO)
import grpc  # noqa: E402
from planwright.v1 import planning_service_pb2, planning_service_pb2_grpc  # noqa: E402

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
PATIENCE_SECONDS = 60


class Collector:
    """Keeps the spans that it is sent; answers with `code`."""

    def __init__(self, code=200):
        collector = self
        self.spans = []
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                collector.requests.append((self.path, self.headers["Content-Type"], body))
                for resource in body["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        collector.spans += scope["spans"]
                self.send_response(code)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_port}"

    def named(self, name):
        return [span for span in self.spans if span["name"] == name]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class SpansTest(unittest.TestCase):
    def start(self, *flags, environment=None):
        self.daemon = subprocess.Popen(
            [DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=", "--log_format=json", "--store=none", *flags],
            stderr=subprocess.PIPE, text=True, env=environment)
        for line in self.daemon.stderr:
            if line.startswith("{") and json.loads(line)["message"] == "serving grpc":
                address = json.loads(line)["address"]
                break
        # So that its log goes somewhere.
        self.addCleanup(self.daemon.stderr.close)
        reader = threading.Thread(target=self.daemon.stderr.read, daemon=True)
        reader.start()
        self.addCleanup(reader.join)
        self.addCleanup(self.end)
        return planning_service_pb2_grpc.PlanningServiceStub(grpc.insecure_channel(address))

    def end(self):
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(PATIENCE_SECONDS), 0)

    def collector(self, code=200):
        collector = Collector(code)
        self.addCleanup(collector.close)
        return collector

    def plan(self, stub, flags="01", cluster="zoo:pcie:2"):
        request = planning_service_pb2.CreatePlanRequest(graph_reference="zoo:bert-base", cluster_reference=cluster)
        metadata = [("traceparent", f"00-{TRACE}-{PARENT}-{flags}"), ("x-planwright-tenant", "team-a")]
        return stub.CreatePlan(request, metadata=metadata, timeout=PATIENCE_SECONDS)

    def wait_for(self, fact):
        end = time.monotonic() + PATIENCE_SECONDS
        while not fact() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(fact())

    def test_a_call_is_a_span_of_its_callers_trace_with_its_parts_as_children(self):
        collector = self.collector()
        stub = self.start(f"--otlp_endpoint={collector.base}/v1/traces")
        self.plan(stub)
        name = "planwright.v1.PlanningService/CreatePlan"
        self.wait_for(lambda: collector.named(name))
        path, content_type, body = collector.requests[0]
        self.assertEqual((path, content_type), ("/v1/traces", "application/json"))
        resource = body["resourceSpans"][0]["resource"]["attributes"]
        self.assertIn({"key": "service.name", "value": {"stringValue": "planwrightd"}}, resource)
        call = collector.named(name)[0]
        self.assertEqual((call["traceId"], call["parentSpanId"], call["kind"], call["status"]), (TRACE, PARENT, 2, {}))
        attributes = {attribute["key"]: attribute["value"]["stringValue"] for attribute in call["attributes"]}
        self.assertEqual(attributes["planwright.tenant"], "team-a")
        self.assertEqual(attributes["rpc.grpc.status_code"], "0")
        for part in ("read", "wait", "search"):
            child = collector.named(part)[0]
            self.assertEqual((child["traceId"], child["parentSpanId"], child["kind"]), (TRACE, call["spanId"], 1))
        for span in collector.spans:
            self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
            self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
            for key in ("startTimeUnixNano", "endTimeUnixNano"):
                self.assertTrue(isinstance(span[key], str) and re.fullmatch("[0-9]{19}", span[key]))
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))

    def test_errors_are_told_and_calls_without_a_trace_begin_one(self):
        collector = self.collector()
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.base}
        stub = self.start(environment=environment)
        with self.assertRaises(grpc.RpcError):
            stub.CreatePlan(planning_service_pb2.CreatePlanRequest(), timeout=PATIENCE_SECONDS)
        self.wait_for(lambda: collector.spans)
        span = collector.named("planwright.v1.PlanningService/CreatePlan")[0]
        self.assertNotIn("parentSpanId", span)
        self.assertEqual(span["status"]["code"], 2)
        self.assertIn("InvalidArgument", span["status"]["message"])

    def test_a_trace_that_its_beginner_does_not_keep_is_left_alone(self):
        collector = self.collector()
        stub = self.start(f"--otlp_endpoint={collector.base}/v1/traces")
        self.plan(stub, flags="00")
        self.plan(stub, flags="01", cluster="zoo:pcie:3")
        self.end()
        self.assertEqual(len(collector.named("planwright.v1.PlanningService/CreatePlan")), 1)

    def test_a_collector_that_does_not_answer_holds_nobody_up(self):
        collector = self.collector(code=503)
        # A socket that accepts and says nothing.
        silent = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        self.addCleanup(silent.server_close)
        for base in (collector.base, f"http://127.0.0.1:{silent.server_port}"):
            stub = self.start(f"--otlp_endpoint={base}/v1/traces")
            for _ in range(50):
                self.plan(stub)
            self.end()


unittest.main(argv=sys.argv[:1])
