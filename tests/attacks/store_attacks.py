"""Stores that fill, disks that are full, databases that hang, rows that are damaged, clocks that leap."""
import contextlib
import glob
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import grpc
from arena import Failure, attack, expect, refusal, service, small_plan, until
from planwright.v1 import operation_pb2 as operations

DAY = 24 * 3600


def problem(index, **arguments):
    """A small problem that is another one for each index."""
    request = small_plan(**arguments)
    request.options.seed = index
    return request


def reason(error):
    return f"{error.code().name}: {error.details()}"


# ---- 13: stores that fill between two sweeps


def answers_of(file):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute("SELECT COUNT(*), COALESCE(SUM(MAX(stored_bytes, 1024)), 0) FROM documents "
                                "WHERE kind = 4").fetchone()


@attack(13, "answers that are kept without anybody's quota")
def answers_without_end(arena):
    file = os.path.join(arena.folder, "store.db")
    server = arena.serve("--cpus=2", f"--store=sqlite:{file}", "--max_stored_answer_bytes=48KiB", "--cache_bytes=64KiB")
    stub = server.stub()
    with arena.bystander(server):
        for index in range(120):
            stub.CreatePlan(problem(index + 1), timeout=20)
    # They are stored behind the answer.
    time.sleep(1)
    count, size = answers_of(file)
    expect(count > 10, f"only {count} answers were kept: nothing is shown")
    expect(size <= 48 * 1024 * 17 // 16, f"{count} answers take {size} bytes, allowed are {48 * 1024}")


@attack(13, "operations that wait and take all room")
def operations_without_end(arena):
    file = os.path.join(arena.folder, "store.db")
    server = arena.serve("--cpus=2", f"--store=sqlite:{file}", "--max_stored_bytes=1MiB", "--max_pending_bytes=1536KiB",
                         "--max_operations=0")
    stub = server.stub()
    refused = {}
    with arena.bystander(server):
        for tenant in ("a", "b"):
            for index in range(40):
                request = service.SubmitPlanRequest(plan_request=problem(index + 1))
                # Names of operators that nothing compresses: some 100 kB.
                names = [os.urandom(40).hex() for _ in range(2000)]
                request.plan_request.ClearField("graph_reference")
                for name in names:
                    request.plan_request.graph.operators.add(name=name, forward_flops=1e9)
                try:
                    stub.SubmitPlan(request, timeout=20)
                except grpc.RpcError as error:
                    refused[tenant] = error
                    break
    expect("a" in refused, "a tenant's operations were taken without end")
    expect(refused["a"].code() == grpc.StatusCode.RESOURCE_EXHAUSTED, reason(refused["a"]))
    size = sum(os.path.getsize(name) for name in glob.glob(file + "*") if not name.endswith("-reserve"))
    expect(size < 16 << 20, f"operations of 1.5 MiB take {size} bytes")


# ---- 14: full disks


@contextlib.contextmanager
def small_disk(folder, size):
    """A disk of so many MiB at `folder`; needs root, as a container has it."""
    os.makedirs(folder)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", folder], check=False,
                             stderr=subprocess.DEVNULL)
    if mounted.returncode != 0:
        raise Failure("cannot mount a small disk: run as root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


def fill(folder):
    """Takes every byte that is left."""
    with open(os.path.join(folder, "others"), "ab", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x")


@attack(14, "a disk that is full, and a start on it")
def full_disk(arena):
    with small_disk(os.path.join(arena.folder, "disk"), 24) as disk:
        flags = ("--cpus=2", f"--store=sqlite:{disk}/store.db", "--store_free_alarm=4MiB")
        server = arena.serve(*flags)
        stub = server.stub()
        for index in range(30):
            stub.CreatePlan(problem(index + 1, plan_id=f"plan-{index}"), timeout=20)
        fill(disk)
        with arena.bystander(server):
            for index in range(60):
                refused = refusal(lambda: stub.CreatePlan(problem(1000 + index, plan_id=f"new-{index}"), timeout=20))
                expect(refused.code() == grpc.StatusCode.UNAVAILABLE and "full" in refused.details(), reason(refused))
            until(lambda: server.get("/readyz")[1].startswith("ok, but"), "/readyz does not say that the disk is full", 15)
            expect(server.metric("planwright_store_warning") == 1, "no metric warns of a full disk")
            # Not for a moment only.
            time.sleep(8)
            expect(server.get("/readyz")[1].startswith("ok, but"), "/readyz says ok on a full disk")
            stub.GetPlan(service.GetPlanRequest(name="plans/plan-0"), timeout=5)
            for index in range(10):
                stub.DeletePlan(service.DeletePlanRequest(name=f"plans/plan-{index}"), timeout=10)
        expect(server.end() == 0, "the server did not end well on a full disk")
        fill(disk)
        again = arena.serve(*flags)
        stub = again.stub()
        with arena.bystander(again):
            stub.CreatePlan(problem(5000), timeout=20)
            stub.GetPlan(service.GetPlanRequest(name="plans/plan-20"), timeout=5)
            refused = refusal(lambda: stub.GetPlan(service.GetPlanRequest(name="plans/plan-3"), timeout=5))
            expect(refused.code() == grpc.StatusCode.NOT_FOUND, "a plan that was deleted is there again")
            stub.DeletePlan(service.DeletePlanRequest(name="plans/plan-20"), timeout=10)
            os.remove(os.path.join(disk, "others"))
            until(lambda: again.get("/readyz")[1] == "ok\n", "/readyz does not see the room", 15)
            stub.CreatePlan(problem(6000, plan_id="room-again"), timeout=20)
        again.end()


# ---- 15: a database that hangs


class Postgres:
    """A PostgreSQL of the attack's own; `folder` must not be there."""

    def __init__(self, folder):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            raise Failure("PostgreSQL is not installed (apt-get install postgresql)")
        self.programs = programs[-1]
        # Its user must be able to go there.
        self.folder = f"/tmp/planwright-attack-pg-{os.getpid()}-{time.monotonic_ns()}"
        os.makedirs(self.folder)
        if os.getuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
        self.run("initdb", f"--pgdata={self.folder}/data", "--username=planwright", "--auth=trust", "--no-sync")
        self.run("pg_ctl", f"--pgdata={self.folder}/data", f"--log={self.folder}/log", "--wait",
                 f"--options=-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off", "start")
        self.conninfo = f"host={self.folder} user=planwright dbname=postgres"

    def run(self, program, *arguments):
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
        done = subprocess.run([*user, os.path.join(self.programs, program), *arguments], check=False, cwd="/",
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        expect(done.returncode == 0, f"{program} failed")

    def signal(self, number):
        """To the server and all of its children."""
        parent = pathlib.Path(self.folder, "data", "postmaster.pid").read_text(encoding="ascii").split()[0]
        children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
        for process in [parent, *children]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), number)

    def close(self):
        self.signal(signal.SIGCONT)
        self.run("pg_ctl", f"--pgdata={self.folder}/data", "--mode=immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


@attack(15, "a PostgreSQL that hangs")
def frozen_database(arena):
    database = Postgres(arena.folder)
    try:
        server = arena.serve("--cpus=2", f"--store=postgresql:{database.conninfo}")
        stub = server.stub()
        stub.CreatePlan(problem(1, plan_id="kept"), timeout=10)
        with arena.bystander(server):
            database.signal(signal.SIGSTOP)
            failures = []
            end = time.monotonic() + 25
            index = 0
            while time.monotonic() < end:
                index += 1
                try:
                    stub.CreatePlan(problem(100 + index), timeout=3)
                except grpc.RpcError as error:
                    failures.append(reason(error))
                time.sleep(0.05)
            database.signal(signal.SIGCONT)
        expect(not failures, f"{len(failures)} of {index} calls of CreatePlan failed, as with {failures[:1]}")
        until(lambda: stub.GetPlan(service.GetPlanRequest(name="plans/kept"), timeout=20).plan.name == "plans/kept",
              "the database is not used again", 30)
        server.end()
    finally:
        database.close()


# ---- 21: rows that are damaged


@attack(21, "values of other types than their columns")
def wrong_types(arena):
    file = os.path.join(arena.folder, "store.db")
    flags = ("--cpus=2", f"--store=sqlite:{file}")
    server = arena.serve(*flags)
    stub = server.stub()
    stub.CreatePlan(problem(1, plan_id="damaged"), timeout=20)
    stub.SubmitPlan(service.SubmitPlanRequest(plan_request=problem(2), request_id="first"), timeout=20)
    server.end()
    for table, column in (("operations", "attempts"), ("operations", "request"), ("documents", "content"),
                          ("documents", "create_time"), ("schema_version", "version")):
        with contextlib.closing(sqlite3.connect(file)) as database:
            before = database.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            database.execute(f"UPDATE {table} SET {column} = 'wrong'")
            if table == "operations":
                database.execute("UPDATE operations SET state = 1")
            database.commit()
        server = arena.serve(*flags)
        stub = server.stub()
        with contextlib.nullcontext() if table == "schema_version" else arena.bystander(server):
            stub.CreatePlan(problem(10), timeout=20)
            if table != "operations":
                lost = refusal(lambda: stub.GetPlan(service.GetPlanRequest(name="plans/damaged"), timeout=10))
                expect(lost.code() == grpc.StatusCode.DATA_LOSS, f"{table}.{column}: {reason(lost)}")
        # The runner has met them.
        time.sleep(1.5)
        expect(server.is_running(), f"the server ended of {table}.{column}")
        server.end()
        with contextlib.closing(sqlite3.connect(file)) as database:
            for row, value in before:
                database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
            database.commit()


# ---- 24: clocks that leap

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long ahead(void) { const char* text = getenv("ATTACK_CLOCK_AHEAD"); return text ? atol(text) : 0; }
int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += ahead();
  return result;
}
"""


def clock_ahead(arena, seconds):
    """The environment of a process whose clock is so far ahead; its timers go by another one, and stay right."""
    library = os.path.join(arena.folder, "clock.so")
    if not os.path.exists(library):
        source = os.path.join(arena.folder, "clock.c")
        pathlib.Path(source).write_text(SHIM, encoding="ascii")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": library, "ATTACK_CLOCK_AHEAD": str(seconds)}


def rows_of(file, table):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]


@attack(24, "a start with a clock 40 days ahead")
def clock_that_leaps(arena):
    file = os.path.join(arena.folder, "store.db")
    flags = ("--cpus=2", f"--store=sqlite:{file}")
    server = arena.serve(*flags)
    stub = server.stub()
    for index in range(20):
        stub.CreatePlan(problem(index + 1, plan_id=f"plan-{index}"), timeout=20)
    server.end()
    before = rows_of(file, "documents WHERE kind = 1")
    # Without what the store remembers of its clock, as an older release leaves it.
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("DELETE FROM claims")
        database.commit()
    for _ in range(2):
        server = arena.serve(*flags, environment=clock_ahead(arena, 40 * DAY))
        time.sleep(2)
        server.wait_for_log("serving grpc")
        expect(rows_of(file, "documents WHERE kind = 1") == before, "a clock that was wrong has cost plans")
        server.kill()
    server = arena.serve(*flags)
    with arena.bystander(server):
        server.stub().GetPlan(service.GetPlanRequest(name="plans/plan-0"), timeout=5)
    expect(rows_of(file, "documents WHERE kind = 1") == before, "plans are gone")


@attack(24, "a lease from a clock that was an hour ahead")
def lease_of_tomorrow(arena):
    file = os.path.join(arena.folder, "store.db")
    flags = ("--cpus=2", f"--store=sqlite:{file}", "--operation_lease=3s")
    server = arena.serve(*flags, "--max_operations=0")
    request = service.SubmitPlanRequest(plan_request=problem(1))
    name = server.stub().SubmitPlan(request, timeout=20).operation.name
    server.end()
    # As a server leaves it that was killed while its clock was ahead.
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE operations SET state = 2, fence = 1, attempts = 1, lease_end = ?",
                         (int((time.time() + 3600) * 1000),))
        database.commit()
    server = arena.serve(*flags)
    stub = server.stub()
    with arena.bystander(server):
        stub.CancelOperation(service.CancelOperationRequest(name=name), timeout=5)
        state = operations.Operation.State
        ended = (state.STATE_CANCELLED, state.STATE_SUCCEEDED)
        until(lambda: stub.GetOperation(service.GetOperationRequest(name=name), timeout=5).operation.state in ended,
              "the operation of a dead server is not taken over", 15)
