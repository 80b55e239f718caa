"""planwrightd seen from Python: generated stubs, health, raw bytes, probes and metrics.

Usage: python_client_test.py PLANWRIGHTD PROTO_FOLDER. Exit code 77: something that it needs is not installed.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

SKIP = 77
GRPC_PLUGIN = "/usr/bin/grpc_python_plugin"
HEALTH_PROTO = "/usr/share/grpc-proto/grpc/health/v1/health.proto"

try:
    import google
    import grpc
except ImportError as error:
    print(f"skipped: {error} (python3-grpcio, python3-protobuf)")
    sys.exit(SKIP)
for needed in (GRPC_PLUGIN, HEALTH_PROTO):
    if not os.path.exists(needed):
        print(f"skipped: {needed} is not installed (protobuf-compiler-grpc, grpc-proto)")
        sys.exit(SKIP)

DAEMON, PROTO = sys.argv[1:3]
GENERATED = tempfile.mkdtemp()


def generate():
    files = [str(path) for folder in ("planwright", "google") for path in pathlib.Path(PROTO, folder).rglob("*.proto")]
    subprocess.run(["protoc", f"-I{PROTO}", "-I/usr/share/grpc-proto", f"--python_out={GENERATED}",
                    f"--grpc_out={GENERATED}", f"--plugin=protoc-gen-grpc={GRPC_PLUGIN}", *files, HEALTH_PROTO],
                   check=True)
    sys.path.append(GENERATED)
    # The generated grpc/ and google/ folders are found beside the installed packages of the same names.
    grpc.__path__.append(os.path.join(GENERATED, "grpc"))
    google.__path__.append(os.path.join(GENERATED, "google"))


generate()
from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from grpc.health.v1 import health_pb2, health_pb2_grpc  # noqa: E402
from planwright.v1 import planning_service_pb2, planning_service_pb2_grpc  # noqa: E402

SERVICE = "planwright.v1.PlanningService"


class PythonClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen(
            [DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0", "--log_format=json"],
            stderr=subprocess.PIPE, text=True)
        addresses = {}
        for line in cls.process.stderr:
            record = json.loads(line)
            addresses[record["message"]] = record.get("address")
            if record["message"] == "serving grpc":
                break
        cls.http = "http://" + addresses["serving http"]
        cls.channel = grpc.insecure_channel(addresses["serving grpc"])
        cls.stub = planning_service_pb2_grpc.PlanningServiceStub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()
        cls.process.send_signal(signal.SIGTERM)
        assert cls.process.wait(60) == 0
        cls.process.stderr.close()

    def get(self, path):
        with urllib.request.urlopen(self.http + path, timeout=60) as answer:
            return answer.status, answer.read().decode()

    def plan(self, **arguments):
        request = planning_service_pb2.CreatePlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", **arguments)
        return self.stub.CreatePlan(request, timeout=60).plan

    def test_plans_and_evaluates(self):
        plan = self.plan()
        self.assertTrue(plan.provenance.proven_optimal)
        evaluation = self.stub.EvaluatePlan(planning_service_pb2.EvaluatePlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", plan=plan), timeout=60)
        self.assertTrue(evaluation.valid, evaluation.violations)
        self.assertEqual(evaluation.objective_ms, plan.objective_ms)

    def test_errors_carry_one_reason(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.stub.CreatePlan(planning_service_pb2.CreatePlanRequest(), timeout=60)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        trailers = dict(caught.exception.trailing_metadata())
        status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
        self.assertEqual(status.message, caught.exception.details())
        infos = [any for any in status.details if any.Is(error_details_pb2.ErrorInfo.DESCRIPTOR)]
        self.assertEqual(len(infos), 1)
        info = error_details_pb2.ErrorInfo.FromString(infos[0].value)
        self.assertEqual((info.domain, info.reason), ("planwright", "INVALID_REQUEST"))

    def test_bytes_that_are_no_message_are_invalid_arguments(self):
        for method in ("CreatePlan", "EvaluatePlan"):
            call = self.channel.unary_unary(f"/{SERVICE}/{method}")
            # No message at all, then a string (graph_reference) that is not UTF-8.
            for garbage in (b"\xff\xff\xff", b"\x12\x02\xc3\x28"):
                with self.assertRaises(grpc.RpcError) as caught:
                    call(garbage, timeout=60)
                self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_health(self):
        health = health_pb2_grpc.HealthStub(self.channel)
        for service in ("", SERVICE):
            answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=60)
            self.assertEqual(answer.status, health_pb2.HealthCheckResponse.SERVING)

    def test_probes(self):
        self.assertEqual(self.get("/livez"), (200, "ok\n"))
        self.assertEqual(self.get("/readyz"), (200, "ok\n"))
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.get("/nothing")
        self.assertEqual(caught.exception.code, 404)
        caught.exception.close()

    def test_metrics(self):
        self.plan()
        text = self.get("/metrics")[1]
        for name in ('grpc_server_started_total{', 'grpc_server_handled_total{', 'grpc_server_handling_seconds_bucket{',
                     'planwright_searches_total{algorithm="ideal_dp",stop_reason="optimal"}',
                     'planwright_search_seconds_count', 'planwright_running_requests 0',
                     'planwright_waiting_requests 0', 'planwright_verifier_rejections_total 0',
                     'planwright_build_info{version='):
            self.assertIn(name, text)

    def test_metrics_pass_promtool(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed (prometheus)")
        self.plan()
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.get("/metrics")[1], text=True,
                                 capture_output=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        shutil.rmtree(GENERATED)
