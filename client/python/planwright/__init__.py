"""A client of planwrightd, which plans how deep networks run on clusters.

    from planwright import Client

    with Client("127.0.0.1:50051") as client:
        plan = client.plan(graph="zoo:bert-large", cluster="zoo:pcie:4")
        print(plan.objective_ms, [stage.replicas[0].device for stage in plan.stages])

Messages are those of planwright/v1/*.proto, in planwright.v1.graph_pb2 and its neighbours.
"""

from planwright.client import Client, PlanwrightError, Violation

__all__ = ["Client", "PlanwrightError", "Violation"]
