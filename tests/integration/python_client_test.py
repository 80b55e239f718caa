"""planwrightd seen from Python: generated stubs, streams, health, raw bytes, reflection, probes, metrics and draining.

Usage: python_client_test.py PLANWRIGHTD MAKE_LATTICE PROTO_FOLDER. Exit code 77: something that it needs is not
installed.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import python_stubs  # noqa: E402

REFLECTION_PROTO = f"{python_stubs.SHARED_PROTOS}/grpc/reflection/v1alpha/reflection.proto"
DAEMON, MAKE_LATTICE, PROTO = sys.argv[1:4]
FOLDER = python_stubs.make(PROTO, REFLECTION_PROTO)
import grpc  # noqa: E402
from google.protobuf import duration_pb2, json_format  # noqa: E402
from google.rpc import error_details_pb2, status_pb2  # noqa: E402
from grpc.health.v1 import health_pb2, health_pb2_grpc  # noqa: E402
from grpc.reflection.v1alpha import reflection_pb2, reflection_pb2_grpc  # noqa: E402
from planwright.v1 import plan_pb2, planning_service_pb2, planning_service_pb2_grpc, problem_pb2  # noqa: E402

SERVICE = "planwright.v1.PlanningService"


class Daemon:
    """A planwrightd of the test's own, with a channel to it."""

    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0", "--log_format=json",
             "--store=none", *flags],
            stderr=subprocess.PIPE, text=True)
        self.http = "http://" + self.wait_for("serving http")["address"]
        self.channel = grpc.insecure_channel(self.wait_for("serving grpc")["address"])
        self.stub = planning_service_pb2_grpc.PlanningServiceStub(self.channel)
        self.health = health_pb2_grpc.HealthStub(self.channel)

    def wait_for(self, message):
        """The next log line with this message."""
        for line in self.process.stderr:
            record = json.loads(line)
            if record["message"] == message:
                return record
        raise AssertionError(f"planwrightd ended without saying: {message}")

    def get(self, path):
        with urllib.request.urlopen(self.http + path, timeout=60) as answer:
            return answer.status, answer.read().decode()

    def get_error(self, path):
        """Code and text of an answer that is an error."""
        try:
            self.get(path)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        raise AssertionError(f"{path} is no error")

    def health_of(self, service):
        return self.health.Check(health_pb2.HealthCheckRequest(service=service), timeout=60).status

    def reflect(self, **question):
        """The answer of the reflection service to one question."""
        stub = reflection_pb2_grpc.ServerReflectionStub(self.channel)
        return next(stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**question)]), timeout=60))

    def end(self):
        """Drains; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self):
        code = self.process.wait(60)
        self.channel.close()
        self.process.stderr.close()
        return code


def hard_request():
    """A request that needs far longer than any test."""
    text = subprocess.run([MAKE_LATTICE, "tow_8x20_hi"], capture_output=True, check=True).stdout
    return json_format.Parse(text, planning_service_pb2.StreamPlanRequest())


def without_times(plan):
    copy = plan_pb2.Plan.FromString(plan.SerializeToString())
    for message in (copy.provenance, *copy.provenance.incumbents):
        for field in ("wall_time_ms", "cpu_time_ms", "time_ms"):
            if field in message.DESCRIPTOR.fields_by_name:
                message.ClearField(field)
    return copy


class PythonClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.channel = cls.daemon.channel
        cls.stub = cls.daemon.stub

    @classmethod
    def tearDownClass(cls):
        assert cls.daemon.end() == 0

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

    def test_plans_and_evaluates_a_pattern(self):
        source = {"graph_reference": "zoo:resnet50?image=500&batch=8", "cluster_reference": "zoo:dgx1-v100:1"}
        problem = problem_pb2.PlanningProblem(schedule=problem_pb2.SCHEDULE_KIND_PERIODIC,
                                              granularity=problem_pb2.GRANULARITY_LAYER)
        plan = self.stub.CreatePlan(planning_service_pb2.CreatePlanRequest(problem=problem, **source), timeout=60).plan
        self.assertEqual(plan.schedule.period_ms, plan.objective_ms)
        self.assertEqual(len(plan.schedule.tasks), 4 * len(plan.stages) - 2)
        request = planning_service_pb2.EvaluatePlanRequest(plan=plan, **source)
        self.assertTrue(self.stub.EvaluatePlan(request, timeout=60).valid)
        # A backward pass in the period of its forward pass comes too early.
        first_backward = next(task for task in request.plan.schedule.tasks if task.operation == "backward")
        first_backward.index_shift = 0
        evaluation = self.stub.EvaluatePlan(request, timeout=60)
        self.assertFalse(evaluation.valid)
        self.assertTrue(evaluation.violations[0].field.startswith("plan.schedule.tasks["), evaluation.violations)

    def test_simulates_a_plan(self):
        request = planning_service_pb2.SimulatePlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", plan=self.plan(), micro_batches=5000,
            schedule=problem_pb2.SCHEDULE_KIND_GPIPE, view=planning_service_pb2.SimulatePlanRequest.VIEW_FULL)
        summary, *chunks = self.stub.SimulatePlan(request, timeout=60)
        self.assertEqual(summary.summary.micro_batches, 5000)
        self.assertGreater(len(chunks), 1)
        for chunk in chunks:
            self.assertLessEqual(chunk.ByteSize(), 1 << 20)
        tasks = [task for chunk in chunks for task in chunk.timeline.tasks]
        self.assertEqual([task.id for task in tasks], list(range(summary.summary.tasks)))
        self.assertEqual(max(task.end_ms for task in tasks), summary.summary.step_time_ms)
        for task in tasks:
            for before in task.waits_for:
                self.assertLessEqual(tasks[before].end_ms, task.start_ms)
        request.view = planning_service_pb2.SimulatePlanRequest.VIEW_SUMMARY
        self.assertEqual(len(list(self.stub.SimulatePlan(request, timeout=60))), 1)

    def test_an_order_that_waits_for_ever_names_its_tasks(self):
        plan = self.plan()
        request = planning_service_pb2.SimulatePlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", plan=plan, micro_batches=2)
        for number, stage in enumerate(plan.stages):
            passes = [f"{number}{task}" for task in ("F0", "F1", "B0", "B1")]
            request.order.add(device=stage.replicas[0].device, tasks=passes)
        self.assertEqual(len(list(self.stub.SimulatePlan(request, timeout=60))), 1)
        request.order[0].tasks[:] = ["0F0", "0B1", "0F1", "0B0"]
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.stub.SimulatePlan(request, timeout=60))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("order: cannot run: ", caught.exception.details())
        self.assertIn("0B1", caught.exception.details())

    def test_a_slow_reader_of_a_simulation_holds_up_nobody(self):
        request = planning_service_pb2.SimulatePlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", plan=self.plan(),
            micro_batches=10000, view=planning_service_pb2.SimulatePlanRequest.VIEW_FULL)
        calls = [self.stub.SimulatePlan(request, timeout=60) for _ in range(8)]
        for call in calls:
            self.assertEqual(next(call).WhichOneof("part"), "summary")
        self.assertTrue(self.plan().stages)
        for call in calls:
            call.cancel()

    def test_streams_a_plan(self):
        request = planning_service_pb2.StreamPlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", include_incumbent_plans=True)
        messages = list(self.stub.StreamPlan(request, timeout=60))
        self.assertEqual([message.WhichOneof("event") for message in messages].count("plan"), 1)
        self.assertEqual(without_times(messages[-1].plan), without_times(self.plan()))
        for message in messages[:-1]:
            if message.WhichOneof("event") == "incumbent":
                self.assertEqual(message.incumbent.plan.objective_ms, message.incumbent.incumbent.objective_ms)

    def test_reads_a_stream_while_the_search_runs_and_cancels_it(self):
        call = self.stub.StreamPlan(hard_request(), timeout=60)
        events = set()
        while not {"phase", "bound", "incumbent"} <= events:
            events.add(next(call).WhichOneof("event"))
        call.cancel()
        with self.assertRaises(grpc.RpcError) as caught:
            list(call)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.CANCELLED)

    def test_reflection_is_off_unless_asked_for(self):
        with self.assertRaises(grpc.RpcError) as caught:
            self.daemon.reflect(list_services="")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

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
        stream = self.channel.unary_stream(f"/{SERVICE}/StreamPlan")
        calls = [lambda garbage: list(stream(garbage, timeout=60))]
        for method in ("CreatePlan", "EvaluatePlan", "BatchCreatePlans"):
            unary = self.channel.unary_unary(f"/{SERVICE}/{method}")
            calls.append(lambda garbage, unary=unary: unary(garbage, timeout=60))
        for call in calls:
            # No message at all, then a string (graph_reference) that is not UTF-8.
            for garbage in (b"\xff\xff\xff", b"\x12\x02\xc3\x28"):
                with self.assertRaises(grpc.RpcError) as caught:
                    call(garbage)
                self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_health(self):
        for service in ("", SERVICE):
            self.assertEqual(self.daemon.health_of(service), health_pb2.HealthCheckResponse.SERVING)

    def test_probes(self):
        self.assertEqual(self.daemon.get("/livez"), (200, "ok\n"))
        self.assertEqual(self.daemon.get("/readyz"), (200, "ok\n"))
        self.assertEqual(self.daemon.get_error("/nothing")[0], 404)

    def test_metrics(self):
        self.plan()
        # A worker lets go of its request a moment after the answer has left.
        while "planwright_running_requests 0" not in (text := self.daemon.get("/metrics")[1]):
            pass
        for name in ('grpc_server_started_total{', 'grpc_server_handled_total{', 'grpc_server_handling_seconds_bucket{',
                     'planwright_searches_total{algorithm="ideal_dp",stop_reason="optimal"}',
                     'planwright_search_seconds_count',
                     'planwright_waiting_requests 0', 'planwright_verifier_rejections_total 0',
                     'planwright_build_info{version='):
            self.assertIn(name, text)

    def test_metrics_pass_promtool(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed (prometheus)")
        self.plan()
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.daemon.get("/metrics")[1], text=True,
                                 capture_output=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_metrics_tell_streams_from_unary_calls(self):
        list(self.stub.StreamPlan(planning_service_pb2.StreamPlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1"), timeout=60))
        self.assertIn('grpc_method="StreamPlan",grpc_service="planwright.v1.PlanningService",'
                      'grpc_type="server_stream"', self.daemon.get("/metrics")[1])


class QueueTest(unittest.TestCase):
    """A scheduler's day: 20 jobs on one cluster of 64 devices, each on the fewest free ones that meet its target.

    The cluster is one of the zoo, so its description is read once and never sent.
    """

    CLUSTER = "zoo:nodes:8?devices=8&inside_gb=24&between_us=5"
    GRAPHS = ("zoo:bert-base", "zoo:bert-large", "zoo:gpt-350m")
    SPEED_UPS = (1, 1.9, 4.5, 2.7, 5.5)

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.stub = cls.daemon.stub

    @classmethod
    def tearDownClass(cls):
        assert cls.daemon.end() == 0

    def plan(self, graph, **problem):
        return self.stub.CreatePlan(planning_service_pb2.CreatePlanRequest(
            graph_reference=graph, cluster_reference=self.CLUSTER,
            problem=problem_pb2.PlanningProblem(**problem)), timeout=60).plan

    def verify(self, graph, plan):
        evaluation = self.stub.EvaluatePlan(planning_service_pb2.EvaluatePlanRequest(
            graph_reference=graph, cluster_reference=self.CLUSTER, plan=plan), timeout=60)
        self.assertTrue(evaluation.valid, evaluation.violations)

    def test_twenty_jobs_share_a_cluster(self):
        cluster = self.stub.GetCluster(planning_service_pb2.GetClusterRequest(name=self.CLUSTER), timeout=60).cluster
        host_of = {device.name: device.host for device in cluster.devices}
        self.assertEqual(len(host_of), 64)
        one_device = {graph: self.plan(graph, devices_to_use={"max_devices": 1}).objective_ms for graph in self.GRAPHS}
        running, used, waits, most_used = [], set(), 0, 0
        for i in range(20):
            graph = self.GRAPHS[i % len(self.GRAPHS)]
            target_ms = one_device[graph] / self.SPEED_UPS[i % len(self.SPEED_UPS)]
            while True:
                free_hosts = {host for device, host in host_of.items() if device not in used}
                try:
                    plan = self.plan(graph, objective=problem_pb2.OBJECTIVE_MIN_DEVICES, target_period_ms=target_ms,
                                     devices_to_use={"hosts": free_hosts, "excluded_devices": used})
                    break
                except grpc.RpcError as error:
                    # Not enough devices are free: the oldest job ends first.
                    self.assertEqual(error.code(), grpc.StatusCode.FAILED_PRECONDITION, error.details())
                    used -= running.pop(0)
                    waits += 1
            self.assertLessEqual(plan.objective_ms, target_ms)
            self.assertTrue(plan.provenance.proven_optimal, plan.warnings)
            self.verify(graph, plan)
            taken = {stage.replicas[0].device for stage in plan.stages}
            self.assertFalse(taken & used)
            self.assertEqual(len(taken), plan.provenance.counters["devices_used"])
            running.append(taken)
            used |= taken
            most_used = max(most_used, len(used))
        self.assertGreater(most_used, 48)
        self.assertGreater(waits, 0)

    def test_a_batch_sends_the_cluster_once(self):
        cluster = self.stub.GetCluster(planning_service_pb2.GetClusterRequest(name=self.CLUSTER), timeout=60).cluster
        entry = planning_service_pb2.BatchCreatePlansRequest.Entry
        request = planning_service_pb2.BatchCreatePlansRequest(cluster=cluster, requests=[
            entry(graph_reference=graph, problem=problem_pb2.PlanningProblem(devices_to_use={"max_devices": count}))
            for graph in self.GRAPHS for count in (1, 2, 3)] + [entry()])
        results = self.stub.BatchCreatePlans(request, timeout=60).results
        self.assertEqual([result.WhichOneof("result") for result in results], ["plan"] * 9 + ["error"])
        for first in (0, 3, 6):
            times = [result.plan.objective_ms for result in results[first:first + 3]]
            self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(results[9].error.code, grpc.StatusCode.INVALID_ARGUMENT.value[0])
        self.assertIn("graph: must be set", results[9].error.message)
        details = [any.TypeName() for any in results[9].error.details]
        self.assertEqual(details, ["google.rpc.ErrorInfo", "google.rpc.BadRequest"])


def hard_entries(count):
    """Half a second each; their seeds keep them from sharing a plan."""
    limit = duration_pb2.Duration(nanos=500_000_000)
    return [planning_service_pb2.BatchCreatePlansRequest.Entry(
        options=problem_pb2.SolverOptions(seed=seed, time_limit=limit)) for seed in range(count)]


class FairnessTest(unittest.TestCase):
    def test_a_batch_lets_others_have_their_turn(self):
        daemon = Daemon("--max_running=1")
        hard = hard_request()
        batch = daemon.stub.BatchCreatePlans.future(planning_service_pb2.BatchCreatePlansRequest(
            cluster=hard.cluster, graph=hard.graph, requests=hard_entries(60)), timeout=120)
        daemon.wait_for("search started")
        plan = daemon.stub.CreatePlan(planning_service_pb2.CreatePlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1"), timeout=60).plan
        self.assertTrue(plan.stages)
        self.assertFalse(batch.done())
        batch.cancel()
        self.assertEqual(daemon.end(), 0)

    def test_a_server_that_ends_answers_with_the_plans_it_has(self):
        daemon = Daemon("--max_running=1", "--drain_timeout=1ms")
        hard = hard_request()
        batch = daemon.stub.BatchCreatePlans.future(planning_service_pb2.BatchCreatePlansRequest(
            cluster=hard.cluster, graph=hard.graph, requests=hard_entries(60)), timeout=120)
        daemon.wait_for("search ended")
        self.assertEqual(daemon.end(), 0)
        results = batch.result().results
        self.assertEqual(len(results), 60)
        self.assertTrue(results[0].plan.stages)
        self.assertEqual(results[59].error.code, grpc.StatusCode.UNAVAILABLE.value[0])


class ReflectionTest(unittest.TestCase):
    def test_describes_every_service(self):
        daemon = Daemon("--enable_reflection")
        services = [entry.name for entry in daemon.reflect(list_services="").list_services_response.service]
        self.assertIn(SERVICE, services)
        for service in services:
            answer = daemon.reflect(file_containing_symbol=service)
            self.assertTrue(answer.file_descriptor_response.file_descriptor_proto, service)
        self.assertEqual(daemon.end(), 0)


class StoreTest(unittest.TestCase):
    """What becomes of a server whose SQLite file changes under it."""

    def setUp(self):
        self.file = os.path.join(FOLDER, f"{self.id()}.db")
        self.daemon = None

    def tearDown(self):
        self.assertEqual(self.daemon.end(), 0)

    def start(self):
        self.daemon = Daemon(f"--store=sqlite:{self.file}")

    def plan(self, **arguments):
        request = planning_service_pb2.CreatePlanRequest(
            graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", **arguments)
        return self.daemon.stub.CreatePlan(request, timeout=60).plan

    def refusal(self, **arguments):
        with self.assertRaises(grpc.RpcError) as caught:
            self.plan(**arguments)
        return caught.exception.code(), caught.exception.details()

    def write_format(self, version):
        """The version of the format that writers must know; 2 is today's."""
        with open(self.file, "r+b") as database:
            database.seek(18)
            database.write(bytes([version]))

    def make_writable(self):
        """Every connection of the server reads the first page again."""
        self.write_format(2)
        with contextlib.closing(sqlite3.connect(self.file, timeout=60)) as connection:
            seen = connection.execute("PRAGMA user_version").fetchone()[0]
            connection.execute(f"PRAGMA user_version = {seen + 1}")

    def make_read_only(self):
        """As the file itself can say it: a file system that turns read-only takes privileges that a test lacks."""
        self.make_writable()
        with contextlib.closing(sqlite3.connect(self.file, timeout=60)) as connection:
            connection.execute("SELECT * FROM schema_version").fetchall()
            self.assertEqual(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0], 0)
            self.write_format(3)

    def wait_until_ready_says(self, text, change):
        """A connection of the server may have missed the change, as below, so that it is made anew."""
        for _ in range(20):
            for _ in range(150):
                if self.daemon.get("/readyz")[1].startswith(text):
                    return
                time.sleep(0.1)
            change()
        self.fail(f"/readyz never said {text}")

    def refusal_once_read_only(self):
        """The first refusal of a plan to keep. A server that read the file between the checkpoint and the change goes
        by what it read, so that the change is made anew until it is seen."""
        for attempt in range(20):
            self.make_read_only()
            try:
                self.plan(plan_id=f"refused-{attempt}")
            except grpc.RpcError as error:
                return error.code(), error.details()
        self.fail("the server never saw that its file is read-only")

    def test_serves_while_it_is_read_only(self):
        self.start()
        self.plan(plan_id="kept")
        self.assertEqual(self.daemon.get("/readyz"), (200, "ok\n"))
        code, details = self.refusal_once_read_only()
        self.assertEqual(code, grpc.StatusCode.UNAVAILABLE)
        self.assertIn("readonly", details)
        self.wait_until_ready_says("ok, but", self.make_read_only)
        self.daemon.wait_for("the store does not work")
        status, text = self.daemon.get("/readyz")
        self.assertEqual(status, 200)
        self.assertIn("ok, but", text)
        self.assertIn("readonly", text)
        self.assertIn("planwright_store_up 0", self.daemon.get("/metrics")[1])
        # Cached plans, searches and what is kept.
        self.assertTrue(self.plan().provenance.cached)
        self.assertFalse(self.plan(skip_cache=True).provenance.cached)
        self.daemon.stub.GetPlan(planning_service_pb2.GetPlanRequest(name="plans/kept"), timeout=60)
        self.make_writable()
        self.wait_until_ready_says("ok\n", self.make_writable)
        self.daemon.wait_for("the store works again")
        self.plan(plan_id="kept-too")

    def test_serves_beside_a_store_of_a_newer_release(self):
        with contextlib.closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute("CREATE TABLE schema_version (version BIGINT NOT NULL, oldest_release BIGINT NOT NULL)")
            connection.execute("INSERT INTO schema_version VALUES (99, 99)")
        self.start()
        code, text = self.daemon.get_error("/readyz")
        self.assertEqual(code, 503)
        self.assertIn("newer release", text)
        self.plan()
        code, details = self.refusal(plan_id="refused")
        self.assertEqual(code, grpc.StatusCode.FAILED_PRECONDITION)
        self.assertIn("newer planwrightd", details)


class ReloadTest(unittest.TestCase):
    def test_counts_what_went_wrong_and_lets_the_old_tokens_in(self):
        file = os.path.join(FOLDER, "auth.json")
        token = {"name": "ci", "sha256": hashlib.sha256(b"secret").hexdigest(), "tenant": "team", "role": "reader"}
        with open(file, "w", encoding="utf-8") as config:
            json.dump({"tokens": [token]}, config)
        daemon = Daemon(f"--auth_config={file}")
        with open(file, "w", encoding="utf-8") as config:
            config.write('{"tokens": [{"name"')
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for("reload failed, nothing has changed")
        self.assertIn('planwright_reloads_total{outcome="failed"} 1', daemon.get("/metrics")[1])
        daemon.stub.GetServerInfo(planning_service_pb2.GetServerInfoRequest(), timeout=60,
                                  metadata=[("authorization", "Bearer secret")])
        self.assertEqual(daemon.end(), 0)


class DrainTest(unittest.TestCase):
    def test_says_that_it_serves_no_more_while_it_ends_its_work(self):
        daemon = Daemon("--drain_timeout=60s")
        call = daemon.stub.StreamPlan(hard_request(), timeout=60)
        while next(call).WhichOneof("event") != "incumbent":
            pass
        daemon.process.send_signal(signal.SIGTERM)
        daemon.wait_for("draining")
        # The log line precedes the change by a moment.
        for service in ("", SERVICE):
            while daemon.health_of(service) == health_pb2.HealthCheckResponse.SERVING:
                pass
            self.assertEqual(daemon.health_of(service), health_pb2.HealthCheckResponse.NOT_SERVING)
        self.assertEqual(daemon.get_error("/readyz"), (503, "draining\n"))
        self.assertEqual(daemon.get("/livez"), (200, "ok\n"))
        self.assertIn("planwright_draining 1", daemon.get("/metrics")[1])
        call.cancel()
        self.assertEqual(daemon.wait(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
