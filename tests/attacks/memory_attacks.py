"""Memory of messages and answers: readers that do not read, small messages that unpack to large ones, copies of requests."""
import contextlib
import pathlib
import random as random_numbers
import threading
import time

import grpc
import raw_http2 as http2
from arena import Failure, attack, expect, refusal, service, small_plan, stubs, until

BUDGET_MIB = 1024
BUDGET = f"--memory_budget={BUDGET_MIB}MiB"
# What the process may take beyond its budget.
SHARE_OVER_BUDGET = 1.2
PATH = "/planwright.v1.PlanningService/"


def expect_in_budget(server, budget_mib=BUDGET_MIB):
    peak = server.peak_rss_mib()
    expect(peak <= SHARE_OVER_BUDGET * budget_mib, f"planwrightd took {peak:.0f} MiB with a budget of {budget_mib} MiB")


class UnreadCalls:
    """Calls on one connection whose answers are never taken: the window of every stream stays at 0."""

    def __init__(self, address):
        self.connection = http2.Connection(address, seconds=120)
        self.connection.send(http2.settings({http2.INITIAL_WINDOW_SIZE: 0}))
        self.next_stream = 1
        self.ended = 0
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()

    def call(self, method, request):
        stream = self.next_stream
        self.next_stream += 2
        self.connection.send(http2.headers(stream, http2.call_headers(PATH + method)) +
                             http2.data(stream, http2.grpc_message(request), end_stream=True))

    def _drain(self):
        """Control frames have no window: they are read, so that the server is not held up by them."""
        with contextlib.suppress(OSError):
            while True:
                kind, flags, stream, _ = self.connection.read_frame()
                if kind == http2.SETTINGS and not flags & http2.ACK:
                    self.connection.send(http2.settings_ack())
                if stream and (kind == http2.RST_STREAM or flags & http2.END_STREAM):
                    self.ended += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


def large_graph(mebibytes, seed=0):
    """Operators whose names make it as large, and do not shrink when they are packed."""
    random = random_numbers.Random(seed)
    graph = service.CreatePlanRequest().graph
    for number in range(mebibytes * 1024 * 1024 // 255):
        graph.operators.add(name=f"{number:06d}" + random.randbytes(117).hex())
    return graph


def register(stub, graph):
    header = service.RegisterGraphRequest(header=service.RegisterGraphRequest.Header())
    return stub.RegisterGraph(iter([header, service.RegisterGraphRequest(fragment=graph)])).graph.name


def full_simulation(stub):
    """A request of a few kilobytes whose answer has hundreds of thousands of tasks."""
    made = stub.CreatePlan(small_plan()).plan
    made.ClearField("provenance")
    return service.SimulatePlanRequest(graph_reference="zoo:bert-base", cluster_reference="zoo:dgx1-v100:1", plan=made,
                                       micro_batches=5000, view=service.SimulatePlanRequest.VIEW_FULL)


@attack("5", "80 SimulatePlan and 147 GetGraph that nobody reads", mixes=True)
def unread_answers(arena):
    server = arena.serve(BUDGET, f"--store=sqlite:{arena.folder}/store.db", "--max_message_bytes=64MiB", "--cpus=2",
                         "--max_waiting=200", "--send_timeout=5s")
    stub = server.stub(("grpc.max_send_message_length", -1))
    name = register(stub, large_graph(30))
    simulation = full_simulation(stub)
    with arena.bystander(server), UnreadCalls(server.address) as readers, UnreadCalls(server.address) as streams:
        for number in range(147):
            readers.call("GetGraph", service.GetGraphRequest(name=name))
            if number < 80:
                streams.call("SimulatePlan", simulation)
        # Two of them are made at a time, and each is given a second for each of its MiB.
        until(lambda: readers.ended + streams.ended > 200, f"{147 + 80} unread calls are ended", seconds=60)
        expect_in_budget(server)
        readers.call("GetServerInfo", service.GetServerInfoRequest())


@attack("6", "a sweep of 600 rows that share megabytes")
def wide_sweep(arena):
    server = arena.serve(BUDGET, f"--store=sqlite:{arena.folder}/store.db", "--max_operations=0", "--cpus=2")
    stub = server.stub(("grpc.max_send_message_length", -1))
    request = service.SweepPlansRequest(plan_request=small_plan(graph=large_graph(2)), num_stages=range(1, 21),
                                        micro_batches=range(1, 31))
    device = stub.GetCluster(service.GetClusterRequest(name="zoo:dgx1-v100:1")).cluster.devices[0].name
    for operator in request.plan_request.graph.operators:
        request.plan_request.problem.pinned.add(operator=operator.name, device=device)
    with arena.bystander(server):
        stub.SweepPlans(request, timeout=25)
        expect_in_budget(server, BUDGET_MIB // 2)
    on_disk = sum(file.stat().st_size for file in pathlib.Path(arena.folder).glob("store.db*"))
    expect(on_disk < 64 << 20, f"the database has {on_disk >> 20} MiB")


def nested(*numbers, content):
    """The bytes of messages in messages, by the numbers of their fields, around `content`."""
    for number in reversed(numbers):
        content = varint(number << 3 | 2) + varint(len(content)) + content
    return content


def varint(value):
    encoded = bytearray()
    while value >= 128:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes(encoded) + bytes([value])


@attack("19", "60 MiB of groups and of empty strings, which unpack to gigabytes", mixes=True)
def small_messages_that_grow(arena):
    server = arena.serve(BUDGET, "--cpus=2")
    call = server.channel(("grpc.max_send_message_length", -1)).unary_unary(PATH + "CreatePlan")
    pairs = 30 << 20
    request = service.CreatePlanRequest
    problem = request.DESCRIPTOR.fields_by_name["problem"]
    devices = problem.message_type.fields_by_name["devices_to_use"]
    name = next(field for field in devices.message_type.fields
                if field.type == field.TYPE_STRING and field.label == field.LABEL_REPEATED)
    messages = {"groups": bytes([15 << 3 | 3, 15 << 3 | 4]) * pairs,
                "empty strings": nested(problem.number, devices.number, content=bytes([name.number << 3 | 2, 0]) * pairs)}
    with arena.bystander(server):
        for kind, message in messages.items():
            refused = refusal(lambda message=message: call(message, timeout=20))
            expect(refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, f"60 MiB of {kind} ended with {refused.code()}")
        expect_in_budget(server, BUDGET_MIB // 2)


@attack("19c", "requests of 700,000 operators, whose memory has to come back")
def memory_that_comes_back(arena):
    server = arena.serve(BUDGET, "--cpus=2")
    stub = server.stub()
    idle = server.rss_mib()
    for turn in range(3):
        requests = [service.CreatePlanRequest(graph_reference=f"zoo:transformer?layers=50000&hidden={768 + 12 * number}",
                                              cluster_reference="zoo:dgx1-v100:1") for number in range(3 * turn, 3 * turn + 3)]
        for request in requests:
            request.options.time_limit.FromMilliseconds(100)
        calls = [stub.CreatePlan.future(request, timeout=60) for request in requests]
        for call in calls:
            # Refused, or out of time.
            call.exception()
    expect_in_budget(server)
    until(lambda: server.rss_mib() < idle + 64, "the memory of large requests is given back", seconds=20)


def batch(graphs, mebibytes, **cluster):
    """Problems that are wrong, each with a graph of its own: they are read, and answered at once."""
    request = service.BatchCreatePlansRequest(**cluster)
    graph = large_graph(mebibytes)
    for _ in range(graphs):
        request.requests.add(graph=graph).problem.max_stages_per_device = -1
    return request


@attack("19b", "8 batches of 26 MB at once")
def large_batches(arena):
    server = arena.serve("--memory_budget=2GiB", "--cpus=2")
    graph = service.CreatePlanRequest().graph
    for number in range(50000):
        graph.operators.add(name=f"operator {number:06d}")
    request = service.BatchCreatePlansRequest(cluster_reference="zoo:dgx1-v100:1")
    for _ in range(24):
        # Read, and wrong.
        request.requests.add(graph=graph).problem.max_stages_per_device = -1
    with arena.bystander(server), contextlib.ExitStack() as channels:
        calls = []
        for _ in range(8):
            channel = channels.enter_context(server.channel(("grpc.max_send_message_length", -1)))
            calls.append(stubs.PlanningServiceStub(channel).BatchCreatePlans.future(request, timeout=15))
        time.sleep(15)
        for call in calls:
            call.cancel()
    expect_in_budget(server, 2048)


@attack("22", "a lone batch that takes more than its share")
def lone_batch(arena):
    server = arena.serve("--memory_budget=2GiB", f"--store=sqlite:{arena.folder}/store.db", "--cpus=2")
    stub = server.stub(("grpc.max_send_message_length", -1))
    cluster = stub.GetCluster(service.GetClusterRequest(name="zoo:dgx1-v100:1")).cluster
    stored = stub.RegisterCluster(service.RegisterClusterRequest(cluster=cluster)).cluster.name
    for source in ({"cluster_reference": "zoo:dgx1-v100:1"}, {"cluster": cluster}, {"cluster_reference": stored}):
        request = batch(58, 1, **source)
        try:
            results = stub.BatchCreatePlans(request, timeout=60).results
        except grpc.RpcError as error:
            raise Failure(f"a lone batch of {request.ByteSize() >> 20} MiB ended with {error}") from error
        expect(len(results) == 58, f"58 problems had {len(results)} results")
