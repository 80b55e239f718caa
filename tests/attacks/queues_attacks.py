"""Tenants that want all of what others need as well: threads that read, places in queues, searches, streams."""
import contextlib
import hashlib
import json
import threading
import time

from arena import attack, expect, grpc, problems, service, small_plan, until

# 700,009 operators from a few bytes.
HUGE = "zoo:transformer?layers=50000"
GREEDY = [("x-planwright-tenant", "greedy")]
MODEST = [("x-planwright-tenant", "modest")]
CALL_SECONDS = 5.0


def huge_plan(number=0):
    """A request that takes long to read; each number is another problem."""
    return service.CreatePlanRequest(graph_reference=f"{HUGE}&hidden={1024 + number}" if number else HUGE,
                                     cluster_reference="zoo:dgx1-v100:1")


def long_search(milliseconds, seed=0):
    """A search that goes on for as long as it may; each seed is another problem."""
    request = service.CreatePlanRequest(graph_reference="zoo:inception-v3", cluster_reference="zoo:dgx1-mesh:2",
                                        skip_cache=True)
    request.options.time_limit.FromMilliseconds(milliseconds)
    request.options.seed = seed
    return request


def broken_batch():
    """A thousand problems that take long to read, each of which is wrong."""
    request = service.BatchCreatePlansRequest(cluster_reference="zoo:dgx1-v100:1")
    for _ in range(1000):
        entry = request.requests.add(graph_reference=HUGE)
        entry.problem.objective = 77
    return request


@contextlib.contextmanager
def calls_in_flight(futures):
    try:
        yield futures
    finally:
        for future in futures:
            future.cancel()


def refusals(futures):
    """Of the calls that have ended, those that were refused."""
    return [future for future in futures if future.done() and future.exception() is not None]


def plan_in_time(stub, metadata, count=10, seconds=CALL_SECONDS):
    """Plans that have to be searched for, one after the other, each within its deadline."""
    for _ in range(count):
        stub.CreatePlan(small_plan(skip_cache=True), timeout=seconds, metadata=metadata)


def write_auth(arena, tenants):
    """A file of tokens, one for each tenant, with these limits; metadata by tenant, and the files of the tokens."""
    tokens = []
    for name in tenants:
        token = f"token-of-{name}-" + 32 * "0"
        tokens.append({"name": name, "sha256": hashlib.sha256(token.encode()).hexdigest(), "tenant": name,
                       "role": "planner"})
        with open(f"{arena.folder}/{name}.token", "w", encoding="ascii") as file:
            file.write(token)
    with open(f"{arena.folder}/auth.json", "w", encoding="ascii") as file:
        json.dump({"tokens": tokens, "tenants": [{"name": name, **limits} for name, limits in tenants.items()]}, file)
    return {name: [("authorization", f"Bearer token-of-{name}-" + 32 * "0")] for name in tenants}


@attack(3, "batches whose problems take long to read and fail", mixes=True)
def broken_batches(arena):
    server = arena.serve("--cpus=2", "--drain_timeout=3s")
    stub = server.stub()
    with arena.bystander(server):
        batches = [stub.BatchCreatePlans.future(broken_batch(), timeout=60, metadata=GREEDY) for _ in range(2)]
        with calls_in_flight(batches):
            plan_in_time(stub, MODEST)
        # What was cancelled gives its turn back.
        plan_in_time(stub, MODEST)
    batches = [stub.BatchCreatePlans.future(broken_batch(), timeout=600, metadata=GREEDY) for _ in range(2)]
    with calls_in_flight(batches):
        plan_in_time(stub, MODEST, count=2)
        start = time.monotonic()
        expect(server.end() == 0, "planwrightd did not end well")
        # The drain timeout, and what calls that were stopped have for their answers.
        expect(time.monotonic() - start < 3 + 10 + 5, f"planwrightd ended {time.monotonic() - start:.0f} s after SIGTERM")


@attack(4, "small requests that take long to read", mixes=True)
def huge_reads(arena):
    server = arena.serve("--cpus=2")
    stub = server.stub()
    with arena.bystander(server):
        reads = [stub.CreatePlan.future(huge_plan(), timeout=300, metadata=GREEDY) for _ in range(60)]
        with calls_in_flight(reads):
            plan_in_time(stub, MODEST)
        # Whose callers have gone are in nobody's way, not even of their own tenant.
        time.sleep(0.5)
        plan_in_time(stub, MODEST)
        plan_in_time(stub, GREEDY)


@attack(11, "searches that are shared with a tenant that is limited")
def shared_searches(arena):
    metadata = write_auth(arena, {"slow": {"max_running": 1, "requests_per_second": 1, "burst": 8},
                                  "fast": {"weight": 100}})
    server = arena.serve("--cpus=2", "--max_running=4", f"--store=sqlite:{arena.folder}/shared.db",
                         f"--auth_config={arena.folder}/auth.json")
    stub = server.stub()
    with arena.bystander(server, options=(f"--token={arena.folder}/fast.token",)):
        # One that runs, and others that the slow tenant may not run yet.
        first = long_search(10_000)
        queued = [service.CreatePlanRequest(graph_reference="zoo:bert-base", cluster_reference=f"zoo:pcie:{devices}")
                  for devices in (2, 3, 4)]
        slow = [stub.CreatePlan.future(request, timeout=60, metadata=metadata["slow"]) for request in [first, *queued]]
        with calls_in_flight(slow):
            time.sleep(0.5)
            start = time.monotonic()
            for request in queued:
                stub.CreatePlan(request, timeout=CALL_SECONDS, metadata=metadata["fast"])
            expect(time.monotonic() - start < CALL_SECONDS, "what waits for a slow tenant was waited for")
        # Beyond its rate, together with one who has no such limit: the same problems at the same time.
        for number in range(40):
            request = service.CreatePlanRequest(graph_reference=f"zoo:transformer?layers={2 + number}",
                                                cluster_reference="zoo:pcie:2")
            pair = [stub.CreatePlan.future(request, timeout=CALL_SECONDS, metadata=metadata[tenant])
                    for tenant in ("slow", "fast")]
            pair[1].result()
            with contextlib.suppress(grpc.RpcError):
                pair[0].result()
        alone = [stub.CreatePlan.future(small_plan(skip_cache=True), timeout=CALL_SECONDS, metadata=metadata["slow"])
                 for _ in range(20)]
        until(lambda: len(refusals(alone)) > 0, "the slow tenant is limited")


@attack(12, "one tenant fills the queue of searches", mixes=True)
def full_queue(arena):
    server = arena.serve("--cpus=2", "--max_running=2", "--max_waiting=16")
    stub = server.stub()
    stop = threading.Event()

    def flood():
        """As many short searches as there are places, again and again."""
        while not stop.is_set():
            searches = [stub.CreatePlan.future(long_search(20, seed), timeout=30, metadata=GREEDY) for seed in range(24)]
            with calls_in_flight(searches):
                until(lambda: all(future.done() for future in searches) or stop.is_set(), "searches end", 60)

    with arena.bystander(server):
        flooding = threading.Thread(target=flood)
        flooding.start()
        try:
            time.sleep(1)
            plan_in_time(stub, MODEST, count=30)
        finally:
            stop.set()
            flooding.join()


@attack(23, "a hundred trickling uploads of one tenant", mixes=True)
def trickling_uploads(arena):
    server = arena.serve(f"--store=sqlite:{arena.folder}/uploads.db")
    stub = server.stub()
    stop = threading.Event()

    def trickle():
        """Goes on when it has been told to end."""
        yield service.RegisterGraphRequest(header=service.RegisterGraphRequest.Header())
        fragment = service.RegisterGraphRequest()
        fragment.fragment.SetInParent()
        while not stop.wait(0.02):
            yield fragment

    def graph_of(name):
        fragment = service.RegisterGraphRequest()
        fragment.fragment.operators.add(name=name, forward_flops=1e9)
        return [service.RegisterGraphRequest(header=service.RegisterGraphRequest.Header()), fragment]

    with arena.bystander(server):
        streams = [stub.RegisterGraph.future(trickle(), timeout=60, metadata=GREEDY) for _ in range(120)]
        with calls_in_flight(streams):
            until(lambda: len(refusals(streams)) >= 20, "the streams of one tenant are bounded")
            for number in range(40):
                stub.RegisterGraph(iter(graph_of(f"op{number}")), timeout=CALL_SECONDS, metadata=MODEST)
            stop.set()
