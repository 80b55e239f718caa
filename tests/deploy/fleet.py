"""Several planwrightd on one store, and a client that goes round them: what they did is read from their metrics."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.append(str(pathlib.Path(__file__).parent.parent / "support"))
import python_stubs  # noqa: E402  (before it, the stubs are not there)

python_stubs.make("proto")
import grpc  # noqa: E402
from planwright.v1 import operation_pb2, planning_service_pb2, planning_service_pb2_grpc, problem_pb2  # noqa: E402

# Enough for a thousand searches under the sanitizers on two busy cores; without them ctest's limit comes first.
PATIENCE_SECONDS = 900
Succeeded = operation_pb2.Operation.STATE_SUCCEEDED


class Server:
    def __init__(self, program, store, *flags, **environment):
        self.process = subprocess.Popen(
            [program, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0", f"--store={store}", "--cpus=1",
             "--operation_lease=3s", "--log_format=json", *flags], stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        addresses = {}
        for line in self.process.stderr:
            entry = json.loads(line)
            addresses[entry["message"]] = entry.get("address")
            if entry["message"] == "serving grpc":
                break
        else:
            raise RuntimeError(f"{program} did not start")
        self.address, self.http = addresses["serving grpc"], addresses["serving http"]
        self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.reader.start()

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def metric(self, name, labels=""):
        """The sum of its series with these labels."""
        with urllib.request.urlopen(f"http://{self.http}/metrics", timeout=PATIENCE_SECONDS) as answer:
            text = answer.read().decode()
        return sum(float(value) for series, value in re.findall(rf"^{name}(\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
                   if labels in series)

    def kill(self):
        self.process.kill()
        self.wait()

    def stop(self):
        """As Kubernetes ends a pod; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self):
        code = self.process.wait(PATIENCE_SECONDS)
        self.reader.join()
        self.process.stderr.close()
        return code


def connect(servers):
    """Stubs whose calls go to one server after the other, as with the Service of deploy/kubernetes."""
    channel = grpc.insecure_channel("ipv4:" + ",".join(server.address for server in servers),
                                    options=[("grpc.lb_policy_name", "round_robin")])
    return planning_service_pb2_grpc.PlanningServiceStub(channel), channel


def request(graph="zoo:transformer?layers=2&hidden=512&heads=8&vocab=1000&sequence=128", cluster="zoo:dgx-h100:1"):
    return planning_service_pb2.CreatePlanRequest(graph_reference=graph, cluster_reference=cluster)


def sweep(stub, micro_batches, max_devices, name):
    """Submits a sweep over these settings and returns its operation's name."""
    asked = planning_service_pb2.SweepPlansRequest(plan_request=request(), micro_batches=micro_batches,
                                                   max_devices=max_devices, request_id=name,
                                                   schedules=[problem_pb2.SCHEDULE_KIND_GPIPE])
    return stub.SweepPlans(asked, timeout=PATIENCE_SECONDS).operation.name


def wait_for(stub, operation):
    """The rows of a sweep that has ended. Calls that meet a server that goes are made again, as clients do."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            got = stub.GetOperation(planning_service_pb2.GetOperationRequest(name=operation), timeout=30).operation
        except grpc.RpcError as error:
            if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise
            time.sleep(0.1)
            continue
        if got.state not in (operation_pb2.Operation.STATE_QUEUED, operation_pb2.Operation.STATE_RUNNING):
            return got.sweep.rows
        time.sleep(0.2)
    raise AssertionError(f"{operation} did not end")
