"""Reads every export of a real plan back with readers that share nothing with the writers.

Usage: exports_test.py PLANWRIGHT

Plans by hand: one stage for each run of layers, so that the expected exports are known. The readers follow what the
targets document: Megatron-LM's two expansions, Python's own parser, TOML, CSV, comma-separated counts, "HOST slots=N"
lines, Graphviz itself.
"""

import argparse
import ast
import csv
import json
import re
import shlex
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
        Path(cls.plan_file).write_text(json.dumps(cls.make_plan("inference")), encoding="utf-8")
        cls.training_file = str(Path(cls.folder.name) / "training.json")
        Path(cls.training_file).write_text(json.dumps(cls.make_plan("training")), encoding="utf-8")

    @classmethod
    def make_plan(cls, workload):
        """A plan whose numbers the service computed from stages written here."""
        stages = [{"operators": [], "replicas": [{"device": cls.devices[i]["name"]}]} for i in range(len(LAYERS))]
        for op in cls.operators:
            stages[cls.stage_of(op)]["operators"].append(op["name"])
        bare = Path(cls.folder.name) / "stages.json"
        bare.write_text(json.dumps({"stages": stages}), encoding="utf-8")
        judged = run("evaluate", f"--graph={GRAPH}", f"--cluster={CLUSTER}", f"--plan={bare}", f"--workload={workload}",
                     "--output=json")
        return json.loads(judged)["plan"]

    @staticmethod
    def stage_of(op):
        layer = op.get("layer", "")
        if layer.startswith("layer."):
            return next(i for i, numbers in enumerate(LAYERS) if int(layer[6:]) in numbers)
        return len(LAYERS) - 1 if layer in ("head", "loss") else 0

    def export(self, target, *flags):
        file = self.training_file if target in ("megatron", "torchtitan", "torchtitan_toml", "deepspeed") else self.plan_file
        return run("export", f"--plan={file}", f"--to={target}", *flags)

    def test_megatron_arguments_expand_to_the_stages(self):
        parser = argparse.ArgumentParser()
        for name in ("num-layers", "pipeline-model-parallel-size", "micro-batch-size"):
            parser.add_argument(f"--{name}", type=int)
        parser.add_argument("--pipeline-model-parallel-layout")
        given = parser.parse_args(shlex.split(self.export("megatron", f"--graph={GRAPH}")))
        stages = expand_megatron(given.pipeline_model_parallel_layout)
        self.assertEqual([stage.count("t") for stage in stages], [len(numbers) for numbers in LAYERS])
        flat = "".join(stages)
        self.assertEqual((flat[0], flat[-1], flat.count("E"), flat.count("L")), ("E", "L", 1, 1))
        self.assertEqual((given.num_layers, given.pipeline_model_parallel_size), (6, len(LAYERS)))
        self.assertEqual(given.micro_batch_size, 1)

    def test_a_folded_layout_expands_to_the_stages(self):
        graph = "zoo:transformer?layers=14&hidden=256&heads=4&vocab=1000&sequence=128"
        plan = Path(self.folder.name) / "folded.json"
        run("plan", f"--graph={graph}", "--cluster=zoo:dgx1-v100:1", "--runnable_on=megatron", f"--save={plan}",
            "--output_file=/dev/null")
        layout = shlex.split(run("export", f"--plan={plan}", "--to=megatron", f"--graph={graph}"))[5]
        stages = json.loads(plan.read_text(encoding="utf-8"))["stages"]
        layers = [len({name.split("/")[0] for name in stage["operators"] if name.startswith("layer.")})
                  for stage in stages]
        self.assertEqual([stage.count("t") for stage in expand_megatron(layout)], layers)

    def check_torchtitan(self, settings, parts, head):
        self.assertEqual(settings["pipeline_parallel_degree"], len(LAYERS))
        layers = [[int(name.removeprefix("layers.")) for name in part if name.startswith("layers.")] for part in parts]
        self.assertEqual(layers, [list(numbers) for numbers in LAYERS])
        self.assertEqual(parts[0][0], "tok_embeddings")
        self.assertEqual(parts[-1][-2:], ["norm", head])

    def test_torchtitan_modules_are_the_layers_of_the_stages(self):
        assigned = ast.parse(self.export("torchtitan", f"--graph={GRAPH}")).body[0]
        self.assertEqual(assigned.targets[0].id, "parallelism")
        settings = {word.arg: ast.literal_eval(word.value) for word in assigned.value.keywords}
        self.check_torchtitan(settings, settings["pipeline_parallel_module_fqns_per_model_part"], "lm_head")
        settings = tomllib.loads(self.export("torchtitan_toml", f"--graph={GRAPH}"))["parallelism"]
        self.check_torchtitan(settings, settings["module_fqns_per_model_part"], "output")

    def test_deepspeed_sets_the_boundaries_of_the_stages(self):
        module = ast.parse(self.export("deepspeed", f"--graph={GRAPH}", "--layer_offset=2"))
        planned = next(node for node in module.body if isinstance(node, ast.ClassDef))
        self.assertEqual(planned.bases[0].id, "PipelineModule")
        values = {node.targets[0].id: node.value for node in planned.body if isinstance(node, ast.Assign)}
        self.assertEqual(ast.literal_eval(values["BOUNDARIES"]), [0] + [numbers.start + 2 for numbers in LAYERS[1:]])
        # What it does on each rank, with a base class of ours in place of DeepSpeed's.
        bounds = {}

        class PipelineModule:
            def __init__(self, rank, layers):
                self.global_rank, self._layer_specs, self._topo = rank, [None] * layers, self

            def get_coord(self, rank):
                return argparse.Namespace(pipe=rank)

            def _set_bounds(self, start, stop):
                bounds[self.global_rank] = (start, stop)

        scope = {"PipelineModule": PipelineModule}
        exec(compile(ast.Module([planned], []), "deepspeed", "exec"), scope)
        for rank in range(len(LAYERS)):
            scope["PlannedPipelineModule"](rank, 10)._partition_layers()
        self.assertEqual(bounds, {0: (0, 3), 1: (3, 6), 2: (6, 10)})

    def test_torch_pipelining_splits_before_the_stages(self):
        assigned = ast.parse(self.export("torch_pipelining", f"--graph={GRAPH}")).body[-1]
        names = [ast.literal_eval(key) for key in assigned.value.keys]
        self.assertEqual(names, [f"layers.{numbers.start}" for numbers in LAYERS[1:]])

    def test_schedule_csv_has_every_pass_after_what_it_waits_for(self):
        plan = self.make_plan("inference")
        plan["problem"].update({"workload": "WORKLOAD_TRAINING", "micro_batches": 5})
        file = Path(self.folder.name) / "steps.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        rows = list(csv.reader(run("export", f"--plan={file}", "--to=schedule_csv").splitlines()))
        slot = {cell: time for row in rows for time, cell in enumerate(row) if cell}
        self.assertEqual(len(slot), 2 * 5 * len(LAYERS))
        for stage, row in enumerate(rows):
            self.assertTrue(all(int(cell[0]) == stage for cell in row if cell))
        for batch in range(5):
            for stage in range(len(LAYERS)):
                self.assertLess(slot[f"{stage}F{batch}"], slot[f"{stage}B{batch}"])
                if stage > 0:
                    self.assertLess(slot[f"{stage - 1}F{batch}"], slot[f"{stage}F{batch}"])
                    self.assertLess(slot[f"{stage}B{batch}"], slot[f"{stage - 1}B{batch}"])

    def test_rank_files_name_the_host_of_each_rank(self):
        host = self.devices[0]["host"]
        lines = self.export("rankfile", f"--cluster={CLUSTER}").splitlines()
        self.assertEqual([re.fullmatch(r"rank (\d+)=(\S+) slot=(\d+)", line).groups() for line in lines],
                         [(str(rank), host, str(rank)) for rank in range(len(LAYERS))])
        self.assertEqual(self.export("slurm_hostfile", f"--cluster={CLUSTER}").split(), [host] * len(LAYERS))

    def test_kubernetes_patch_names_the_hosts(self):
        lines = [line for line in self.export("kubernetes", f"--cluster={CLUSTER}").splitlines()
                 if not line.startswith("#")]
        # Of YAML it has maps, which are indented, and lists of one kind.
        keys = [line.strip(" -").split(":")[0] for line in lines if ":" in line]
        self.assertEqual(keys, ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                                "nodeSelectorTerms", "matchExpressions", "key", "operator", "values"])
        self.assertEqual([json.loads(line.strip(" -")) for line in lines if '"' in line], [self.devices[0]["host"]])

    def test_pipedream_and_piper_read_their_own_stages(self):
        folder = Path(self.folder.name)
        costs = "forward_compute_time=1, backward_compute_time=2, activation_size=8.0, parameter_size=4.0"
        graph = folder / "graph.txt"
        graph.write_text("".join(f"node{i} -- Linear -- {costs}\n" for i in range(1, 7)) +
                         "".join(f"\tnode{i} -- node{i + 1}\n" for i in range(1, 6)), encoding="utf-8")
        plan = folder / "pipedream.json"
        run("plan", f"--graph={graph}", "--cluster=zoo:dgx1-v100:1?devices=3", f"--save={plan}",
            "--output_file=/dev/null")
        stages = json.loads(plan.read_text(encoding="utf-8"))["stages"]
        wanted = {name: stage.get("index", 0) for stage in stages for name in stage["operators"]}
        text = run("export", f"--plan={plan}", "--to=pipedream", f"--graph={graph}",
                   "--cluster=zoo:dgx1-v100:1?devices=3")
        line = r"(node\d+) -- (.*) -- forward_compute_time=([\d.]+), backward_compute_time=([\d.]+), " \
               r"activation_size=([\d.]+), parameter_size=([\d.]+) -- stage_id=(\d+)"
        nodes = [match for match in map(re.compile(line).fullmatch, text.splitlines()) if match]
        self.assertEqual({match[1]: int(match[7]) for match in nodes}, wanted)
        self.assertEqual(text.count("\t"), 5)
        self.assertEqual({(float(match[3]), float(match[4])) for match in nodes}, {(1.0, 2.0)})
        ids = {"stages": [{"operators": ["3", "7"], "replicas": [{"device": "a"}, {"device": "b"}]}]}
        (folder / "ids.json").write_text(json.dumps(ids), encoding="utf-8")
        piper = json.loads(run("export", f"--plan={folder / 'ids.json'}", "--to=piper"))
        self.assertEqual(piper, {"stages": [{"nodes": [3, 7], "dataParallelDegree": 2, "tensorParallelDegree": 1,
                                             "TMPCids": [[3, "vanilla"], [7, "vanilla"]]}]})

    def test_vllm_partition_counts_the_layers(self):
        counts = [int(count) for count in self.export("vllm", f"--graph={GRAPH}").split(",")]
        self.assertEqual(counts, [len(numbers) for numbers in LAYERS])

    def test_accelerate_maps_every_module_to_a_device(self):
        plan = str(Path(self.folder.name) / "serving.json")
        run("plan", f"--graph={GRAPH}", f"--cluster={CLUSTER}", "--workload=inference", "--granularity=layer",
            "--exclude=host0/cpu0", f"--save={plan}")
        devices = json.loads(run("export", f"--plan={plan}", "--to=accelerate", f"--graph={GRAPH}",
                                 f"--cluster={CLUSTER}"))
        self.assertEqual(list(devices), ["model.embed_tokens", *(f"model.layers.{i}" for i in range(6)), "model.norm",
                                         "lm_head"])
        stages = json.loads(Path(plan).read_text(encoding="utf-8"))["stages"]
        used = [int(stage["replicas"][0]["device"].removeprefix("host0/gpu")) for stage in stages]
        self.assertEqual(list(dict.fromkeys(devices.values())), used)
        run("plan", f"--graph={GRAPH}", f"--cluster={CLUSTER}", "--granularity=layer", f"--save={plan}")
        error = run("export", f"--plan={plan}", "--to=accelerate", f"--graph={GRAPH}", f"--cluster={CLUSTER}", code=2)
        self.assertIn("it is for training", error)

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
        # More operators than a page shows: a box for each layer.
        layers = {op.get("layer", "") for op in self.operators}
        self.assertGreater(len(self.operators), 60)
        self.assertEqual(sum(len(cluster["nodes"]) for cluster in clusters), len(layers))

    def test_svg_has_a_bar_for_each_device_in_use(self):
        root = xml.etree.ElementTree.fromstring(self.export("svg"))
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual([title.split(":")[0] for title in titles],
                         [device["name"] for device in self.devices[:len(LAYERS)]])

    def test_json_is_the_plan_and_is_judged_valid(self):
        text = self.export("json")
        self.assertEqual(json.loads(text), self.make_plan("inference"))
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
        error = run("export", f"--plan={self.plan_file}", "--to=megatron", f"--graph={GRAPH}", code=2)
        self.assertIn("megatron cannot express this plan: it is for inference; plan with --workload=training", error)
        plan = self.make_plan("training")
        plan["stages"][1]["operators"].append(plan["stages"][0]["operators"].pop())
        spoilt = Path(self.folder.name) / "spoilt.json"
        spoilt.write_text(json.dumps(plan), encoding="utf-8")
        error = run("export", f"--plan={spoilt}", "--to=megatron", f"--graph={GRAPH}", code=2)
        self.assertIn("megatron cannot express this plan: layer layer.0 is split between the stages 0 and 1", error)

    def test_runnable_on_refuses_what_contradicts_it(self):
        problem = [f"--graph={GRAPH}", f"--cluster={CLUSTER}"]
        for target, flag in (("megatron", "--granularity=operator"), ("deepspeed", "--replication=per_stage"),
                             ("torchtitan", "--split=non_contiguous"), ("vllm", "--workload=training")):
            error = run("plan", *problem, f"--runnable_on={target}", flag, code=2)
            self.assertIn(f"--runnable_on={target} and {flag} contradict", error)
        error = run("plan", "--graph=zoo:resnet50", f"--cluster={CLUSTER}", "--runnable_on=megatron", code=2)
        self.assertIn("megatron cannot express this plan", error)
        error = run("plan", *problem, "--runnable_on=hostfile", code=2)
        self.assertIn("runs no pipelines of layers", error)

    def test_runnable_on_plans_what_the_target_expresses(self):
        file = Path(self.folder.name) / "runnable.json"
        for target in ("megatron", "torchtitan", "torch_pipelining", "deepspeed", "vllm"):
            run("plan", f"--graph={GRAPH}", f"--cluster={CLUSTER}", f"--runnable_on={target}", f"--save={file}",
                "--output_file=/dev/null")
            run("export", f"--plan={file}", f"--to={target}", f"--graph={GRAPH}")
            devices = {replica["device"] for stage in json.loads(file.read_text(encoding="utf-8"))["stages"]
                       for replica in stage["replicas"]}
            self.assertTrue(all("gpu" in device for device in devices))

    def test_what_a_trainer_runs_is_read_back_as_the_same_stages(self):
        wanted = [stage["operators"] for stage in self.make_plan("inference")["stages"]]
        for target in ("megatron", "torchtitan", "torchtitan_toml", "vllm"):
            file = Path(self.folder.name) / "stated"
            file.write_text(self.export(target, f"--graph={GRAPH}"), encoding="utf-8")
            judged = json.loads(run("evaluate", f"--graph={GRAPH}", f"--cluster={CLUSTER}", f"--plan={file}",
                                    "--workload=inference", "--output=json"))
            self.assertEqual([stage["operators"] for stage in judged["plan"]["stages"]], wanted, target)

    def test_an_unknown_target_is_named_with_the_closest_one(self):
        error = run("export", f"--plan={self.plan_file}", "--to=megatrom", code=2)
        self.assertIn("did you mean megatron?", error)


if __name__ == "__main__":
    unittest.main()
