#!/usr/bin/env python3
"""Asks a planwrightd for a plan of four operators on two devices, and prints which operators run where.

  python3 docs/examples/plan.py [HOST:PORT]
"""
import sys

import grpc
from planwright.v1 import graph_pb2, planning_service_pb2, planning_service_pb2_grpc

request = planning_service_pb2.CreatePlanRequest()

# A chain: every operator reads what the one before it makes.
names = ["embed", "block0", "block1", "head"]
for name, forward_ms, backward_ms in zip(names, [2, 10, 10, 5], [4, 20, 20, 10]):
    op = request.graph.operators.add(name=name, memory_bytes=4 << 30)
    op.costs.add(device_class="gpu", forward_ms=forward_ms, backward_ms=backward_ms)
for producer, consumer in zip(names, names[1:]):
    request.graph.tensors.add(name=producer + "_out", producer=producer, consumers=[consumer], size_bytes=16 << 20)

cluster = request.cluster
cluster.device_classes.add(name="gpu", memory_bytes=16 << 30)
cluster.device_groups.add(name_prefix="gpu", device_class="gpu", count=2)
cluster.interconnect.uniform.bandwidth_bytes_per_second = 12e9

address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
with grpc.insecure_channel(address) as channel:
    stub = planning_service_pb2_grpc.PlanningServiceStub(channel)
    try:
        # The search ends early enough for the answer to arrive within the deadline.
        plan = stub.CreatePlan(request, timeout=10).plan
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")

print(f"{plan.objective_ms:.3f} ms per micro-batch, at least {plan.lower_bound_ms:.3f} ms")
for stage in plan.stages:
    print(f"  {stage.replicas[0].device}: {', '.join(stage.operators)}")
