"""Answers from the cache, settings that are read again, and what administrators see and end."""
import hashlib
import json
import os
import re
import signal
import time

import grpc
from arena import attack, expect, problems, refusal, service, small_plan, until
from planwright.v1 import admin_service_pb2 as admin, admin_service_pb2_grpc as admin_stubs
from planwright.v1 import cluster_pb2 as clusters, graph_pb2 as graphs, operation_pb2 as operations


def as_tenant(tenant):
    return {"metadata": [("x-planwright-tenant", tenant)]}


def reload(server, message="reloaded"):
    """Has the settings read again; the line that says how that went."""
    before = sum(line["message"] == message for line in server.log())
    os.kill(server.pid, signal.SIGHUP)
    until(lambda: sum(line["message"] == message for line in server.log()) > before, f"a line \"{message}\"")
    return [line for line in server.log() if line["message"] == message][-1]


@attack(8, "loose answers for those who asked for a smaller gap")
def loose_answers(arena):
    server = arena.serve("--cpus=2")
    stub = server.stub()

    def objective(tenant, gap, **arguments):
        request = service.CreatePlanRequest(
            graph_reference="zoo:inception-v3", cluster_reference="zoo:random-uniform:8",
            options=problems.SolverOptions(algorithm=problems.ALGORITHM_PARMESAN, relative_gap=gap), **arguments)
        return stub.CreatePlan(request, timeout=30, **as_tenant(tenant)).plan

    loose = objective("attacker", 0.34)
    tight = objective("b", 0.0)
    fresh = objective("c", 0.0, skip_cache=True)
    again = objective("attacker", 0.34)
    expect(loose.objective_ms > fresh.objective_ms, "a loose gap makes no worse plan here: nothing is shown")
    expect(tight.objective_ms == fresh.objective_ms,
           f"{tight.objective_ms} ms after a loose search ({loose.objective_ms} ms), {fresh.objective_ms} ms by itself")
    expect(again.provenance.cached, "a plan that is good enough was not given")


def two_operators(names=("a", "b")):
    """A graph without times, so that answers warn of estimates."""
    return graphs.Graph(
        operators=[graphs.Operator(name=name, forward_flops=(i + 1) * 1e9) for i, name in enumerate(names)],
        tensors=[graphs.Tensor(name="t", producer=names[0], consumers=[names[1]], transfer_ms=0.1)])


def cluster_of(devices):
    return clusters.Cluster(
        device_classes=[clusters.DeviceClass(name="gpu", peak_flops=1e12, memory_bandwidth_bytes_per_second=1e12,
                                             memory_bytes=100)],
        devices=[clusters.Device(name=name, device_class="gpu") for name in devices],
        interconnect=clusters.Interconnect(host_staged=clusters.Interconnect.HostStaged()))


def texts_of(message, path=""):
    """Every text of a message, by the path of its field."""
    for field, value in message.ListFields():
        values = value if field.label == field.LABEL_REPEATED and not hasattr(value, "keys") else [value]
        if hasattr(value, "keys"):
            continue
        for i, element in enumerate(values):
            where = f"{path}.{field.name}[{i}]"
            if field.type == field.TYPE_STRING:
                yield where, element
            elif field.type == field.TYPE_MESSAGE:
                yield from texts_of(element, where)


@attack("s21", "names of devices that are words of sentences")
def words_as_names(arena):
    server = arena.serve("--cpus=2")
    stub = server.stub()

    def plan(devices, tenant, **arguments):
        request = service.CreatePlanRequest(graph=two_operators(), cluster=cluster_of(devices),
                                            options=problems.SolverOptions(explain=True), **arguments)
        return stub.CreatePlan(request, timeout=10, **as_tenant(tenant)).plan

    words = ["device", "of", "work", "ms", "104", "have", "operators", "roofline", "estimates", "2", "times"]
    plan(words, "attacker")
    mine = [f"gpu{i}" for i in range(len(words))]
    found = plan(mine, "b")
    fresh = plan(mine, "c", skip_cache=True)
    expect(found.provenance.cached, "the cache was not asked")
    found.ClearField("provenance")
    fresh.ClearField("provenance")
    # Only details of why a simpler way cannot run are left out.
    for baseline in [*found.baselines, *fresh.baselines]:
        if not baseline.HasField("objective_ms"):
            baseline.ClearField("reason")
    # Equal devices may stand for each other.
    masked = [[(path, re.sub(r"gpu\d+", "gpu", text)) for path, text in texts_of(answer)] for answer in (found, fresh)]
    expect(len(masked[0]) == len(masked[1]), "the cached answer has other texts than a fresh one")
    differences = [(cached, other) for cached, other in zip(*masked) if cached != other]
    expect(not differences, f"texts of the cached answer are not those of a fresh one: {differences[:3]}")


def digest(token):
    return hashlib.sha256(token.encode()).hexdigest()


@attack(25, "the empty token, flag files that break, limits that are lowered")
def settings_read_again(arena):
    auth = os.path.join(arena.folder, "auth.json")
    flags = os.path.join(arena.folder, "flags")

    def write(file, text):
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)

    def write_auth(*tokens):
        write(auth, json.dumps({"tokens": [
            {"name": f"t{i}", "sha256": digest(token), "tenant": "a", "role": "planner"}
            for i, token in enumerate(tokens)]}))

    write_auth("secret")
    write(flags, "--max_operators=1000\n")
    server = arena.serve(f"--auth_config={auth}", f"--flagfile={flags}")
    stub = server.stub()
    known = {"metadata": [("authorization", "Bearer secret")]}
    for sent in ("Bearer ", "Bearer", "bearer  ", ""):
        error = refusal(lambda sent=sent: stub.GetServerInfo(service.GetServerInfoRequest(), timeout=5,
                                                             metadata=[("authorization", sent)]))
        expect(error.code() == grpc.StatusCode.UNAUTHENTICATED, f"\"{sent}\" ended with {error.code()}")
    # The digest of the empty token is refused, and the one before goes on.
    write_auth("secret", "")
    line = reload(server, "reload failed, nothing has changed")
    expect("tokens[1].sha256" in line["error"], f"the reload says: {line['error']}")
    write_auth("secret")
    for broken in ("--max_operators=many\n", "--max_operatros=7\n", "--flagfile=/no/such/file\n", None):
        if broken is None:
            os.remove(flags)
        else:
            write(flags, broken)
        line = reload(server, "reload failed, nothing has changed")
        expect("--flagfile" in line["error"], f"the reload says: {line['error']}")
        expect(server.is_running(), "planwrightd has ended")
    write(flags, "--max_operators=1000\n")
    reload(server)
    request = service.CreatePlanRequest(graph=two_operators(), cluster=cluster_of(["x", "y"]))
    for _ in range(3):
        stub.CreatePlan(request, timeout=10, **known)
    write(flags, "--max_operators=1\n")
    reload(server)
    error = refusal(lambda: stub.CreatePlan(request, timeout=10, **known))
    expect(error.code() == grpc.StatusCode.INVALID_ARGUMENT, f"beyond the limits: {error.code()}")


@attack(26, "deletions of what is not there, against the answers of others")
def deletions_of_nothing(arena):
    server = arena.serve(f"--store=sqlite:{arena.folder}/planwright.db")
    stub = server.stub()
    request = small_plan()
    for _ in range(2):
        stub.CreatePlan(request, timeout=10, **as_tenant("b"))
    entries = server.metric("planwright_cache_entries")
    expect(entries >= 2, f"{entries} entries are kept")
    with arena.bystander(server, options=("--tenant=b",)):
        end = time.monotonic() + 3
        while time.monotonic() < end:
            for collection, delete, message in (("graphs", stub.DeleteGraph, service.DeleteGraphRequest),
                                                ("clusters", stub.DeleteCluster, service.DeleteClusterRequest)):
                name = f"{collection}/{digest('nothing')}"
                error = refusal(lambda: delete(message(name=name), timeout=10, **as_tenant("attacker")))
                expect(error.code() == grpc.StatusCode.NOT_FOUND, f"ended with {error.code()}")
            # What matters is what is deleted, not how much work that is.
            time.sleep(0.01)
    kept = server.metric("planwright_cache_entries")
    expect(kept >= entries, f"of {entries} kept answers {kept} are left")
    # What is deleted is not answered any more all the same.
    registered = stub.RegisterCluster(service.RegisterClusterRequest(cluster=cluster_of(["x", "y"])), timeout=10,
                                      **as_tenant("b")).cluster.name
    named = service.CreatePlanRequest(graph=two_operators(), cluster_reference=registered)
    for _ in range(3):
        stub.CreatePlan(named, timeout=10, **as_tenant("b"))
    stub.DeleteCluster(service.DeleteClusterRequest(name=registered), timeout=10, **as_tenant("b"))
    error = refusal(lambda: stub.CreatePlan(named, timeout=10, **as_tenant("b")))
    expect(error.code() == grpc.StatusCode.NOT_FOUND, f"a deleted cluster was planned on: {error.code()}")


def bearer(token):
    return {"metadata": [("authorization", f"Bearer {token}")]}


def serve_two_tenants(arena, *flags):
    """A server with a store, a planner in team-a, a planner in team-b, and an admin of neither."""
    auth = os.path.join(arena.folder, "auth.json")
    tokens = [("a", "team-a", "planner"), ("b", "team-b", "planner"), ("root", "operators", "admin")]
    with open(auth, "w", encoding="utf-8") as opened:
        json.dump({"tokens": [{"name": name, "sha256": digest(name), "tenant": tenant, "role": role}
                              for name, tenant, role in tokens]}, opened)
    server = arena.serve(f"--auth_config={auth}", f"--store=sqlite:{arena.folder}/planwright.db", "--max_running=2",
                         *flags)
    return server, server.stub(), admin_stubs.AdminServiceStub(server.channel())


def hard_plan():
    """A request whose search goes on until it is stopped."""
    return service.CreatePlanRequest(
        graph_reference="zoo:inception-v3", cluster_reference="zoo:random-uniform:8", skip_cache=True,
        options=problems.SolverOptions(time_limit={"seconds": 60}))


@attack("admin", "calls and things of other tenants, by planners and by admins")
def across_tenants(arena):
    server, stub, admins = serve_two_tenants(arena)
    stub.CreatePlan(small_plan(plan_id="kept"), timeout=10, **bearer("a"))
    operation = stub.SubmitPlan(service.SubmitPlanRequest(plan_request=hard_plan()), timeout=10, **bearer("a")).operation
    running = stub.CreatePlan.future(hard_plan(), timeout=60, **bearer("a"))
    requests = {
        "ListCalls": admin.ListCallsRequest(),
        "CancelCall": admin.CancelCallRequest(name="calls/1"),
        "ListTenants": admin.ListTenantsRequest(),
        "SetTenantLimits": admin.SetTenantLimitsRequest(tenant="team-a", limits=admin.TenantLimits(max_running=0)),
        "ResetTenantLimits": admin.ResetTenantLimitsRequest(tenant="team-a"),
        "ListTenantOperations": admin.ListTenantOperationsRequest(tenant="-"),
        "GetTenantOperation": admin.GetTenantOperationRequest(tenant="team-a", name=operation.name),
        "CancelTenantOperation": admin.CancelTenantOperationRequest(tenant="team-a", name=operation.name),
        "ListTenantItems": admin.ListTenantItemsRequest(tenant="team-a", kind="plans"),
        "DeleteTenantItem": admin.DeleteTenantItemRequest(tenant="team-a", name="plans/kept"),
    }
    expect(sorted(requests) == sorted(method.name for method in admin.DESCRIPTOR.services_by_name["AdminService"].methods),
           "not every method is tried")
    # Not even on what is their own.
    for token in ("a", "b"):
        for method, request in requests.items():
            error = refusal(lambda: getattr(admins, method)(request, timeout=5, **bearer(token)))
            expect(error.code() == grpc.StatusCode.PERMISSION_DENIED, f"{method} by {token} ended with {error.code()}")
    # An admin sees whose the call is, and ends it.
    until(lambda: any(call.state == admin.CallInfo.STATE_RUNNING
                      for call in admins.ListCalls(admin.ListCallsRequest(tenant="team-a"), timeout=5,
                                                   **bearer("root")).calls), "a call of team-a that runs")
    listed = admins.ListCalls(admin.ListCallsRequest(tenant="team-a"), timeout=5, **bearer("root")).calls
    expect([(call.method, call.caller) for call in listed] == [("CreatePlan", "a")], f"team-a calls: {listed}")
    admins.CancelCall(admin.CancelCallRequest(name=listed[0].name), timeout=5, **bearer("root"))
    expect(running.exception(timeout=5).code() == grpc.StatusCode.CANCELLED, "the call was not cancelled")
    # So with an operation and what is stored.
    found = admins.ListTenantOperations(admin.ListTenantOperationsRequest(tenant="-"), timeout=5, **bearer("root"))
    expect([(entry.tenant, entry.operation.name) for entry in found.operations] == [("team-a", operation.name)],
           f"operations: {found}")
    admins.CancelTenantOperation(admin.CancelTenantOperationRequest(tenant="team-a", name=operation.name), timeout=5,
                                 **bearer("root"))
    until(lambda: admins.GetTenantOperation(
        admin.GetTenantOperationRequest(tenant="team-a", name=operation.name), timeout=5,
        **bearer("root")).operation.state == operations.Operation.STATE_CANCELLED, "the operation has ended")
    items = admins.ListTenantItems(requests["ListTenantItems"], timeout=5, **bearer("root")).items
    expect([item.name for item in items] == ["plans/kept"], f"plans of team-a: {items}")
    admins.DeleteTenantItem(requests["DeleteTenantItem"], timeout=5, **bearer("root"))
    error = refusal(lambda: stub.GetPlan(service.GetPlanRequest(name="plans/kept"), timeout=5, **bearer("a")))
    expect(error.code() == grpc.StatusCode.NOT_FOUND, f"a deleted plan: {error.code()}")


@attack("limits", "a tenant that is held back while it calls")
def held_back(arena):
    server, stub, admins = serve_two_tenants(arena)
    limits = admin.TenantLimits(max_waiting=0, max_running=1)
    info = admins.SetTenantLimits(admin.SetTenantLimitsRequest(tenant="team-a", limits=limits), timeout=5,
                                  **bearer("root")).tenant
    expect(info.limits.max_running == 1 and info.has_set_limits, f"limits: {info}")
    for tenant, wrong in (("team-a", admin.TenantLimits(weight=float("nan"))), ("team-a", admin.TenantLimits(burst=0)),
                          ("", limits), ("-", limits), ("x" * 1000, limits)):
        error = refusal(lambda: admins.SetTenantLimits(admin.SetTenantLimitsRequest(tenant=tenant, limits=wrong),
                                                       timeout=5, **bearer("root")))
        expect(error.code() == grpc.StatusCode.INVALID_ARGUMENT, f"{tenant} {wrong} ended with {error.code()}")
    flood = [stub.CreatePlan.future(hard_plan(), timeout=20, **bearer("a")) for _ in range(20)]
    until(lambda: sum(call.done() for call in flood) >= 18, "most of the flood is refused")
    stub.CreatePlan(small_plan(skip_cache=True), timeout=5, **bearer("b"))
    # What was set outlives a reload, and goes when it is reset.
    reload(server)
    shown = admins.ListTenants(admin.ListTenantsRequest(tenant="team-a"), timeout=5, **bearer("root")).tenants[0]
    expect(shown.limits.max_running == 1, f"after a reload: {shown}")
    shown = admins.ResetTenantLimits(admin.ResetTenantLimitsRequest(tenant="team-a"), timeout=5, **bearer("root")).tenant
    expect(not shown.has_set_limits and not shown.limits.HasField("max_running"), f"after a reset: {shown}")
    for call in flood:
        call.cancel()


@attack("audit", "changes and refused calls, told in a file that is rotated")
def audited(arena):
    file = os.path.join(arena.folder, "audit.log")
    server, stub, admins = serve_two_tenants(arena, f"--audit_log_file={file}")

    def lines(name=file):
        with open(name, encoding="utf-8") as opened:
            return [json.loads(line) for line in opened]

    stub.CreatePlan(small_plan(), timeout=10, **bearer("a"))
    expect(not lines(), "a plan that is not kept is no change")
    stub.CreatePlan(small_plan(plan_id="kept"), timeout=10, **bearer("a"))
    stub.DeletePlan(service.DeletePlanRequest(name="plans/kept"), timeout=10, **bearer("a"))
    refusal(lambda: stub.DeletePlan(service.DeletePlanRequest(name="plans/kept"), timeout=10, **bearer("a")))
    admins.SetTenantLimits(admin.SetTenantLimitsRequest(tenant="team-b", limits=admin.TenantLimits(weight=3)), timeout=5,
                           **bearer("root"))
    seen = [(line["action"], line["resource"], line["tenant"], line["caller"], line["outcome"]) for line in lines()]
    expect(seen == [("CreatePlan", "plans/kept", "team-a", "a", "OK"), ("DeletePlan", "plans/kept", "team-a", "a", "OK"),
                    ("DeletePlan", "plans/kept", "team-a", "a", "NotFound"),
                    ("SetTenantLimits", "tenants/team-b", "team-b", "root", "OK")], f"the audit log says {seen}")
    os.rename(file, file + ".1")
    reload(server)
    until(lambda: os.path.exists(file) and lines(), "a line in the new file")
    expect(lines()[-1]["action"] == "reload", f"the new file says {lines()}")
    # Thousands of refused calls are counted, not written.
    with arena.bystander(server, options=("--token=" + token_file(arena, "b"),)):
        for _ in range(2000):
            refusal(lambda: stub.GetServerInfo(service.GetServerInfoRequest(), timeout=5, **bearer("guess")))
    expect(server.metric("planwright_audit_refused_total") >= 2000, "refused calls are not counted")
    refused = [line for line in lines() if line["outcome"] == "Unauthenticated"]
    expect(0 < len(refused) < 300, f"{len(refused)} lines of 2000 refused calls")
    with open(file, encoding="utf-8") as opened:
        expect("guess" not in opened.read(), "a token is in the audit log")


def token_file(arena, token):
    name = os.path.join(arena.folder, f"token-{token}")
    with open(name, "w", encoding="utf-8") as opened:
        opened.write(token)
    return name


@attack("labels", "tenants without end, against the metrics")
def labels_without_end(arena):
    server = arena.serve("--max_tenant_metrics=10")
    stub = server.stub()
    for i in range(2000):
        stub.GetServerInfo(service.GetServerInfoRequest(), timeout=5, **as_tenant(f"t{i}"))
    text = server.get("/metrics")[1]
    named = {line.split('tenant="')[1].split('"')[0] for line in text.splitlines() if 'tenant="' in line}
    expect(len(named) == 11 and "other" in named, f"{len(named)} tenants have a label")
