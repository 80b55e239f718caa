"""Calls of planwrightd with types, a deadline each, and errors taken apart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import grpc

from planwright.rpc import error_details_pb2, status_pb2
from planwright.v1 import (
    cluster_pb2,
    graph_pb2,
    plan_pb2,
    planning_service_pb2,
    planning_service_pb2_grpc,
    problem_pb2,
)

_STATUS_KEY = "grpc-status-details-bin"
# What an answer may take beyond the time of its search.
_SPARE_SECONDS = 5.0

_Sourced = TypeVar("_Sourced", planning_service_pb2.CreatePlanRequest, planning_service_pb2.EvaluatePlanRequest,
                   planning_service_pb2.SimulatePlanRequest)


@dataclass(frozen=True)
class Violation:
    """A field of the request that breaks a rule."""

    # "graph.operators[3].memory_bytes".
    field: str
    # What rule, and what the field is instead.
    description: str


class PlanwrightError(Exception):
    """A call that the server refused or could not answer."""

    def __init__(self, error: grpc.RpcError) -> None:
        super().__init__(f"{error.code().name}: {error.details()}")
        self.code: grpc.StatusCode = error.code()
        self.message: str = error.details()
        # UPPER_SNAKE, as in docs/api-reference; empty: not from planwrightd itself.
        self.reason: str = ""
        self.violations: list[Violation] = []
        # When to come back; None: the server does not say.
        self.retry_seconds: float | None = None
        for key, value in error.trailing_metadata() or ():
            if key == _STATUS_KEY:
                self._read_details(status_pb2.Status.FromString(value))

    def _read_details(self, status: status_pb2.Status) -> None:
        for detail in status.details:
            if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                info = error_details_pb2.ErrorInfo()
                detail.Unpack(info)
                self.reason = info.reason
            elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
                bad = error_details_pb2.BadRequest()
                detail.Unpack(bad)
                self.violations += [Violation(one.field, one.description) for one in bad.field_violations]
            elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
                retry = error_details_pb2.RetryInfo()
                detail.Unpack(retry)
                self.retry_seconds = retry.retry_delay.ToTimedelta().total_seconds()


class Client:
    """A connection to planwrightd; threads may share it. Every call raises PlanwrightError.

    Graphs and clusters are messages, or names: "zoo:bert-large", "graphs/{sha256}".
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        token: str | None = None,
        tls: bool = False,
        ca_certificates: bytes | None = None,
        certificate_chain: bytes | None = None,
        private_key: bytes | None = None,
    ) -> None:
        """Connects to `address`, else to PLANWRIGHT_SERVER, else to 127.0.0.1:50051.

        `token` says who calls (else PLANWRIGHT_TOKEN). PEM texts ask for TLS, as `tls` does, which trusts the
        authorities of gRPC.
        """
        address = address or os.environ.get("PLANWRIGHT_SERVER") or "127.0.0.1:50051"
        token = token or os.environ.get("PLANWRIGHT_TOKEN")
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        if tls or ca_certificates or certificate_chain:
            credentials = grpc.ssl_channel_credentials(ca_certificates, private_key, certificate_chain)
            self._channel = grpc.secure_channel(address, credentials)
        else:
            self._channel = grpc.insecure_channel(address)
        self._stub = planning_service_pb2_grpc.PlanningServiceStub(self._channel)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def plan(
        self,
        graph: graph_pb2.Graph | str,
        cluster: cluster_pb2.Cluster | str,
        problem: problem_pb2.PlanningProblem | None = None,
        options: problem_pb2.SolverOptions | None = None,
        *,
        seconds: float = 60.0,
    ) -> plan_pb2.Plan:
        """The best plan that a search of at most `seconds` finds."""
        request = planning_service_pb2.CreatePlanRequest(problem=problem, options=options)
        _add_sources(request, graph, cluster)
        if not request.options.HasField("time_limit"):
            request.options.time_limit.FromMilliseconds(int(seconds * 1000))
        return self._call(self._stub.CreatePlan, request, seconds + _SPARE_SECONDS).plan

    def evaluate(
        self,
        plan: plan_pb2.Plan,
        graph: graph_pb2.Graph | str,
        cluster: cluster_pb2.Cluster | str,
        problem: problem_pb2.PlanningProblem | None = None,
        *,
        seconds: float = 60.0,
    ) -> planning_service_pb2.EvaluatePlanResponse:
        """Whether `plan` is valid, what violates what, and what it costs."""
        request = planning_service_pb2.EvaluatePlanRequest(problem=problem or plan.problem, plan=plan)
        _add_sources(request, graph, cluster)
        return self._call(self._stub.EvaluatePlan, request, seconds)

    def simulate(
        self,
        plan: plan_pb2.Plan,
        graph: graph_pb2.Graph | str,
        cluster: cluster_pb2.Cluster | str,
        *,
        collectives_on_links: bool = False,
        seconds: float = 60.0,
    ) -> Iterator[planning_service_pb2.SimulatePlanResponse]:
        """A step of `plan`: the summary, then chunks of the timeline.

        `collectives_on_links`: exchanges inside the layers of a joint plan as tasks that share links.
        """
        wire = planning_service_pb2.SimulatePlanRequest
        request = wire(problem=plan.problem, plan=plan, view=wire.VIEW_FULL)
        if collectives_on_links:
            request.collectives = wire.COLLECTIVES_ON_LINKS
        _add_sources(request, graph, cluster)
        try:
            yield from self._stub.SimulatePlan(request, timeout=seconds, metadata=self._metadata)
        except grpc.RpcError as error:
            raise PlanwrightError(error) from error

    def _call(self, method, request, seconds: float):
        try:
            return method(request, timeout=seconds, metadata=self._metadata)
        except grpc.RpcError as error:
            raise PlanwrightError(error) from error


def _add_sources(request: _Sourced, graph: graph_pb2.Graph | str, cluster: cluster_pb2.Cluster | str) -> None:
    if isinstance(graph, str):
        request.graph_reference = graph
    else:
        request.graph.CopyFrom(graph)
    if isinstance(cluster, str):
        request.cluster_reference = cluster
    else:
        request.cluster.CopyFrom(cluster)
