"""The inventory of pools against a stand-in for the API server and a real planwrightd: inventory_test.py PLANWRIGHTD PLANWRIGHT."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

for tool in ("jq", "curl", "openssl"):
    if shutil.which(tool) is None:
        print(f"skipped: {tool} is not installed")
        sys.exit(77)

from api_server import ApiServer, node

DAEMON, PROGRAM = map(os.path.abspath, sys.argv[1:3])
SCRIPT = os.path.abspath("deploy/kubernetes/inventory.sh")
EXAMPLE = pathlib.Path("docs/examples/kubernetes")
RACK = "cloud.provider.com/topology-rack"
POOL = {"example.com/pool": "h100"}
PATIENCE_SECONDS = 100
# The namespace of the stand-in and the only ConfigMap that it has.
CONFIGMAP = "/api/v1/namespaces/planwright/configmaps/planwright-pools"


def rack(number, nodes=4):
    return {**POOL, RACK: f"rack-{number // nodes}"}


class InventoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        account = cls.folder / "account"
        account.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-keyout", cls.folder / "api.key", "-out", account / "ca.crt", "-subj", "/CN=api", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        (account / "token").write_text("the-token")
        (account / "namespace").write_text("planwright")
        cls.daemon = subprocess.Popen([DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=", "--log_format=json",
                                       f"--store=sqlite:{cls.folder / 'store.db'}"], stderr=subprocess.PIPE, text=True)
        for line in cls.daemon.stderr:
            if json.loads(line).get("message") == "serving grpc":
                cls.service = json.loads(line)["address"]
                break

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.communicate(timeout=PATIENCE_SECONDS)
        cls.scratch.cleanup()

    def setUp(self):
        self.api = ApiServer(self.folder / "account/ca.crt", self.folder / "api.key", "the-token")
        self.addCleanup(self.api.end)

    def run_script(self, settings=EXAMPLE / "inventory.json", code=0, page=500, **environment):
        if isinstance(settings, (dict, list)):
            path = self.folder / "settings.json"
            path.write_text(json.dumps(settings))
            settings = path
        ran = subprocess.run(
            [SCRIPT, settings], capture_output=True, text=True, timeout=PATIENCE_SECONDS,
            env={**os.environ, "PATH": f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}",
                 "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.api.port),
                 "PLANWRIGHT_ACCOUNT": str(self.folder / "account"), "PLANWRIGHT_PAGE": str(page),
                 "PLANWRIGHT_SERVER": self.service, **environment})
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def pools(self):
        return json.loads(self.api.data["pools.yaml"])["pools"]

    def example(self, **changes):
        settings = json.loads((EXAMPLE / "inventory.json").read_text())
        settings["pools"][0].update(changes)
        return settings

    def test_nodes_are_counted_registered_and_written(self):
        others = [node(100 + i, labels={"example.com/pool": "other"}) for i in range(3)]
        self.api.set_nodes([node(i, labels=rack(i)) for i in range(16)] + others)
        said = self.run_script()
        self.assertIn("pool h100: 16 nodes of 8", said)
        self.assertIn("changed: pool h100: new, 16 nodes of 8", said)
        pool = self.pools()[0]
        self.assertEqual((pool["nodes"], pool["devices"]), (16, 8))
        self.assertEqual([level.get("nodes") for level in pool["levels"]], [4, None])
        shown = subprocess.run([PROGRAM, "import", f"--cluster={pool['cluster']}", f"--server={self.service}",
                                "--output=text"], capture_output=True, text=True, check=True).stdout
        self.assertIn("128", shown)
        # The example of the hook's pools is what this inventory counts.
        path = self.folder / "pools.yaml"
        path.write_text(self.api.data["pools.yaml"])
        checked = subprocess.run([PROGRAM, "check", EXAMPLE / "job.yaml", f"--pools_file={path}", "--output=json"],
                                 capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(checked.stdout)[0]["outcome"], "planned")

    def test_nodes_come_and_go_and_what_changed_is_printed(self):
        self.api.set_nodes([node(i, labels=rack(i)) for i in range(16)])
        self.run_script()
        self.assertIn("nothing changed", self.run_script())
        self.api.set_nodes([node(i, labels=rack(i)) for i in range(14)])
        said = self.run_script()
        self.assertIn("changed: pool h100: nodes 16 -> 14", said)
        self.assertIn("changed: pool h100: cluster ", said)
        settings = self.example()
        settings["pools"].append({**settings["pools"][0], "name": "h100-more", "queues": []})
        self.assertIn("changed: pool h100-more: new", self.run_script(settings))
        self.assertIn("changed: pool h100-more: gone", self.run_script())

    def test_nodes_that_take_no_pods_count_and_are_named(self):
        nodes = [node(i, labels=rack(i)) for i in range(12)]
        self.api.set_nodes(nodes + [node(12, labels=rack(12), cordoned=True), node(13, devices=0, labels=rack(13), ready=False),
                                    node(14, devices=7, labels=rack(14))])
        said = self.run_script()
        self.assertIn("pool h100: 15 nodes of 8, 1 cordoned (node-00012), 1 not ready (node-00013), "
                      "2 with fewer (node-00013, node-00014)", said)
        # Hosts of unequal size do not make a large hierarchy, but they do make a matrix.
        self.assertEqual((self.pools()[0]["nodes"], self.pools()[0]["devices"]), (15, 8))

    def test_lists_come_in_pages_and_begin_again_when_they_are_out_of_date(self):
        self.api.set_nodes([node(i, labels=rack(i)) for i in range(10)])
        self.api.expire = 2
        said = self.run_script(page=4)
        self.assertEqual(said.count("it is begun again"), 2)
        self.assertEqual(self.pools()[0]["nodes"], 10)
        self.assertEqual(sum("/nodes" in request for request in self.api.requests), 2 * 2 + 3)
        self.api.expire = 100
        self.assertIn("out of date 5 times", self.run_script(page=4, code=1))

    def test_a_pool_without_nodes_is_written_as_empty(self):
        self.api.set_nodes([node(0, labels={"example.com/pool": "other"})])
        self.run_script()
        self.assertEqual((self.pools()[0]["nodes"], self.pools()[0]["devices"]), (0, 1))
        self.assertNotIn("cluster", self.pools()[0])

    def test_pools_written_by_hand_are_replaced(self):
        self.api.set_nodes([node(i, labels=rack(i)) for i in range(4)])
        self.api.data = {"pools.yaml": (EXAMPLE / "pools.yaml").read_text(), "other": "stays"}
        self.assertIn("pool h100: new", self.run_script())
        self.assertEqual(self.api.data["other"], "stays")

    def test_a_server_that_is_down_leaves_the_pools_without_a_cluster(self):
        self.api.set_nodes([node(i, labels=rack(i)) for i in range(4)])
        self.assertIn("is not registered", self.run_script(PLANWRIGHT_SERVER="127.0.0.1:1"))
        self.assertEqual(self.pools()[0]["nodes"], 4)

    def test_an_api_server_that_refuses_changes_nothing(self):
        self.api.set_nodes([node(i, labels=rack(i)) for i in range(4)])
        for refused in ("GET /api/v1/nodes", f"GET {CONFIGMAP}", f"PATCH {CONFIGMAP}"):
            self.api.refuse = {refused: 403}
            self.assertIn("403, not for you", self.run_script(code=1))
            self.assertIsNone(self.api.data)
        self.api.refuse, self.api.token = {}, "another"
        self.assertIn("401", self.run_script(code=1))
        self.assertIn("does not answer", self.run_script(code=1, KUBERNETES_SERVICE_PORT="1"))

    def test_every_mistake_of_the_settings_is_named(self):
        said = self.run_script({"pools": [{"name": "", "resource": 1, "class": "h100", "nodes": 3, "node_selector": {},
                                           "levels": [{"bandwidth": 4}, {"nodes": 2, "bandwidth": "1 GB/s"}]}, 5],
                                "pool": 1}, code=2)
        for mistake in ("pool: is not a key here", "pools[0].name: must be a text", "pools[0].resource: must be a text",
                        "pools[0].nodes: is counted", "pools[0].node_selector: must be", "pools[0].levels[0].bandwidth",
                        "pools[0].levels[0].label", "pools[0].levels[1].nodes: is counted", "pools[1]: must be a map"):
            self.assertIn(mistake, said)
        self.assertIn("must be a map", self.run_script([], code=2))
        self.assertIn("usage", self.run_script("/nonexistent", code=2))
        self.assertIn("account's token", self.run_script(code=2, PLANWRIGHT_ACCOUNT="/nonexistent"))
        # What the hook itself would refuse.
        self.api.set_nodes([node(0, labels=rack(0))])
        self.assertIn("must be a known class", self.run_script(self.example(**{"class": "h1000"}), code=2))
        self.assertIsNone(self.api.data)

    def test_five_thousand_nodes(self):
        self.api.set_nodes([node(i, devices=8 if i % 5 else 4, labels={**rack(i // 5), "example.com/pool": f"p{i % 5}"},
                                 cordoned=i % 100 == 0) for i in range(5000)])
        settings = {"pools": [{**self.example()["pools"][0], "name": f"p{i}", "node_selector": {"example.com/pool": f"p{i}"},
                               "queues": []} for i in range(5)]}
        begin = time.monotonic()
        said = self.run_script(settings)
        seconds = time.monotonic() - begin
        mebibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        size = sum(map(len, self.api.nodes)) / len(self.api.nodes)
        print(f"5,000 nodes of {size:.0f} bytes: {seconds:.1f} s, {mebibytes:.0f} MiB in the largest process")
        self.assertEqual([pool["nodes"] for pool in self.pools()], [1000] * 5, said)
        self.assertTrue(all("cluster" in pool for pool in self.pools()), said)
        self.assertLess(mebibytes, 512)
        self.assertLess(len(self.api.data["pools.yaml"]), 10_000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
