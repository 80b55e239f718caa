"""Problems of the joint search through a real server, from Python: cache, streams, judging, simulation, the store,
batches and sweeps.

Usage: joint_service_test.py PLANWRIGHTD PROTO_FOLDER. Exit code 77: something that it needs is not installed.
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import python_stubs  # noqa: E402

DAEMON, PROTO = sys.argv[1:3]
FOLDER = python_stubs.make(PROTO)
import grpc  # noqa: E402
from planwright.v1 import operation_pb2, plan_pb2, planning_service_pb2, planning_service_pb2_grpc  # noqa: E402
from planwright.v1 import problem_pb2  # noqa: E402

GRAPH = "zoo:llama3-8b"
CLUSTER = "zoo:dgx-h100:2"


def problem_of(global_batch=64, **choices):
    problem = problem_pb2.PlanningProblem()
    problem.joint.global_batch = global_batch
    for name, values in choices.items():
        getattr(problem.joint, name).extend(values)
    return problem


def request_of(problem, **fields):
    return planning_service_pb2.CreatePlanRequest(graph_reference=GRAPH, cluster_reference=CLUSTER, problem=problem,
                                                  **fields)


def comparable(plan):
    """Without what two equal searches may differ in."""
    copy = plan_pb2.Plan()
    copy.CopyFrom(plan)
    copy.name = ""
    copy.provenance.Clear()
    return copy


class JointServiceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.process = subprocess.Popen(
            [DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=", "--log_format=json",
             f"--store=sqlite:{cls.folder.name}/store.db"], stderr=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end)
        address = next(record["address"] for record in map(json.loads, cls.process.stderr)
                       if record["message"] == "serving grpc")
        cls.channel = grpc.insecure_channel(address)
        cls.stub = planning_service_pb2_grpc.PlanningServiceStub(cls.channel)

    @classmethod
    def end(cls):
        cls.channel.close()
        cls.process.send_signal(signal.SIGTERM)
        cls.process.stderr.read()
        cls.process.stderr.close()
        if cls.process.wait(timeout=60) != 0:
            raise AssertionError("planwrightd did not end with 0")

    def plan(self, problem, **fields):
        return self.stub.CreatePlan(request_of(problem, **fields), timeout=60).plan

    def test_an_equal_problem_is_answered_from_the_cache(self):
        problem = problem_of(96)
        first = self.plan(problem)
        self.assertFalse(first.provenance.cached)
        self.assertLessEqual(first.lower_bound_ms, first.objective_ms)
        second = self.plan(problem)
        self.assertTrue(second.provenance.cached)
        self.assertEqual(comparable(second), comparable(first))
        self.assertFalse(self.plan(problem_of(128)).provenance.cached)
        self.assertFalse(self.plan(problem_of(96, tensor_degrees=[1, 2])).provenance.cached)

    def test_threads_change_nothing(self):
        plans = []
        for threads in (1, 2, 8):
            request = request_of(problem_of(48))
            request.options.threads = threads
            plans.append(comparable(self.stub.CreatePlan(request, timeout=60).plan))
        self.assertEqual(plans[0], plans[1])
        self.assertEqual(plans[0], plans[2])

    def test_a_stream_tells_of_better_plans_and_ends_with_the_plan(self):
        problem = problem_of(80)
        request = planning_service_pb2.StreamPlanRequest(graph_reference=GRAPH, cluster_reference=CLUSTER,
                                                         problem=problem, include_incumbent_plans=True)
        events = list(self.stub.StreamPlan(request, timeout=60))
        self.assertEqual(events[-1].WhichOneof("event"), "plan")
        self.assertIn("joint_search", [event.phase for event in events if event.WhichOneof("event") == "phase"])
        found = [event.incumbent for event in events if event.WhichOneof("event") == "incumbent"]
        steps = [incumbent.incumbent.objective_ms for incumbent in found]
        self.assertTrue(steps)
        self.assertEqual(steps, sorted(steps, reverse=True))
        self.assertTrue(all(incumbent.plan.HasField("joint") for incumbent in found))
        self.assertEqual(comparable(events[-1].plan), comparable(self.plan(problem)))

    def test_what_was_planned_is_judged_and_simulated_as_it_was_planned(self):
        kinds = [problem_pb2.SCHEDULE_KIND_INTERLEAVED, problem_pb2.SCHEDULE_KIND_GPIPE,
                 problem_pb2.SCHEDULE_KIND_ZERO_BUBBLE_H1]
        for problem in (problem_of(64), *(problem_of(64, schedules=[kind]) for kind in kinds), problem_of(64, schedules=kinds)):
            plan = self.plan(problem)
            sources = {"graph_reference": GRAPH, "cluster_reference": CLUSTER, "plan": plan}
            judged = self.stub.EvaluatePlan(planning_service_pb2.EvaluatePlanRequest(**sources), timeout=60)
            self.assertTrue(judged.valid, judged.violations)
            self.assertEqual(judged.plan.objective_ms, plan.objective_ms)
            self.assertEqual(judged.plan.joint.simulated_step_ms, plan.joint.simulated_step_ms)
            answers = list(self.stub.SimulatePlan(
                planning_service_pb2.SimulatePlanRequest(
                    view=planning_service_pb2.SimulatePlanRequest.VIEW_FULL, **sources), timeout=60))
            summary = answers[0].summary
            self.assertEqual(summary.step_time_ms, plan.joint.simulated_step_ms)
            self.assertEqual(summary.micro_batches, plan.joint.micro_batches)
            tasks = [task for answer in answers[1:] for task in answer.timeline.tasks]
            self.assertEqual(len(tasks), summary.tasks)
            self.assertEqual(max(task.end_ms for task in tasks), summary.step_time_ms)
            wire = planning_service_pb2.SimulatePlanRequest
            answers = list(self.stub.SimulatePlan(
                wire(view=wire.VIEW_FULL, collectives=wire.COLLECTIVES_ON_LINKS, **sources), timeout=60))
            summary = answers[0].summary
            self.assertEqual(summary.step_time_without_contention_ms, plan.joint.simulated_step_ms)
            self.assertGreaterEqual(summary.step_time_ms, plan.joint.simulated_step_ms)
            tasks = [task for answer in answers[1:] for task in answer.timeline.tasks]
            self.assertEqual(len(tasks), summary.tasks)
            self.assertIn("update", {task.operation for task in tasks})

    def test_wrong_plans_are_judged_with_the_paths_of_what_is_wrong(self):
        plan = self.plan(problem_of(64))
        plan.joint.micro_batches += 1
        request = planning_service_pb2.EvaluatePlanRequest(graph_reference=GRAPH, cluster_reference=CLUSTER, plan=plan)
        judged = self.stub.EvaluatePlan(request, timeout=60)
        self.assertFalse(judged.valid)
        self.assertIn("plan.joint.micro_batches", [violation.field for violation in judged.violations])

    def test_kept_plans_come_back_as_they_were(self):
        made = self.plan(problem_of(32), plan_id="kept")
        self.assertEqual(made.name, "plans/kept")
        kept = self.stub.GetPlan(planning_service_pb2.GetPlanRequest(name="plans/kept"), timeout=60).plan
        self.assertEqual(comparable(kept), comparable(made))
        listed = self.stub.ListPlans(planning_service_pb2.ListPlansRequest(), timeout=60).plans
        self.assertIn("plans/kept", [plan.name for plan in listed])
        judged = self.stub.EvaluatePlan(planning_service_pb2.EvaluatePlanRequest(
            graph_reference=GRAPH, cluster_reference=CLUSTER, plan=kept), timeout=60)
        self.assertTrue(judged.valid, judged.violations)

    def test_a_search_goes_on_from_a_plan(self):
        before = self.plan(problem_of(64))
        problem = problem_of(64)
        for stage in before.stages:
            placed = problem.start_from.stages.add(operators=stage.operators)
            placed.devices.extend(replica.device for replica in stage.replicas)
            spread = problem.start_from.joint.stages.add(
                tensor_degree=stage.joint.tensor_degree, context_degree=stage.joint.context_degree,
                expert_degree=stage.joint.expert_degree, data_degree=stage.joint.data_degree)
            for chunk in stage.joint.chunks:
                spread.chunks.add(layers=chunk.layers, recomputation=chunk.recomputation)
        for name in ("schedule", "optimizer_sharding", "degrees", "micro_batch_samples"):
            setattr(problem.start_from.joint, name, getattr(before.joint, name))
        after = self.plan(problem)
        self.assertEqual(after.provenance.counters["start_fits"], 2)
        self.assertLessEqual(after.objective_ms, before.objective_ms)
        self.assertEqual(comparable(self.plan(problem)), comparable(after))
        problem.start_from.joint.stages[0].chunks[0].layers[0] = "layer.77"
        with self.assertRaises(grpc.RpcError) as refused:
            self.plan(problem)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_a_batch_answers_each_problem(self):
        request = planning_service_pb2.BatchCreatePlansRequest(cluster_reference=CLUSTER, graph_reference=GRAPH)
        for batch in (16, 40):
            request.requests.add(problem=problem_of(batch))
        # One without joint settings, one of another model, one that contradicts itself.
        request.requests.add()
        request.requests.add(graph_reference="zoo:gpt-1.3b", problem=problem_of(16))
        request.requests.add(problem=problem_of(16, tensor_degrees=[3]))
        results = self.stub.BatchCreatePlans(request, timeout=120).results
        self.assertEqual([result.WhichOneof("result") for result in results], ["plan", "plan", "plan", "plan", "error"])
        self.assertEqual(comparable(results[0].plan), comparable(self.plan(problem_of(16))))
        self.assertEqual([result.plan.HasField("joint") for result in results[:4]], [True, True, False, True])
        self.assertEqual(results[4].error.code, grpc.StatusCode.INVALID_ARGUMENT.value[0])

    def test_a_sweep_ranks_numbers_of_stages_and_devices(self):
        request = planning_service_pb2.SweepPlansRequest(plan_request=request_of(problem_of(64)), num_stages=[1, 2, 4],
                                                         max_devices=[8, 16])
        name = self.stub.SweepPlans(request, timeout=60).operation.name
        operation = self.stub.WaitOperation(planning_service_pb2.WaitOperationRequest(name=name), timeout=120).operation
        self.assertEqual(operation.state, operation_pb2.Operation.STATE_SUCCEEDED)
        rows = operation.sweep.rows
        self.assertEqual(len(rows), 6)
        ranked = sorted((row for row in rows if row.rank > 0), key=lambda row: row.rank)
        steps = [row.objective_ms for row in ranked]
        self.assertEqual(steps, sorted(steps))
        best = self.stub.GetOperation(planning_service_pb2.GetOperationRequest(name=ranked[0].operation), timeout=60)
        self.assertEqual(best.operation.plan.objective_ms, ranked[0].objective_ms)
        self.assertEqual(len(best.operation.plan.stages), ranked[0].settings.num_stages)
        self.assertEqual(ranked[0].settings.max_devices, 16)

    def test_a_model_that_does_not_fit_is_infeasible_with_what_would(self):
        request = planning_service_pb2.CreatePlanRequest(graph_reference="zoo:llama3-405b",
                                                         cluster_reference="zoo:dgx-h100:1", problem=problem_of(64))
        with self.assertRaises(grpc.RpcError) as caught:
            self.stub.CreatePlan(request, timeout=60)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertIn("it would", caught.exception.details())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
