"""Three planwrightd on one PostgreSQL behind a client that goes round them: scale_out_test.py PLANWRIGHTD NEXT_PLANWRIGHTD.

With PLANWRIGHT_FIGURES=1 in the environment one server plans the thousand problems as well, and both are compared.
"""
import collections
import os
import pathlib
import re
import sys
import threading
import time
import unittest

from fleet import Server, Succeeded, connect, grpc, planning_service_pb2, request, sweep, wait_for
from private_postgres import PROGRAMS, PrivatePostgres

if PROGRAMS is None:
    print("skipped: PostgreSQL is not installed (postgresql)")
    sys.exit(77)

DAEMON, NEXT_DAEMON = sys.argv[1:3]
DEVICES = range(1, 9)


class ScaleOutTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.postgres = PrivatePostgres()

    @classmethod
    def tearDownClass(cls):
        cls.postgres.end()

    def setUp(self):
        self.store = self.postgres.make_database()
        self.servers = []
        self.addCleanup(self.end_servers)

    def end_servers(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()

    def start(self, count=1, program=DAEMON, *flags):
        started = [Server(program, self.store, *flags) for _ in range(count)]
        self.servers += started
        return started

    def client(self, servers):
        stub, channel = connect(servers)
        self.addCleanup(channel.close)
        return stub

    def assert_all_planned(self, rows, count):
        self.assertEqual(collections.Counter(row.state for row in rows), {Succeeded: count})
        self.assertEqual(len({row.operation for row in rows}), count)

    def wait_until(self, condition):
        end = time.monotonic() + 100
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def run_sweep(self, servers, micro_batches):
        """Plans a sweep; what it took of the processors' time for each problem, in ms."""
        stub = self.client(servers)
        before = sum(server.cpu_seconds() for server in servers)
        rows = wait_for(stub, sweep(stub, micro_batches, DEVICES, "sweep"))
        self.assert_all_planned(rows, len(micro_batches) * len(DEVICES))
        return (sum(server.cpu_seconds() for server in servers) - before) / len(rows) * 1000

    def test_three_servers_share_a_sweep_of_a_thousand_problems(self):
        servers = self.start(3)
        three = self.run_sweep(servers, range(1, 126))
        searches = [server.metric("planwright_searches_total") for server in servers]
        self.assertEqual(sum(searches), 1000)
        self.assertEqual(sum(server.metric("planwright_failed_searches_total") for server in servers), 0)
        print(f"searches of each server: {[f'{share / 10:.1f} %' for share in searches]}; processor time of a problem: "
              f"{three:.1f} ms")
        # How evenly depends on what else the machine does; the figures are in docs/results.
        self.assertGreater(min(searches), 100)
        if "PLANWRIGHT_FIGURES" in os.environ:
            self.store = self.postgres.make_database()
            one = self.run_sweep(self.start(), range(1, 126))
            print(f"on one server {one:.1f} ms: {three / one:.2f} times")

    def test_calls_go_round_and_equal_ones_are_searched_for_once(self):
        servers = self.start(3)
        stub = self.client(servers)
        for device_count in DEVICES:
            for _ in range(6):
                asked = request()
                asked.problem.devices_to_use.max_devices = device_count
                stub.CreatePlan(asked, timeout=60)
        self.assertEqual(sum(server.metric("planwright_searches_total") for server in servers), len(DEVICES))
        for server in servers:
            self.assertGreaterEqual(server.metric("grpc_server_started_total", 'grpc_method="CreatePlan"'), 6)

    def test_the_environment_says_where_the_database_is(self):
        """As in deploy/kubernetes/production."""
        flag = re.search(r"--store=(\S+)", pathlib.Path("deploy/kubernetes/production/planwrightd-patch.yaml").read_text())[1]
        database = self.store.rpartition("dbname=")[2]
        server = Server(DAEMON, flag, PGHOST=self.postgres.folder, PGUSER="planwright", PGDATABASE=database, PGSSLMODE="disable")
        self.servers.append(server)
        kept = request()
        kept.store, kept.plan_id = True, "kept"
        self.client([server]).CreatePlan(kept, timeout=60)
        self.assertEqual(self.postgres.query(self.store, "SELECT COUNT(*) FROM documents WHERE id = 'kept'"), ["1"])

    def test_a_server_that_is_killed_loses_nothing(self):
        servers = self.start(3)
        stub = self.client(servers)
        operation = sweep(stub, range(1, 51), DEVICES, "sweep")
        self.wait_until(lambda: servers[0].metric("planwright_searches_total") >= 10)
        self.wait_until(lambda: servers[0].metric("planwright_running_operations") == 1)
        servers[0].kill()
        self.assert_all_planned(wait_for(stub, operation), 400)
        # Asked for again by its name, it is not planned again.
        self.assertEqual(sweep(self.client(servers[1:]), range(1, 51), DEVICES, "sweep"), operation)

    def test_a_rolling_upgrade_between_two_schemas_loses_nothing(self):
        old = self.start(3)
        self.assertEqual(self.postgres.query(self.store, "SELECT version FROM schema_version"), ["1"])
        stub = self.client(old)
        kept = request()
        kept.store, kept.plan_id = True, "before"
        plan = stub.CreatePlan(kept, timeout=60).plan
        operation = sweep(stub, range(1, 76), DEVICES, "sweep")
        self.wait_until(lambda: old[0].metric("planwright_searches_total") >= 10)
        failures = []
        calls = self.keep_calling(old, failures)
        new = []
        for server in old:
            # One more, then one less, as production/ says.
            new += self.start(1, NEXT_DAEMON, "--migrate")
            self.assertEqual(self.postgres.query(self.store, "SELECT version FROM schema_version"), ["2"])
            calls.servers = [*new, *[other for other in old if other.process.poll() is None and other is not server]]
            calls.changed.wait(60)
            calls.changed.clear()
            calls.changed.wait(60)
            self.assertEqual(server.stop(), 0)
        calls.end()
        self.assertEqual(failures, [])
        self.assertGreater(calls.count, 10)
        stub = self.client(new)
        self.assert_all_planned(wait_for(stub, operation), 600)
        found = stub.GetPlan(planning_service_pb2.GetPlanRequest(name=plan.name), timeout=60).plan
        self.assertEqual(found.objective_ms, plan.objective_ms)
        # The release before goes on with the new schema: back is as easy.
        back = self.client(self.start())
        self.assertEqual(back.GetPlan(planning_service_pb2.GetPlanRequest(name=plan.name), timeout=60).plan.name, plan.name)

    def keep_calling(self, servers, failures):
        calls = Calls(servers, failures)
        self.addCleanup(calls.end)
        return calls


class Calls(threading.Thread):
    """Asks for one new plan after the other, of the servers that are there. `changed` is set when a call has begun with the
    present ones and ended."""

    def __init__(self, servers, failures):
        super().__init__()
        self.servers, self.failures, self.count = servers, failures, 0
        self.changed, self.is_ending = threading.Event(), False
        self.start()

    def run(self):
        while not self.is_ending:
            stub, channel = connect(self.servers)
            asked = request(cluster=f"zoo:pcie:{2 + self.count % 30}")
            try:
                stub.CreatePlan(asked, timeout=60)
                self.count += 1
            except grpc.RpcError as error:
                self.failures.append(f"{error.code()}: {error.details()}")
            channel.close()
            self.changed.set()

    def end(self):
        self.is_ending = True
        self.join()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
