"""BERT-Large as a model of ONNX of 1,000 nodes, built by python3-onnx, through the program: what it reads and plans.

Usage: bert_onnx_test.py PLANWRIGHT. Exit code 77: python3-onnx is not installed.

Weights are said to be in a file that does not exist: it is never opened. What is expected is computed from the sizes of
the model alone.
"""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

try:
    from onnx import TensorProto, helper, save_model
except ImportError:
    print("skipped: python3-onnx is not installed; run deploy/setup.sh test")
    sys.exit(77)

PLANWRIGHT = sys.argv.pop(1)
LAYERS, HIDDEN, HEADS, WIDTH, VOCABULARY, SEQUENCE, BATCH = 24, 1024, 16, 4096, 30522, 128, 8
# A layer: three projections, products of queries with keys and of scores with values, an output, two of the feed-forward.
PRODUCTS_OF_LAYER = 2 * BATCH * SEQUENCE * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * WIDTH + 2 * SEQUENCE * HIDDEN)
PRODUCTS = LAYERS * PRODUCTS_OF_LAYER + 2 * BATCH * SEQUENCE * HIDDEN * HIDDEN


def run(*arguments, code=0):
    """Standard output of the program, and how long it took."""
    start = time.monotonic()
    done = subprocess.run([PLANWRIGHT, *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}, wanted {code}\n{done.stderr}")
    return done.stdout, time.monotonic() - start


class Builder:
    """Nodes one after the other; each returns the name of its value."""

    def __init__(self):
        self.nodes, self.initializers, self.parameters = [], [], 0

    def weights(self, name, *dims):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="no-such-file")
        self.initializers.append(tensor)
        size = 4
        for dim in dims:
            size *= dim
        self.parameters += size
        return name

    def constant(self, name, kind, dims, values):
        self.initializers.append(helper.make_tensor(name, kind, dims, values))
        return name

    def add(self, kind, scope, name, *inputs, **attributes):
        node = helper.make_node(kind, inputs, [f"{scope}/{name}_output_0"], name=f"{scope}/{name}", **attributes)
        self.nodes.append(node)
        return node.output[0]

    def linear(self, scope, value, inner, outer):
        product = self.add("MatMul", scope, "MatMul", value, self.weights(f"{scope}.weight", inner, outer))
        return self.add("Add", scope, "Add", product, self.weights(f"{scope}.bias", outer))

    def norm(self, scope, value):
        mean = self.add("ReduceMean", scope, "ReduceMean", value, axes=[-1])
        centred = self.add("Sub", scope, "Sub", value, mean)
        variance = self.add("ReduceMean", scope, "Variance", self.add("Pow", scope, "Pow", centred, "two"), axes=[-1])
        deviation = self.add("Sqrt", scope, "Sqrt", self.add("Add", scope, "Epsilon", variance, "epsilon"))
        scaled = self.add("Div", scope, "Div", centred, deviation)
        scaled = self.add("Mul", scope, "Mul", scaled, self.weights(f"{scope}.weight", HIDDEN))
        return self.add("Add", scope, "Add", scaled, self.weights(f"{scope}.bias", HIDDEN))

    def heads(self, scope, value, order):
        shaped = self.add("Reshape", scope, "Reshape", value, "by_head")
        return self.add("Transpose", scope, "Transpose", shaped, perm=order)

    def layer(self, number, value):
        scope = f"/encoder/layer.{number}"
        attention = f"{scope}/attention"
        query = self.heads(f"{attention}/query", self.linear(f"{attention}/query", value, HIDDEN, HIDDEN), [0, 2, 1, 3])
        key = self.heads(f"{attention}/key", self.linear(f"{attention}/key", value, HIDDEN, HIDDEN), [0, 2, 3, 1])
        values = self.heads(f"{attention}/value", self.linear(f"{attention}/value", value, HIDDEN, HIDDEN), [0, 2, 1, 3])
        scores = self.add("MatMul", attention, "Scores", query, key)
        scores = self.add("Softmax", attention, "Softmax", self.add("Add", attention, "Mask", scores, "mask"), axis=-1)
        context = self.add("Transpose", attention, "Transpose", self.add("MatMul", attention, "Context", scores, values), perm=[0, 2, 1, 3])
        context = self.add("Reshape", attention, "Reshape", context, "by_token")
        output = self.linear(f"{attention}/output", context, HIDDEN, HIDDEN)
        value = self.norm(f"{attention}/norm", self.add("Add", attention, "Residual", output, value))
        wide = self.linear(f"{scope}/intermediate", value, HIDDEN, WIDTH)
        gate = self.add("Erf", f"{scope}/gelu", "Erf", self.add("Div", f"{scope}/gelu", "Div", wide, "root"))
        gate = self.add("Mul", f"{scope}/gelu", "Mul", wide, self.add("Add", f"{scope}/gelu", "Add", gate, "one"))
        wide = self.add("Mul", f"{scope}/gelu", "Half", gate, "half")
        narrow = self.linear(f"{scope}/output", wide, WIDTH, HIDDEN)
        narrow = self.add("Add", scope, "Residual", narrow, value)
        scale = [self.weights(f"{scope}.norm.{part}", HIDDEN) for part in ("weight", "bias")]
        return self.add("LayerNormalization", scope, "Norm", narrow, *scale, axis=-1)

    def model(self):
        for name, number in {"two": 2.0, "epsilon": 1e-12, "root": 1.4142135, "one": 1.0, "half": 0.5}.items():
            self.constant(name, TensorProto.FLOAT, [], [number])
        self.constant("by_head", TensorProto.INT64, [4], [0, 0, HEADS, HIDDEN // HEADS])
        self.constant("by_token", TensorProto.INT64, [3], [0, 0, HIDDEN])
        tables = {"word": VOCABULARY, "position": 512, "token_type": 2}
        words = [self.add("Gather", "/embeddings", name, self.weights(f"{name}.weight", rows, HIDDEN), f"{name}_ids") for name, rows in tables.items()]
        value = self.add("Add", "/embeddings", "Add_1", self.add("Add", "/embeddings", "Add", *words[:2]), words[2])
        value = self.norm("/embeddings/norm", value)
        for number in range(LAYERS):
            value = self.layer(number, value)
        value = self.linear("/pooler", value, HIDDEN, HIDDEN)
        inputs = [helper.make_tensor_value_info(f"{name}_ids", TensorProto.INT64, ["batch", SEQUENCE]) for name in tables]
        inputs.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 1, 1, SEQUENCE]))
        outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", SEQUENCE, HIDDEN])]
        graph = helper.make_graph(self.nodes, "bert-large", inputs, outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class BertOfOnnx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.builder = Builder()
        model = cls.builder.model()
        cls.file = str(Path(cls.folder.name) / "bert.onnx")
        save_model(model, cls.file)
        cls.flags = [f"--graph={cls.file}", "--dim", f"batch={BATCH}"]

    def test_every_node_is_read(self):
        self.assertEqual(len(self.builder.nodes), 1000)
        graph = json.loads(run("import", *self.flags, "--cluster=zoo:pcie:4")[0])["graph"]
        self.assertEqual(len(graph["operators"]), 1000)
        products = [op for op in graph["operators"] if op["type"] == "MatMul"]
        self.assertEqual(sum(op["forward_flops"] for op in products), PRODUCTS)
        parameters = sum(int(op.get("parameter_bytes", 0)) for op in graph["operators"])
        # Beside the weights each use of a scalar counts (two of a norm, three of a gelu), and of the two shapes.
        constants = 8 * (1 + LAYERS) + 12 * LAYERS + LAYERS * (3 * 32 + 24)
        self.assertEqual(parameters, self.builder.parameters + constants)
        layers = {op.get("layer", "") for op in graph["operators"]}
        self.assertEqual(layers, {""} | {f"layer.{number}" for number in range(LAYERS)})
        self.assertEqual(graph["samples_per_micro_batch"], str(BATCH))

    def test_plans_serving_and_training_at_once(self):
        for workload in "inference", "training":
            text, seconds = run("plan", *self.flags, "--cluster=zoo:pcie:4", f"--workload={workload}", "--output=json")
            plan = json.loads(text)
            self.assertEqual(sum(len(stage["operators"]) for stage in plan["stages"]), 1000)
            self.assertLess(plan["relative_gap"], 0.05, workload)
            # On two quiet cores less than 2; tests run beside others.
            self.assertLess(seconds, 10, workload)

    def test_training_is_the_forward_pass_and_its_mirror(self):
        def compute(workload):
            plan = json.loads(run("plan", *self.flags, "--cluster=zoo:pcie:1", "--exclude=host0/cpu0", f"--workload={workload}", "--memory_preset=sgd", "--output=json")[0])
            return plan["stages"][0]["compute_ms"]

        # Products take twice their forward time on the way back, everything else once.
        self.assertGreater(compute("training"), 2 * compute("inference"))
        self.assertLess(compute("training"), 3 * compute("inference"))


if __name__ == "__main__":
    unittest.main()
