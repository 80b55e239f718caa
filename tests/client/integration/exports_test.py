"""Reads every export of a real plan back with readers that share nothing with the writers.

Usage: exports_test.py PLANWRIGHT

Plans by hand: one stage for each run of layers, so that the expected exports are known. The readers follow what the
targets document: Megatron-LM's two expansions, TOML, comma-separated counts, "HOST slots=N" lines, Graphviz itself.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
import xml.etree.ElementTree
from pathlib import Path

PLANWRIGHT = sys.argv.pop(1)
GRAPH = "zoo:transformer?layers=6&hidden=256&heads=4&vocab=1000&sequence=128"
CLUSTER = "zoo:pcie:4"
# Numbered layers of each of the three stages.
LAYERS = [range(0, 1), range(1, 4), range(4, 6)]


def run(*arguments, code=0):
    """Standard output of the program; its standard error where another exit code is expected."""
    done = subprocess.run([PLANWRIGHT, *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}, wanted {code}\n{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def expand_megatron(layout):
    """The stages of a layout string, by the two passes that Megatron-LM documents."""
    layout = layout.replace(",", "")
    layout = re.sub(r"\(([^)]+)\)\*(\d+)", lambda match: match[1] * int(match[2]), layout)
    layout = re.sub(r"(.)\*(\d+)", lambda match: match[1] * int(match[2]), layout)
    return layout.split("|")


class ExportsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        request = json.loads(run("import", f"--graph={GRAPH}", f"--cluster={CLUSTER}"))
        cls.operators = request["graph"]["operators"]
        cls.devices = [device for device in request["cluster"]["devices"] if "gpu" in device["name"]]
        cls.plan_file = str(Path(cls.folder.name) / "plan.json")
        Path(cls.plan_file).write_text(json.dumps(cls.make_plan()), encoding="utf-8")

    @classmethod
    def make_plan(cls):
        """A plan whose numbers the service computed from stages written here."""
        stages = [{"operators": [], "replicas": [{"device": cls.devices[i]["name"]}]} for i in range(len(LAYERS))]
        for op in cls.operators:
            stages[cls.stage_of(op)]["operators"].append(op["name"])
        bare = Path(cls.folder.name) / "stages.json"
        bare.write_text(json.dumps({"stages": stages}), encoding="utf-8")
        judged = run("evaluate", f"--graph={GRAPH}", f"--cluster={CLUSTER}", f"--plan={bare}", "--workload=inference",
                     "--output=json")
        return json.loads(judged)["plan"]

    @staticmethod
    def stage_of(op):
        layer = op.get("layer", "")
        if layer.startswith("layer."):
            return next(i for i, numbers in enumerate(LAYERS) if int(layer[6:]) in numbers)
        return len(LAYERS) - 1 if layer in ("head", "loss") else 0

    def export(self, target, *flags):
        return run("export", f"--plan={self.plan_file}", f"--to={target}", *flags)

    def test_megatron_layout_expands_to_the_stages(self):
        stages = expand_megatron(self.export("megatron", f"--graph={GRAPH}").strip())
        self.assertEqual([stage.count("t") for stage in stages], [len(numbers) for numbers in LAYERS])
        flat = "".join(stages)
        self.assertEqual((flat[0], flat[-1], flat.count("E"), flat.count("L")), ("E", "L", 1, 1))

    def test_torchtitan_modules_are_the_layers_of_the_stages(self):
        settings = tomllib.loads(self.export("torchtitan", f"--graph={GRAPH}"))["parallelism"]
        parts = settings["module_fqns_per_model_part"]
        self.assertEqual(settings["pipeline_parallel_degree"], len(LAYERS))
        layers = [[int(name.removeprefix("layers.")) for name in part if name.startswith("layers.")] for part in parts]
        self.assertEqual(layers, [list(numbers) for numbers in LAYERS])
        self.assertEqual(parts[0][0], "tok_embeddings")
        self.assertEqual(parts[-1][-2:], ["norm", "output"])

    def test_vllm_partition_counts_the_layers(self):
        counts = [int(count) for count in self.export("vllm", f"--graph={GRAPH}").split(",")]
        self.assertEqual(counts, [len(numbers) for numbers in LAYERS])

    def test_hostfile_has_a_slot_for_each_rank(self):
        slots = {}
        for line in self.export("hostfile", f"--cluster={CLUSTER}").splitlines():
            host, count = re.fullmatch(r"(\S+) slots=(\d+)", line).groups()
            slots[host] = int(count)
        self.assertEqual(slots, {self.devices[0]["host"]: len(LAYERS)})

    def test_dot_is_a_graph_that_graphviz_draws(self):
        dot = self.export("dot", f"--graph={GRAPH}")
        drawn = subprocess.run(["dot", "-Tjson"], input=dot, capture_output=True, text=True, timeout=60, check=True)
        objects = json.loads(drawn.stdout)["objects"]
        clusters = [item for item in objects if item["name"].startswith("cluster_")]
        self.assertEqual(len(clusters), len(LAYERS))
        self.assertEqual(sum(len(cluster["nodes"]) for cluster in clusters), len(self.operators))

    def test_svg_has_a_bar_for_each_device_in_use(self):
        root = xml.etree.ElementTree.fromstring(self.export("svg"))
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual([title.split(":")[0] for title in titles],
                         [device["name"] for device in self.devices[:len(LAYERS)]])

    def test_json_is_the_plan_and_is_judged_valid(self):
        text = self.export("json")
        self.assertEqual(json.loads(text), self.make_plan())
        copy = Path(self.folder.name) / "copy.json"
        copy.write_text(text, encoding="utf-8")
        run("evaluate", f"--graph={GRAPH}", f"--cluster={CLUSTER}", f"--plan={copy}")

    @unittest.skipUnless(shutil.which("cbc"), "the cbc program is not installed (Debian: coinor-cbc)")
    def test_the_integer_program_has_the_optimum_of_the_plan(self):
        problem = ["--graph=zoo:gnmt", "--cluster=zoo:pcie:2", "--split=non_contiguous"]
        plan = json.loads(run("plan", *problem, "--output=json"))
        self.assertTrue(plan["provenance"]["proven_optimal"])
        for target in ("lp", "mps"):
            file = Path(self.folder.name) / f"program.{target}"
            file.write_text(run("export", "--problem", f"--to={target}", *problem), encoding="utf-8")
            unit_ms = float(re.search(r"1 of the objective is (\S+) ms", file.read_text(encoding="utf-8"))[1])
            done = subprocess.run(["cbc", str(file), "sec", "60", "solve", "quit"], capture_output=True, text=True,
                                  timeout=120, check=True)
            self.assertIn("Optimal solution found", done.stdout)
            objective = float(re.search(r"Objective value:\s+(\S+)", done.stdout)[1])
            self.assertAlmostEqual(objective * unit_ms / plan["objective_ms"], 1, places=4)

    def test_what_a_target_cannot_express_is_refused_with_the_reason(self):
        plan = self.make_plan()
        plan["stages"][1]["operators"].append(plan["stages"][0]["operators"].pop())
        spoilt = Path(self.folder.name) / "spoilt.json"
        spoilt.write_text(json.dumps(plan), encoding="utf-8")
        error = run("export", f"--plan={spoilt}", "--to=megatron", f"--graph={GRAPH}", code=2)
        self.assertIn("megatron cannot express this plan: layer layer.0 is split between the stages 0 and 1", error)

    def test_an_unknown_target_is_named_with_the_closest_one(self):
        error = run("export", f"--plan={self.plan_file}", "--to=megatrom", code=2)
        self.assertIn("did you mean megatron?", error)


if __name__ == "__main__":
    unittest.main()
