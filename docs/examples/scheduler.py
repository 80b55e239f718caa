#!/usr/bin/env python3
"""Plans a queue of training jobs over two pools, each job on the fewest free devices that reach its pace, and marks what it
gave away until the job ends. Jobs that have to wait do not keep back those behind them.

  python3 docs/examples/scheduler.py [HOST:PORT]
"""
import dataclasses
import heapq
import sys

import grpc
from planwright.v1 import planning_service_pb2, planning_service_pb2_grpc, problem_pb2


@dataclasses.dataclass
class Job:
    name: str
    graph: str  # As --graph of planwright takes it: zoo:NAME or graphs/DIGEST.
    pace_ms: float  # For a micro-batch, at most.
    micro_batches: int  # Until it ends.


class Pool:
    """The devices of one cluster (zoo:NAME or clusters/DIGEST), and those of them that jobs have."""

    def __init__(self, stub, name, cluster):
        self.stub, self.name, self.cluster = stub, name, cluster
        answer = stub.GetCluster(planning_service_pb2.GetClusterRequest(name=cluster), timeout=30)
        self.devices = {device.name for device in answer.cluster.devices}
        self.given = set()

    def plan(self, job):
        """The plan of a job on what is free; None: it is proven that there is none."""
        if self.given == self.devices:
            return None
        request = planning_service_pb2.CreatePlanRequest(graph_reference=job.graph, cluster_reference=self.cluster)
        request.problem.objective = problem_pb2.OBJECTIVE_MIN_DEVICES
        request.problem.target_period_ms = job.pace_ms
        request.problem.devices_to_use.excluded_devices.extend(sorted(self.given))
        try:
            return self.stub.CreatePlan(request, timeout=60).plan
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.FAILED_PRECONDITION:
                return None
            raise


@dataclasses.dataclass
class Start:
    job: Job
    pool: Pool
    devices: list
    begin_ms: float
    end_ms: float


def used_devices(plan):
    return [usage.device for usage in plan.devices if usage.stages]


def best_offer(job, pools):
    """The pool that needs the fewest devices, and its plan; None: no pool has room."""
    offers = []
    for index, pool in enumerate(pools):
        plan = pool.plan(job)
        if plan is not None:
            offers.append((len(used_devices(plan)), plan.objective_ms, index, plan))
    if not offers:
        return None
    _, _, index, plan = min(offers, key=lambda offer: offer[:3])
    return pools[index], plan


def schedule(pools, jobs):
    """Yields (job, Start) in the order of their beginnings, and at the end (job, None) for those that no empty pool
    can take."""
    now_ms, waiting, running = 0.0, list(jobs), []
    while waiting:
        for job in list(waiting):
            offer = best_offer(job, pools)
            if offer is None:
                continue
            pool, plan = offer
            start = Start(job, pool, used_devices(plan), now_ms, now_ms + plan.objective_ms * job.micro_batches)
            pool.given.update(start.devices)
            heapq.heappush(running, (start.end_ms, len(waiting), start))
            waiting.remove(job)
            yield job, start
        if not running:
            break
        # Time passes until a job ends, and gives back what it had.
        now_ms, _, ended = heapq.heappop(running)
        ended.pool.given.difference_update(ended.devices)
    for job in waiting:
        yield job, None


def main(address):
    jobs = [Job("pretrain", "zoo:bert-large", pace_ms=10, micro_batches=300_000),
            Job("vision", "zoo:resnet50", pace_ms=4, micro_batches=500_000),
            Job("finetune", "zoo:bert-base", pace_ms=10, micro_batches=100_000),
            Job("again", "zoo:bert-large", pace_ms=10, micro_batches=200_000),
            Job("hopeless", "zoo:bert-large", pace_ms=0.01, micro_batches=1)]
    with grpc.insecure_channel(address) as channel:
        stub = planning_service_pb2_grpc.PlanningServiceStub(channel)
        pools = [Pool(stub, "h100", "zoo:dgx-h100:1"), Pool(stub, "v100", "zoo:dgx1-v100:1")]
        for job, start in schedule(pools, jobs):
            if start is None:
                print(f"never   {job.name}: no pool can reach {job.pace_ms} ms")
                continue
            print(f"{start.begin_ms / 60_000:5.1f} min {job.name} on {len(start.devices)} of {start.pool.name} until "
                  f"{start.end_ms / 60_000:.1f} min: {', '.join(start.devices)}")


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051")
    except grpc.RpcError as failure:
        sys.exit(f"{failure.code().name}: {failure.details()}")
