"""Reads exports of real plans of the joint search back with readers that share nothing with the writers.

Usage: joint_exports_test.py PLANWRIGHT

The readers follow what the targets document: Megatron-LM's argument parser, its two expansions of a layout and its
rules for recomputation, Python's own parser, TOML, and the order of ranks tensor, context, data, pipeline.
"""

import argparse
import ast
import csv
import json
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import unittest
import xml.etree.ElementTree
from pathlib import Path

PLANWRIGHT = sys.argv.pop(1)
# Not so many layers that stages are alike.
MODEL = "zoo:transformer?kind=llama&layers=14&hidden=1024&heads=16&kv_heads=8&ffn=2816&vocab=32000&sequence=2048"
CLUSTER = "zoo:dgx-a100:2?devices=4"
# Degrees and sharding that both trainers run.
PIPELINE = ["--stages=4", "--tensor_degrees=2", "--data_degrees=1", "--samples=1", "--schedule=one_f_one_b",
            "--layer_recomputation=none", "--optimizer_sharding=optimizer"]
COUNTS = ["num-layers", "hidden-size", "ffn-hidden-size", "num-attention-heads", "kv-channels", "num-query-groups",
          "seq-length", "max-position-embeddings", "vocab-size", "tensor-model-parallel-size",
          "pipeline-model-parallel-size", "context-parallel-size", "expert-model-parallel-size",
          "expert-tensor-parallel-size", "num-experts", "moe-router-topk", "moe-ffn-hidden-size",
          "moe-shared-expert-intermediate-size", "q-lora-rank", "kv-lora-rank", "qk-head-dim", "qk-pos-emb-head-dim",
          "v-head-dim", "micro-batch-size", "global-batch-size", "recompute-num-layers",
          "num-layers-per-virtual-pipeline-stage"]
WORDS = ["pipeline-model-parallel-layout", "attention-backend", "position-embedding-type", "recompute-granularity",
         "recompute-method", "moe-layer-freq", "moe-token-dispatcher-type", "attention-dropout", "hidden-dropout",
         "fp8-format", "data-parallel-sharding-strategy", "ckpt-format"]
SWITCHES = ["sequence-parallel", "group-query-attention", "swiglu", "untie-embeddings-and-output-weights", "bf16",
            "use-distributed-optimizer", "overlap-grad-reduce", "overlap-param-gather", "multi-latent-attention",
            "moe-grouped-gemm", "moe-router-pre-softmax", "disable-bias-linear", "use-megatron-fsdp",
            "no-gradient-accumulation-fusion"]


def run(*arguments, code=0):
    """Standard output of the program; its standard error where another exit code is expected."""
    done = subprocess.run([PLANWRIGHT, *arguments], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}, wanted {code}\n{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def megatron_arguments(line):
    """A command line as Megatron-LM's parser takes it; what it does not know is an error."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in COUNTS:
        parser.add_argument(f"--{name}", type=int)
    for name in WORDS:
        parser.add_argument(f"--{name}")
    for name in SWITCHES:
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args(shlex.split(line))


def expand_layout(layout):
    layout = re.sub(r"\(([^)]+)\)\*(\d+)", lambda match: match[1] * int(match[2]), layout.replace(",", ""))
    layout = re.sub(r"(.)\*(\d+)", lambda match: match[1] * int(match[2]), layout)
    return layout.split("|")


def megatron_runs(given):
    """Layers of each run, in the order of the model."""
    if given.pipeline_model_parallel_layout:
        runs = expand_layout(given.pipeline_model_parallel_layout)
        flat = "".join(runs)
        assert (flat[0], flat[-1], flat.count("E"), flat.count("L")) == ("E", "L", 1, 1), flat
        return [run.count("t") for run in runs]
    each = given.num_layers_per_virtual_pipeline_stage
    parts = given.num_layers // each if each else given.pipeline_model_parallel_size
    assert given.num_layers % parts == 0
    return [given.num_layers // parts] * parts


def megatron_recomputes(given, layers):
    """What a run of so many layers computes again: a letter for each."""
    if given.recompute_granularity == "selective":
        return "S" * layers
    if given.recompute_granularity is None:
        return "N" * layers
    count = layers if given.recompute_method == "uniform" else min(layers, given.recompute_num_layers)
    return "F" * count + "N" * (layers - count)


def runs_of(plan):
    """(layers, recomputed letters) of each run of a plan, in the order of the model, without embedding and head."""
    stages = plan["stages"]
    runs = []
    for chunk in range(plan["joint"]["chunks_per_stage"]):
        for stage in stages:
            run_ = stage["joint"]["chunks"][chunk]
            kinds = [kind.removeprefix("LAYER_RECOMPUTATION_")[0]
                     for layer, kind in zip(run_["layers"], run_["recomputation"]) if layer.startswith("layer.")]
            runs.append((len(kinds), "".join(kinds)))
    return runs


class JointExportsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def plan(self, *flags, model=MODEL, cluster=CLUSTER, batch=64):
        self.file = str(Path(self.folder.name) / f"{self.id()}.json")
        run("plan", f"--graph={model}", f"--cluster={cluster}", f"--global_batch={batch}", *flags,
            f"--save={self.file}", "--output_file=/dev/null")
        self.model, self.cluster = model, cluster
        return json.loads(Path(self.file).read_text(encoding="utf-8"))

    def export(self, target, code=0):
        return run("export", f"--plan={self.file}", f"--to={target}", f"--graph={self.model}",
                   f"--cluster={self.cluster}", code=code)

    def check_megatron(self, plan):
        given = megatron_arguments(self.export("megatron"))
        joint = plan["joint"]
        degrees = plan["stages"][0]["joint"]
        self.assertEqual(given.tensor_model_parallel_size, degrees["tensor_degree"])
        self.assertEqual(given.sequence_parallel, degrees["tensor_degree"] > 1)
        self.assertEqual(given.context_parallel_size or 1, degrees["context_degree"])
        self.assertEqual(given.pipeline_model_parallel_size, len(plan["stages"]))
        self.assertEqual(given.micro_batch_size, int(joint["micro_batch_samples"]))
        self.assertEqual(given.global_batch_size, int(plan["problem"]["joint"]["global_batch"]))
        processes = sum(len(stage["replicas"]) for stage in plan["stages"])
        data = processes // (given.tensor_model_parallel_size * (given.context_parallel_size or 1) *
                             given.pipeline_model_parallel_size)
        self.assertEqual(given.global_batch_size, given.micro_batch_size * data * int(joint["micro_batches"]))
        # As it validates its arguments.
        self.assertTrue(not given.overlap_param_gather or
                        (given.use_distributed_optimizer and given.overlap_grad_reduce))
        if given.num_experts:
            self.assertTrue(given.disable_bias_linear)
            self.assertTrue(given.moe_router_topk > 1 or given.moe_router_pre_softmax)
        self.assertIsNotNone(given.kv_channels)
        self.assertFalse(given.multi_latent_attention and given.attention_backend == "flash")
        runs = [(count, megatron_recomputes(given, count)) for count in megatron_runs(given)]
        self.assertEqual(runs, runs_of(plan))
        self.assertEqual(len(runs), len(plan["stages"]) * joint["chunks_per_stage"])
        self.assertEqual(sum(count for count, _ in runs), given.num_layers)
        return given

    def test_megatron_runs_the_stages_degrees_and_batch_of_the_plan(self):
        given = self.check_megatron(self.plan(*PIPELINE))
        self.assertEqual((given.hidden_size, given.num_attention_heads, given.num_query_groups, given.seq_length,
                          given.ffn_hidden_size, given.vocab_size), (1024, 16, 8, 2048, 2816, 32000))
        self.assertTrue(given.swiglu and given.bf16 and given.untie_embeddings_and_output_weights)

    def test_megatron_interleaves_and_recomputes(self):
        plan = self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2", "--samples=1",
                         "--schedule=interleaved", "--layer_recomputation=full", "--optimizer_sharding=optimizer")
        self.assertGreater(plan["joint"]["chunks_per_stage"], 1)
        given = self.check_megatron(plan)
        self.assertTrue(given.use_distributed_optimizer)
        self.assertEqual(given.recompute_granularity, "full")

    def test_megatron_says_experts_and_latent_attention(self):
        plan = self.plan("--expert_degrees=8", "--layer_recomputation=full", model="zoo:deepseek-v3",
                         cluster="zoo:dgx-h100:128", batch=4096)
        given = self.check_megatron(plan)
        self.assertEqual((given.expert_model_parallel_size, given.expert_tensor_parallel_size),
                         (8, given.tensor_model_parallel_size))
        self.assertEqual((given.num_experts, given.moe_router_topk, given.moe_ffn_hidden_size,
                          given.moe_shared_expert_intermediate_size), (256, 8, 2048, 2048))
        # As Megatron-LM evaluates the pattern.
        pattern = re.fullmatch(r"\(\[0\]\*(\d+)\+\[1\]\*(\d+)\)", given.moe_layer_freq)
        self.assertEqual((int(pattern[1]), int(pattern[1]) + int(pattern[2])), (3, given.num_layers))
        self.assertEqual((given.q_lora_rank, given.kv_lora_rank, given.qk_head_dim, given.qk_pos_emb_head_dim,
                          given.v_head_dim), (1536, 512, 128, 64, 128))

    def check_torchtitan(self, plan, sections, parts, head):
        degrees = plan["stages"][0]["joint"]
        parallelism = sections["parallelism"]
        self.assertEqual([parallelism[f"{name}_degree"] for name in
                          ("tensor_parallel", "context_parallel", "data_parallel_shard", "pipeline_parallel")],
                         [degrees["tensor_degree"], degrees["context_degree"], degrees["data_degree"],
                          len(plan["stages"])])
        self.assertEqual(parallelism["data_parallel_replicate_degree"], 1)
        counts = [sum(name.startswith("layers.") for name in part) for part in parts]
        self.assertEqual(counts, [count for count, _ in runs_of(plan)])
        numbers = [int(name.removeprefix("layers.")) for part in parts for name in part if name.startswith("layers.")]
        self.assertEqual(numbers, list(range(14)))
        self.assertEqual((parts[0][0], parts[-1][-2:]), ("tok_embeddings", ["norm", head]))

    def test_torchtitan_runs_the_stages_degrees_and_batch_of_the_plan(self):
        plan = self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2", "--layer_recomputation=none",
                         "--optimizer_sharding=optimizer", "--schedule=one_f_one_b")
        batches, samples = (int(plan["joint"][name]) for name in ("micro_batches", "micro_batch_samples"))
        sections = tomllib.loads(self.export("torchtitan_toml"))
        parallelism, training = sections["parallelism"], sections["training"]
        self.check_torchtitan(plan, sections, parallelism["module_fqns_per_model_part"], "output")
        self.assertEqual(parallelism["pipeline_parallel_microbatch_size"], samples)
        self.assertEqual((training["local_batch_size"], training["global_batch_size"]), (samples * batches, 64))
        self.assertEqual(sections["activation_checkpoint"], {"mode": "none"})
        sections = {}
        for assigned in ast.parse(self.export("torchtitan")).body:
            value = assigned.value
            sections[assigned.targets[0].id] = (
                {word.arg: ast.literal_eval(word.value) for word in value.keywords}
                if isinstance(value, ast.Call) else ast.literal_eval(value))
        parallelism, training = sections["parallelism"], sections["training"]
        self.check_torchtitan(plan, sections, parallelism["pipeline_parallel_module_fqns_per_model_part"], "lm_head")
        self.assertEqual(parallelism["num_pp_microbatches"], batches)
        self.assertEqual(training, {"num_tokens_per_microbatch_per_dp_rank": samples * 2048,
                                    "num_tokens_per_train_step": 64 * 2048, "max_context_length": 2048})
        self.assertIsNone(sections["activation_checkpoint"])

    def test_deepspeed_has_the_topology_and_the_batch(self):
        plan = self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2", "--layer_recomputation=none",
                         "--optimizer_sharding=optimizer", "--schedule=one_f_one_b")
        body = ast.parse(self.export("deepspeed")).body
        values = {node.targets[0].id: node.value for node in body if isinstance(node, ast.Assign)}
        topology = {word.arg: ast.literal_eval(word.value) for word in values["TOPOLOGY"].keywords}
        self.assertEqual(topology, {"num_pp": 2, "num_mp": 2, "num_dp": 2})
        config = ast.literal_eval(values["CONFIG"])
        self.assertEqual(config["train_batch_size"], config["train_micro_batch_size_per_gpu"] *
                         config["gradient_accumulation_steps"] * topology["num_dp"])
        self.assertEqual(config["gradient_accumulation_steps"], int(plan["joint"]["micro_batches"]))

    def test_ranks_follow_the_grids_of_the_stages(self):
        plan = self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2")
        wanted = []
        for stage in plan["stages"]:
            for replica in stage["replicas"]:
                host, slot = re.fullmatch(r"(\w+)/gpu(\d+)", replica["device"]).groups()
                wanted.append((str(len(wanted)), host, slot))
        lines = self.export("rankfile").splitlines()
        self.assertEqual([re.fullmatch(r"rank (\d+)=(\S+) slot=(\d+)", line).groups() for line in lines], wanted)
        self.assertEqual(self.export("slurm_hostfile").split(), [host for _, host, _ in wanted])
        slots = [line.split() for line in self.export("hostfile").splitlines()]
        self.assertEqual(slots, [["host0", "slots=4"], ["host1", "slots=4"]])

    def test_the_order_of_an_interleaved_pipeline_has_every_pass_after_what_it_waits_for(self):
        plan = self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2", "--schedule=interleaved")
        chunks, batches = plan["joint"]["chunks_per_stage"], int(plan["joint"]["micro_batches"])
        rows = list(csv.reader(self.export("schedule_csv").splitlines()))
        slot = {cell: time for row in rows for time, cell in enumerate(row) if cell}
        self.assertEqual((len(rows), len(slot)), (2, 2 * batches * 2 * chunks))
        last = 2 * chunks - 1
        for batch in range(batches):
            self.assertLess(slot[f"{last}F{batch}"], slot[f"{last}B{batch}"])
            for part in range(last):
                self.assertLess(slot[f"{part}F{batch}"], slot[f"{part + 1}F{batch}"])
                self.assertLess(slot[f"{part + 1}B{batch}"], slot[f"{part}B{batch}"])
        for stage, row in enumerate(rows):
            self.assertEqual({int(re.match(r"\d+", cell)[0]) % 2 for cell in row if cell}, {stage})

    def test_the_order_of_zero_bubble_has_both_parts_of_backward_passes(self):
        plan = self.plan(*[flag.replace("one_f_one_b", "zb_h1") for flag in PIPELINE])
        self.assertEqual(plan["joint"]["schedule"], "SCHEDULE_KIND_ZERO_BUBBLE_H1")
        batches = int(plan["joint"]["micro_batches"])
        rows = list(csv.reader(self.export("schedule_csv").splitlines()))
        slot = {cell: time for row in rows for time, cell in enumerate(row) if cell}
        self.assertEqual((len(rows), len(slot)), (4, 3 * batches * 4))
        for stage, row in enumerate(rows):
            # At most as many micro-batches as stages are kept, gradients of weights being stage micro-batches late.
            kept = most = 0
            for cell in filter(None, row):
                kept += {"F": 1, "I": 0, "W": -1}[cell[1]]
                most = max(most, kept)
            self.assertEqual(most, 4)
            for batch in range(batches):
                self.assertLess(slot[f"{stage}I{batch}"], slot[f"{stage}W{batch}"])
                if stage > 0:
                    self.assertLess(slot[f"{stage}I{batch}"], slot[f"{stage - 1}I{batch}"])
        self.assertIn("ZB-H1", self.export("torchtitan", code=2))
        self.assertIn("neither 1F1B nor interleaved", self.export("megatron", code=2))
        self.assertIn("1F1B alone", self.export("deepspeed", code=2))
        self.assertIn("SplitPoint.BEGINNING", self.export("torch_pipelining"))

    def test_torchtitan_runs_gpipe(self):
        plan = self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2", "--layer_recomputation=none",
                         "--optimizer_sharding=optimizer", "--schedule=gpipe")
        sections = tomllib.loads(self.export("torchtitan_toml"))
        self.check_torchtitan(plan, sections, sections["parallelism"]["module_fqns_per_model_part"], "output")
        self.assertEqual(sections["parallelism"]["pipeline_parallel_schedule"], "GPipe")
        self.assertIn("neither 1F1B nor interleaved", self.export("megatron", code=2))

    def test_of_several_schedules_the_best_wins(self):
        flags = ["--stages=4", "--tensor_degrees=2", "--data_degrees=1", "--samples=1", "--layer_recomputation=none"]
        steps = {kinds: self.plan(*flags, f"--schedule={kinds}")["objective_ms"]
                 for kinds in ("one_f_one_b", "gpipe", "zb_h1", "one_f_one_b,gpipe,zero_bubble_h1")}
        self.assertEqual(min(steps.values()), steps["one_f_one_b,gpipe,zero_bubble_h1"])
        self.assertLessEqual(steps["one_f_one_b"], steps["gpipe"])
        plan = self.plan(*flags, "--schedule=gpipe,zb_h1,one_f_one_b", "--runnable_on=megatron")
        self.assertEqual(plan["joint"]["schedule"], "SCHEDULE_KIND_ONE_F_ONE_B")
        # A list takes the place of what the plan was made for.
        judge = ["evaluate", f"--graph={self.model}", f"--cluster={self.cluster}", f"--plan={self.file}"]
        run(*judge, "--schedule=gpipe,one_f_one_b")
        run(*judge, "--schedule=gpipe,zb_h1", code=3)

    def test_a_plan_goes_on_on_the_nodes_that_are_left(self):
        before = self.plan(cluster="zoo:dgx-a100:2?devices=4")
        for cluster, fits in (("zoo:dgx-a100:2?devices=4", 2), ("zoo:dgx-a100:1?devices=4", 1)):
            start = Path(self.folder.name) / "start.json"
            start.write_text(json.dumps(before), encoding="utf-8")
            fresh = self.plan(cluster=cluster)
            after = self.plan(f"--start_from={start}", cluster=cluster)
            self.assertGreaterEqual(int(after["provenance"]["counters"]["start_fits"]), fits - 1)
            self.assertLessEqual(after["objective_ms"], fresh["objective_ms"] * 1.0002)
            again = self.plan(f"--start_from={start}", cluster=cluster)
            self.assertEqual(again["stages"], after["stages"])

    def test_pictures_are_of_a_step(self):
        plan = self.plan(*PIPELINE)
        root = xml.etree.ElementTree.fromstring(self.export("svg"))
        texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertTrue(any("per step" in text for text in texts), texts)
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(len(titles), sum(len(stage["replicas"]) for stage in plan["stages"]))
        drawn = subprocess.run(["dot", "-Tjson"], input=self.export("dot"), capture_output=True, text=True, timeout=60,
                               check=True)
        clusters = [item for item in json.loads(drawn.stdout)["objects"] if item["name"].startswith("cluster_")]
        self.assertEqual(len(clusters), 4)

    def test_a_plan_simulates_in_the_time_that_it_states(self):
        plan = self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2", "--schedule=interleaved")
        sources = [f"--graph={self.model}", f"--cluster={self.cluster}"]
        simulated = json.loads(run("simulate", *sources, f"--plan={self.file}", "--output=json"))
        self.assertEqual(simulated["summary"]["step_time_ms"], plan["joint"]["simulated_step_ms"])
        trace = json.loads(run("simulate", *sources, f"--plan={self.file}", "--output=trace"))
        ends = [event["ts"] + event["dur"] for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertAlmostEqual(max(ends) / 1000, plan["joint"]["simulated_step_ms"], places=6)
        for command in (["simulate", f"--plan={self.file}"], ["plan", "--global_batch=64"]):
            root = xml.etree.ElementTree.fromstring(run(command[0], *sources, *command[1:], "--output=svg"))
            self.assertGreater(len(list(root.iter("{http://www.w3.org/2000/svg}rect"))), 7)
        error = run("simulate", *sources, f"--plan={self.file}", "--micro_batches=3", code=2)
        self.assertIn("micro_batches: must be unset or those of the plan", error)

    def test_what_a_trainer_cannot_say_is_refused_with_the_reason(self):
        self.plan("--stages=2", "--tensor_degrees=2", "--data_degrees=2", "--optimizer_sharding=parameters",
                  "--schedule=one_f_one_b")
        for target in ("megatron", "torchtitan", "deepspeed"):
            self.assertIn("plan with --optimizer_sharding=optimizer", self.export(target, code=2))
        self.assertIn("is for training, and vLLM serves", self.export("vllm", code=2))

    def test_runnable_on_finds_what_the_trainer_says_and_its_price(self):
        # So little memory that the search computes some layers again and keeps others.
        tight = "zoo:dgx-a100:2?devices=4&memory_gib=6"
        free = self.plan("--optimizer_sharding=optimizer", cluster=tight)
        self.assertEqual({kind for _, kinds in runs_of(free) for kind in kinds}, {"N", "F"})
        for target in ("megatron", "torchtitan", "deepspeed"):
            plan = self.plan("--optimizer_sharding=optimizer", f"--runnable_on={target}", cluster=tight)
            if target == "megatron":
                self.check_megatron(plan)
            else:
                self.assertEqual(len({kind for _, kinds in runs_of(plan) for kind in kinds}), 1)
            price = plan["objective_ms"] / free["objective_ms"] - 1
            costs = f"costs {price * 100:.2g} %: " if price > 0 else "costs nothing: "
            self.assertTrue(any(warning.startswith(f"--runnable_on={target} {costs}")
                                for warning in plan["warnings"]), (plan["warnings"], price))
            # They have no word for some layers, but Megatron-LM for as many first ones of every stage.
            self.assertTrue(price > 0 or target == "megatron")
            self.export(target)

    def test_a_mixed_cluster_ends_in_stages_that_trainers_run(self):
        mixed = Path(self.folder.name) / "mixed.yaml"
        mixed.write_text("nodes:\n  - {hosts: 'h[1-8]', devices: 8, class: h100}\n"
                         "  - {hosts: 'a[1-8]', devices: 8, class: a100}\ninside: nvlink\nbetween: 400 Gb/s\n",
                         encoding="utf-8")
        for target in ("megatron", "torchtitan_toml"):
            plan = self.plan(f"--runnable_on={target}", model="zoo:llama3-70b", cluster=str(mixed), batch=512)
            self.assertGreater(len({count for count, _ in runs_of(plan)}), 1)
            # Both orders of the classes have the same configurations.
            simple = [json.dumps({name: value for name, value in each.items() if name != "step_ms"})
                      for each in plan["joint"]["equal_stages"]]
            self.assertEqual(len(set(simple)), len(simple))
            self.assertTrue(any(warning.startswith(f"--runnable_on={target} costs ") for warning in plan["warnings"]))
            if target == "megatron":
                self.check_megatron(plan)
            else:
                parts = tomllib.loads(self.export(target))["parallelism"]["module_fqns_per_model_part"]
                self.assertEqual([sum(name.startswith("layers.") for name in part) for part in parts],
                                 [count for count, _ in runs_of(plan)])
            hosts = [line.split()[0] for line in self.export("hostfile").splitlines()]
            self.assertEqual({host[0] for host in hosts[:len(hosts) // 2]} & {host[0] for host in hosts[len(hosts) // 2:]},
                             set())

    def test_runnable_on_does_not_count_devices_of_other_forms(self):
        error = run("plan", f"--graph={MODEL}", "--cluster=zoo:dgx-a100:2?devices=4&memory_gib=6", "--global_batch=64",
                    "--optimizer_sharding=optimizer", "--objective=min_devices", "--runnable_on=torchtitan", code=2)
        self.assertIn("the plan on the fewest devices is none that torchtitan runs", error)

    def test_runnable_on_finds_plans_beside_context_degrees_that_trainers_do_not_have(self):
        # Without context ranks as few devices do; and Megatron-LM divides no samples where scores are kept.
        fewest = ["--objective=min_devices", "--target_tokens_per_second=100000", "--runnable_on=deepspeed"]
        unfused = "zoo:gpt-13b?sequence=6144&attention=unfused"
        for flags, model, cluster, batch in ((fewest, "zoo:llama3-8b", "zoo:dgx-h100:4", 96),
                                             (["--runnable_on=megatron"], unfused, "zoo:dgx-h100:8", 8)):
            plan = self.plan(*flags, model=model, cluster=cluster, batch=batch)
            self.assertEqual({stage["joint"].get("context_degree", 1) for stage in plan["stages"]}, {1})
            whole = self.plan("--context_degrees=1", *flags, model=model, cluster=cluster, batch=batch)
            self.assertEqual(plan["objective_ms"], whole["objective_ms"])

    def test_compare_says_what_others_would_do(self):
        problem = [f"--graph={MODEL}", f"--cluster={CLUSTER}", "--global_batch=64", "--degrees=per_stage"]
        rows = json.loads(run("compare", *problem, "--output=json"))["rows"]
        self.assertEqual([row["algorithm"] for row in rows], ["auto", "equal_stages", "data_parallel", "alpa"])
        for row in rows:
            self.assertGreaterEqual(row["objective_ms"], rows[0]["lower_bound_ms"] * (1 - 1e-9))
        report = run("plan", *problem)
        self.assertRegex(report, r"What others would do\n *baseline")
        self.assertRegex(report, r"\n *alpa +[0-9.]+ m?s ")

    def test_runnable_on_refuses_what_contradicts_it(self):
        problem = [f"--graph={MODEL}", f"--cluster={CLUSTER}", "--global_batch=64"]
        for target, flags in (("megatron", ["--degrees=per_stage"]),
                              ("vllm", ["--global_batch=64"]),
                              ("torchtitan", ["--layer_recomputation=selective"]),
                              ("deepspeed", ["--schedule=interleaved"]),
                              ("megatron", ["--schedule=gpipe"]),
                              ("torchtitan", ["--schedule=zb_h1"]),
                              ("deepspeed", ["--context_degrees=2"]),
                              ("megatron", ["--optimizer_sharding=parameters", "--stages=2"]),
                              ("megatron", ["--optimizer_sharding=parameters", "--stages=1"]),
                              ("megatron", ["--optimizer_sharding=gradients", "--stages=2"]),
                              ("torchtitan", ["--optimizer_sharding=gradients"])):
            error = run("plan", *problem, f"--runnable_on={target}", *flags, code=2)
            self.assertIn(f"--runnable_on={target} and {flags[0].split('=')[0]}", error)
            self.assertIn("contradict: ", error)


if __name__ == "__main__":
    unittest.main()
