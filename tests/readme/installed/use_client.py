"""Plans, evaluates and simulates by the Python client of a package; fails where an answer is not as it should be.

  python3 use_client.py HOST:PORT
"""

import sys

from planwright import Client, PlanwrightError
from planwright.v1 import cluster_pb2, graph_pb2, problem_pb2

GRAPH, CLUSTER = "zoo:bert-large", "zoo:pcie:4"

with Client(sys.argv[1]) as client:
    plan = client.plan(GRAPH, CLUSTER, problem_pb2.PlanningProblem(micro_batches=None), seconds=10)
    assert plan.stages and plan.objective_ms >= plan.lower_bound_ms > 0
    assert client.evaluate(plan, GRAPH, CLUSTER).valid
    first, *chunks = client.simulate(plan, GRAPH, CLUSTER)
    assert first.summary.step_time_ms > plan.objective_ms and chunks
    try:
        client.plan(graph_pb2.Graph(operators=[graph_pb2.Operator()]), cluster_pb2.Cluster())
        raise AssertionError("a graph without names was planned")
    except PlanwrightError as error:
        assert error.reason and error.violations, error
        print(f"{error.violations[0].field}: {error.violations[0].description}")
print(f"{plan.objective_ms:.3f} ms on {len(plan.stages)} stages")
