"""Searches and reads that should end sooner than they would by themselves: limits of time, deadlines, cancellation."""
import itertools
import random
import time

import grpc

from arena import attack, durations, expect, problems, service, small_plan, until

# In which a search ends after a time limit of 50 ms; beyond that the arena's slack is for a busy machine.
LIMIT_MS = 50
ALLOWED_MS = 150
# In which a cancelled call gives its thread back.
CANCELLED_MS = 50

# Each with a search that takes seconds or minutes, or with phases that did.
GRAPHS = ["zoo:gpt-175b", "zoo:inception-v3", "zoo:transformer?layers=300", "zoo:densenet121", "zoo:swin-l"]
CLUSTERS = ["zoo:pcie:8", "zoo:dgx-h100:64", "zoo:random-uniform:256", "zoo:gb200-nvl72:8", "zoo:torus2d:16"]


def algorithms():
    return [value for value in problems.Algorithm.values() if value != 0]


def problem_of(number):
    """One of some modes."""
    return [problems.PlanningProblem(),
            problems.PlanningProblem(split=problems.SPLIT_NON_CONTIGUOUS),
            problems.PlanningProblem(schedule=problems.SCHEDULE_KIND_ONE_F_ONE_B, micro_batches=64,
                                     replication=problems.REPLICATION_UNIFORM),
            problems.PlanningProblem(objective=problems.OBJECTIVE_MIN_LATENCY)][number]


def requests(count):
    """Algorithms, inputs and modes in turn; some are refused, which is an answer as well."""
    draw = random.Random(9)
    for algorithm in itertools.islice(itertools.cycle(algorithms()), count):
        yield service.CreatePlanRequest(
            graph_reference=draw.choice(GRAPHS), cluster_reference=draw.choice(CLUSTERS),
            problem=problem_of(draw.randrange(4)), skip_cache=True,
            options=problems.SolverOptions(algorithm=algorithm, time_limit=durations.Duration(nanos=LIMIT_MS * 10**6)))


def unlimited(request):
    request.options.ClearField("time_limit")
    return request


@attack(9, "searches with a limit of 50 ms, by all algorithms")
def limited_searches(arena):
    server = arena.serve("--cpus=2")
    stub = server.stub()
    answered = 0
    with arena.bystander(server):
        for request in requests(100):
            try:
                stub.CreatePlan(request, timeout=20)
                answered += 1
            except grpc.RpcError as error:
                expect(error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.DEADLINE_EXCEEDED,
                                        grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.RESOURCE_EXHAUSTED),
                       f"{error.code()}: {error.details()}")
    limited = {record["request_id"] for record in server.log()
               if record["message"] == "search started" and record["time_limit_ms"] <= LIMIT_MS}
    ended = [record["wall_ms"] for record in server.log()
             if record["message"] == "search ended" and record["request_id"] in limited]
    expect(answered >= 10 and len(ended) >= 20, f"only {answered} plans and {len(ended)} searches")
    expect(max(ended) <= ALLOWED_MS + arena.slack_ms, f"a search with a limit of {LIMIT_MS} ms took {max(ended):.0f} ms")


@attack("9b", "cancelled searches give their places back")
def cancelled_searches(arena):
    server = arena.serve("--cpus=2")
    stub = server.stub()
    draw = random.Random(10)
    with arena.bystander(server):
        for request in requests(88):
            call = stub.CreatePlan.future(unlimited(request), timeout=20)
            time.sleep(draw.uniform(0.02, 0.2))
            call.cancel()
    until(lambda: server.metric("planwright_running_requests") == 0, "no request runs")
    late = [record["stopped_after_ms"] for record in server.log() if record["message"] == "search cancelled"]
    expect(len(late) >= 5, f"only {len(late)} searches were cancelled")
    expect(max(late) <= CANCELLED_MS + arena.slack_ms, f"a search went on for {max(late):.0f} ms after its cancellation")


@attack("9c", "cancelled reads of graphs of 700,000 operators")
def cancelled_reads(arena):
    # No ordinary client: while they are wanted, reads of that size take all processors, as they should.
    server = arena.serve("--cpus=2", "--memory_budget=4GiB")
    stub = server.stub()
    for _ in range(5):
        calls = [stub.CreatePlan.future(service.CreatePlanRequest(
            graph_reference="zoo:transformer?layers=50000", cluster_reference="zoo:pcie:8"), timeout=20)
            for _ in range(6)]
        time.sleep(0.3)
        for call in calls:
            call.cancel()
        busy = server.cpu_seconds()
        stub.CreatePlan(small_plan(skip_cache=True), timeout=20)
        time.sleep(1)
        busy = server.cpu_seconds() - busy
        # What was built in 0.3 s is given back, and the small plan is made.
        expect(busy <= 0.7, f"the server worked {busy:.1f} s for callers that had gone")
