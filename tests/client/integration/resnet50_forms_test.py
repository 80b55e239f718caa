"""One profile of ResNet-50, as PipeDream, Piper and device-placement write it, is one graph: resnet50_forms_test.py PLANWRIGHT."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
WORKLOADS = pathlib.Path(os.environ.get("PLANWRIGHT_SHARED_DIR", "../shared")) / "workloads"
PIPEDREAM = WORKLOADS / "pipedream/resnet50.graph.txt"
PIPER = WORKLOADS / "piper/resnet.json"
DEVICE_PLACEMENT = WORKLOADS / "device-placement/throughput/layer_resnet50_training.json"
CLASS = "v100-pcie-16gb"
# The time of loading data.
INPUT, INPUT_MS, ALL_MS = "node1", 18.962, 462.381


def run(*flags):
    return json.loads(subprocess.run([PROGRAM, *map(str, flags), "--output=json"], check=True, capture_output=True,
                                     text=True).stdout)


def imported(file, *flags):
    return run("import", f"--graph={file}", "--cluster=zoo:pcie:2", *flags)["graph"]


def node_of(op):
    """What PipeDream calls it; the other two number their nodes and have that as the type."""
    return op["name"] if op["name"].startswith("node") else op["type"]


def times(graph):
    """Milliseconds of the forward and of the backward pass, by node."""
    found = {}
    for op in graph["operators"]:
        cost = next((cost for cost in op.get("costs", []) if cost["device_class"] == CLASS), {})
        forward, backward = cost.get("forward_ms", 0), cost.get("backward_ms", 0)
        node = node_of(op)
        is_gradient = node.endswith("grad")
        known = found.setdefault(node.removesuffix("grad"), [0, 0])
        known[0] += 0 if is_gradient else forward
        known[1] += forward if is_gradient else backward
    return found


def tensors(graph):
    """(bytes, nodes that read it), by node; those of the forward pass."""
    names = {op["name"]: node_of(op) for op in graph["operators"]}
    return {names[one["producer"]]: (int(one["size_bytes"]), sorted(names[reader] for reader in one["consumers"]))
            for one in graph["tensors"] if not names[one["producer"]].endswith("grad")}


class FormsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pipedream = imported(PIPEDREAM)
        cls.piper = imported(PIPER, "--time_unit=ms")
        cls.device_placement = imported(DEVICE_PLACEMENT)

    def assert_times_equal(self, ours, theirs):
        self.assertEqual(ours.keys(), theirs.keys())
        for node, pair in ours.items():
            for mine, other in zip(pair, theirs[node]):
                self.assertAlmostEqual(mine, other, 9, node)

    def test_node_times_are_equal(self):
        ours, piper, placement = times(self.pipedream), times(self.piper), times(self.device_placement)
        self.assertEqual(len(ours), 177)
        for theirs in (piper, placement):
            self.assertAlmostEqual(sum(map(sum, theirs.values())), ALL_MS, 9)
            self.assertAlmostEqual(sum(theirs[INPUT]), INPUT_MS, 9)
        # Loading data is no work of the model's.
        self.assertAlmostEqual(sum(map(sum, ours.values())), ALL_MS - INPUT_MS, 9)
        self.assert_times_equal(piper, placement)
        self.assert_times_equal({**ours, INPUT: piper[INPUT]}, piper)

    def test_tensors_and_parameters_are_equal(self):
        self.assertEqual(tensors(self.pipedream), tensors(self.piper))
        self.assertEqual(tensors(self.pipedream), tensors(self.device_placement))
        parameters = [{node_of(op): int(op.get("parameter_bytes", 0)) for op in graph["operators"]}
                      for graph in (self.pipedream, self.piper)]
        self.assertEqual(*parameters)

    def test_plans_are_equal_where_the_forms_are(self):
        """Transfers of device-placement have times of their own; the other two agree but for loading data."""
        for op in self.piper["operators"]:
            if node_of(op) == INPUT:
                for cost in op["costs"]:
                    cost.update(forward_ms=0, backward_ms=0)
        stages = []
        with tempfile.TemporaryDirectory() as folder:
            for name, graph in (("pipedream", self.pipedream), ("piper", self.piper)):
                file = pathlib.Path(folder) / f"{name}.json"
                file.write_text(json.dumps(graph))
                plan = run("plan", f"--graph={file}", "--cluster=zoo:pcie:4", "--workload=training")
                names = {op["name"]: node_of(op) for op in graph["operators"]}
                stages.append((round(plan["objective_ms"], 6), round(plan["lower_bound_ms"], 6),
                               [sorted(names[op] for op in stage["operators"]) for stage in plan["stages"]]))
        self.assertEqual(stages[0][:2], stages[1][:2])
        self.assertEqual(stages[0][2], stages[1][2])


for needed in (PIPEDREAM, PIPER, DEVICE_PLACEMENT):
    if not needed.exists():
        print(f"skipped: {needed} is not there")
        sys.exit(77)
unittest.main(argv=sys.argv[:1])
