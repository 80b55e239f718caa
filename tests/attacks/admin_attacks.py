"""Answers from the cache, settings that are read again, and what administrators see and end."""
import hashlib
import json
import os
import re
import signal
import time

import grpc
from arena import attack, expect, problems, refusal, service, small_plan, until
from planwright.v1 import cluster_pb2 as clusters, graph_pb2 as graphs


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
