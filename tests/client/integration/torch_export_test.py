"""Models of torch.export, written from the documentation of the format, since no real one is at hand: torch_export_test.py PLANWRIGHT."""
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

PROGRAM = sys.argv[1]
# ScalarType of torch._export.serde.schema.
LONG, FLOAT = 5, 7
# Runs a program where somebody loads it.
PICKLE = b"cos\nsystem\n(S'touch planwright-was-here'\ntR."


def size(value):
    """A number, or a symbol with its hint."""
    if isinstance(value, int):
        return {"as_int": value}
    symbol, hint = value
    return {"as_expr": {"expr_str": symbol, "hint": None if hint is None else {"as_int": hint}}}


def tensor(*sizes, dtype=FLOAT):
    return {"dtype": dtype, "sizes": [size(value) for value in sizes], "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [], "storage_offset": {"as_int": 0}, "layout": 7}


class Model:
    """A graph as the exporter's JSON has it."""

    def __init__(self, **inputs):
        self.nodes, self.values, self.specs, self.inputs = [], {}, [], []
        for name, value in inputs.items():
            self.values[name] = value
            self.inputs.append({"as_tensor": {"name": name}})
            self.specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})

    def constant(self, name, value, kind="parameter"):
        self.values[name] = value
        self.inputs.insert(0, {"as_tensor": {"name": name}})
        self.specs.insert(0, {kind: {"arg": {"name": name}, f"{kind}_name": name[2:]}})
        return name

    def node(self, target, name, value, *inputs, path="", **others):
        """`inputs`: names of tensors, or lists of them; `others`: arguments as the schema has them."""
        arguments = [{"name": f"arg{i}", "kind": 1, "arg": {"as_tensors": [{"name": each} for each in one]} if
                      isinstance(one, list) else {"as_tensor": {"name": one}}} for i, one in enumerate(inputs)]
        arguments += [{"name": key, "kind": 2, "arg": argument} for key, argument in others.items()]
        stack = ";".join(f"L__self___{part.replace('.', '_')},{part},torch.nn.Module" for part in
                         ["", *[".".join(path.split(".")[:i + 1]) for i in range(len(path.split(".")))]] if part or not path)
        if value is not None:
            self.values[name] = value
        self.nodes.append({"target": target, "inputs": arguments, "outputs":
                           [] if value is None else [{"as_tensor": {"name": name}}],
                           "metadata": {"stack_trace": "File \"m.py\", line 1", "nn_module_stack": stack},
                           "is_hop_single_tensor_return": None})
        return name

    def program(self, major=8):
        last = self.nodes[-1]["outputs"]
        graph = {"inputs": self.inputs, "outputs": last, "nodes": self.nodes, "tensor_values": self.values,
                 "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}}
        return {"graph_module": {"graph": graph, "signature": {"input_specs": self.specs, "output_specs": [
                    {"user_output": {"arg": argument}} for argument in last]}, "module_call_graph": []},
                "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": major, "minor": 17},
                "verifiers": ["TRAINING"], "torch_version": "2.9.0"}


def archive(model, path="archive/models/model.json", compression=zipfile.ZIP_STORED, **more):
    """The bytes of a .pt2; `model`: JSON, or the text itself."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as file:
        file.writestr("archive/archive_format", "pt2")
        file.writestr("archive/archive_version", "0")
        file.writestr(path, model if isinstance(model, (str, bytes)) else json.dumps(model))
        file.writestr("archive/data/weights/weight_0", b"\0" * 100)
        file.writestr("archive/data/sample_inputs/model.pt", PICKLE)
        file.writestr("archive/data/constants/custom_obj_0", PICKLE)
        for name, content in more.items():
            file.writestr(name, content)
    return packed.getvalue()


def transformer(layers=2, batch=4, sequence=128, hidden=64, heads=4, vocab=1000):
    model = Model(tokens=tensor(batch, sequence, dtype=LONG))
    value = tensor(batch, sequence, hidden)
    last = model.node("torch.ops.aten.embedding.default", "embedding", value,
                      model.constant("p_embed_weight", tensor(vocab, hidden)), "tokens", path="model.embed_tokens")
    for i in range(layers):
        at = f"model.layers.{i}"
        head = tensor(batch, heads, sequence, hidden // heads)
        parts = []
        for part in ("q", "k", "v"):
            weight = model.constant(f"p_{part}_{i}", tensor(hidden, hidden))
            linear = model.node("torch.ops.aten.linear.default", f"linear_{part}_{i}", value, last, weight,
                                path=f"{at}.attn.{part}_proj")
            parts.append(model.node("torch.ops.aten.view.default", f"view_{part}_{i}", head, linear, path=f"{at}.attn"))
        attention = model.node("torch.ops.aten.scaled_dot_product_attention.default", f"attention_{i}", head, *parts,
                               path=f"{at}.attn")
        flat = model.node("torch.ops.aten.view.default", f"flat_{i}", value, attention, path=f"{at}.attn")
        up = model.node("torch.ops.aten.linear.default", f"up_{i}", tensor(batch, sequence, 4 * hidden), flat,
                        model.constant(f"p_up_{i}", tensor(4 * hidden, hidden)),
                        model.constant(f"p_bias_{i}", tensor(4 * hidden)), path=f"{at}.mlp.up")
        gelu = model.node("torch.ops.aten.gelu.default", f"gelu_{i}", tensor(batch, sequence, 4 * hidden), up, path=f"{at}.mlp")
        down = model.node("torch.ops.aten.linear.default", f"down_{i}", value, gelu,
                          model.constant(f"p_down_{i}", tensor(hidden, 4 * hidden)), path=f"{at}.mlp.down")
        last = model.node("torch.ops.aten.add.Tensor", f"add_{i}", value, last, down, path=at)
    transposed = model.node("torch.ops.aten.t.default", "tied", tensor(hidden, vocab), "p_embed_weight")
    model.node("torch.ops.aten.matmul.default", "logits", tensor(batch, sequence, vocab), last, transposed, path="lm_head")
    return model


class TorchExportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="planwright-pt2-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *flags):
        return subprocess.run([PROGRAM, *flags], capture_output=True, text=True, timeout=60)

    def imported(self, content, *flags):
        (self.folder / "m.pt2").write_bytes(content)
        done = self.run_program("import", f"--graph={self.folder}/m.pt2", "--cluster=zoo:pcie:2", "--output=json", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        graph = json.loads(done.stdout)["graph"]
        return {op["name"]: op for op in graph["operators"]}, {one["name"]: one for one in graph.get("tensors", [])}, done.stderr, graph

    def refused(self, content, *flags):
        (self.folder / "m.pt2").write_bytes(content)
        done = self.run_program("plan", f"--graph={self.folder}/m.pt2", "--cluster=zoo:pcie:2", *flags)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return " ".join(done.stderr.split())

    def test_a_transformer_has_its_layers_sizes_and_work(self):
        operators, tensors, said, graph = self.imported(archive(transformer().program()))
        self.assertEqual(len(operators), 1 + 2 * 12 + 1)
        self.assertEqual(int(graph["samples_per_micro_batch"]), 4)
        linear = operators["linear_q_0"]
        self.assertEqual((linear["type"], linear["layer"]), ("linear", "model.layers.0"))
        self.assertEqual(linear["forward_flops"], 2 * 4 * 128 * 64 * 64)
        self.assertEqual(linear["backward_flops"], 2 * linear["forward_flops"])
        self.assertEqual(int(linear["parameter_bytes"]), 64 * 64 * 4)
        self.assertEqual(int(operators["up_1"]["parameter_bytes"]), (4 * 64 * 64 + 4 * 64) * 4)
        self.assertEqual(operators["attention_1"]["forward_flops"], 4 * 4 * 4 * 128 * 128 * 16)
        self.assertEqual(operators["gelu_0"]["forward_flops"], 8 * 4 * 128 * 256)
        self.assertEqual(operators["logits"]["forward_flops"], 2 * 4 * 128 * 1000 * 64)
        self.assertEqual(operators["embedding"].get("forward_flops", 0), 0)
        self.assertEqual([operators[name]["layer"] for name in ("embedding", "add_1", "logits")],
                         ["model.embed_tokens", "model.layers.1", "lm_head"])
        self.assertEqual(int(tensors["gelu_0"]["size_bytes"]), 4 * 128 * 256 * 4)
        self.assertEqual(tensors["embedding"]["consumers"], ["linear_q_0", "linear_k_0", "linear_v_0", "add_0"])
        self.assertIn("1 nodes depend on constants only", said)

    def test_it_is_planned_in_layers(self):
        (self.folder / "m.pt2").write_bytes(archive(transformer(layers=8).program(), compression=zipfile.ZIP_DEFLATED))
        done = self.run_program("plan", f"--graph={self.folder}/m.pt2", "--cluster=zoo:pcie:2", "--granularity=layer",
                                "--output=json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(list(self.folder.glob("planwright-was-here")))
        self.assertFalse(pathlib.Path("planwright-was-here").exists())

    def test_convolutions_pools_and_lists(self):
        model = Model(image=tensor(2, 3, 8, 8))
        conv = model.node("torch.ops.aten.conv2d.default", "conv", tensor(2, 16, 8, 8), "image",
                          model.constant("p_w", tensor(16, 3, 3, 3)), path="features.0")
        norm = model.node("torch.ops.aten.batch_norm.default", "norm", tensor(2, 16, 8, 8), conv,
                          model.constant("b_mean", tensor(16), "buffer"), path="features.1")
        pool = model.node("torch.ops.aten.max_pool2d.default", "pool", tensor(2, 16, 4, 4), norm, path="features.2",
                          kernel_size={"as_ints": [2, 2]})
        up = model.node("torch.ops.aten.convolution.default", "up", tensor(2, 8, 8, 8), pool,
                        model.constant("p_u", tensor(16, 8, 2, 2)), path="features.3", transposed={"as_bool": True})
        model.node("torch.ops.aten.cat.default", "cat", tensor(2, 24, 8, 8), [up, norm])
        operators, tensors, _, _ = self.imported(archive(model.program()))
        self.assertEqual(operators["conv"]["forward_flops"], 2 * 2 * 16 * 64 * 27)
        self.assertEqual(operators["norm"]["forward_flops"], 2 * 2 * 16 * 64)
        self.assertEqual(operators["pool"]["forward_flops"], 2 * 16 * 16 * 4)
        self.assertEqual(operators["up"]["forward_flops"], 2 * 2 * 16 * 16 * 8 * 4)
        self.assertEqual(tensors["norm"]["consumers"], ["pool", "cat"])
        self.assertEqual(operators["conv"]["layer"], "features.0")

    def test_symbols_have_hints_or_are_bound(self):
        model = Model(x=tensor(("s0", 4), 10))
        model.node("torch.ops.aten.sym_size.int", "size", None, "x")
        model.node("torch.ops.aten.relu.default", "relu", tensor(("s0", 4), 10), "x")
        model.node("torch.ops.aten.relu.default", "again", tensor(("u7", None), 10), "relu")
        operators, tensors, said, graph = self.imported(archive(model.program()))
        self.assertEqual((int(graph["samples_per_micro_batch"]), int(tensors["relu"]["size_bytes"])), (4, 160))
        self.assertIn('sizes are taken as the model was exported: "s0" for 4;', " ".join(said.split()))
        self.assertIn("1 values have no size", said)
        self.assertIn("1 nodes make no tensors", said)
        _, tensors, said, graph = self.imported(archive(model.program()), "--dim=s0=8", "--dim=u7=3")
        self.assertEqual((int(graph["samples_per_micro_batch"]), int(tensors["relu"]["size_bytes"])), (8, 320))
        self.assertNotIn('"s0"', said)

    def test_many_symbols_are_one_warning(self):
        model = Model(x=tensor(("s0", 4), 10))
        for i in range(20):
            model.node("torch.ops.aten.relu.default", f"relu_{i}", tensor((f"{i + 2}*s0", 4 * i), 10), "x")
        _, _, said, _ = self.imported(archive(model.program()))
        self.assertIn('"10*s0" for 32', " ".join(said.split()))
        self.assertIn("and 13 more; --dim=NAME=N", " ".join(said.split()))

    def test_sizes_beyond_all_numbers_are_numbers(self):
        far = [1 << 62] * 20
        model = Model(x=tensor(*far, 0))
        model.node("torch.ops.aten.relu.default", "empty", tensor(*far, 0), "x")
        model.node("torch.ops.aten.relu.default", "endless", tensor(*far), "empty")
        operators, tensors, _, _ = self.imported(archive(model.program()))
        self.assertEqual(int(tensors["empty"].get("size_bytes", 0)), 0)
        self.assertEqual(operators["endless"]["forward_flops"], 1e300)

    def test_control_flow_is_one_operator(self):
        model = Model(x=tensor(4, 10))
        inner = Model(y=tensor(4, 10))
        inner.node("torch.ops.aten.relu.default", "r", tensor(4, 10), "y")
        model.node("torch.ops.higher_order.cond", "cond", tensor(4, 10), "x",
                   true_fn={"as_graph": {"name": "g", "graph": inner.program()["graph_module"]["graph"]}})
        operators, _, said, _ = self.imported(archive(model.program()))
        self.assertEqual(list(operators), ["cond"])
        self.assertIn("1 nodes are control flow", said)

    def test_older_releases_have_another_name_for_the_model(self):
        operators, _, _, _ = self.imported(archive(transformer().program(), "serialized_exported_program.json"))
        self.assertIn("logits", operators)

    def test_other_schemas_are_refused(self):
        self.assertIn("schema_version.major: must be 8, is 7", self.refused(archive(transformer().program(major=7))))
        program = transformer().program()
        del program["schema_version"]
        self.assertIn("schema_version", self.refused(archive(program)))

    def test_archives_without_one_model_are_refused(self):
        self.assertIn("holds no model of torch.export", self.refused(archive("{}", "archive/models/a/b.json")))
        text = json.dumps(transformer().program())
        self.assertIn("holds several: archive/models/model.json, archive/models/b.json",
                      self.refused(archive(text, **{"archive/models/b.json": text})))
        self.assertIn("holds no model", self.refused(archive("{}", "../../etc/passwd")))
        plain = io.BytesIO()
        with zipfile.ZipFile(plain, "w") as file:
            file.writestr("archive/data.pkl", PICKLE)
        self.assertIn("a zip archive, such as a checkpoint of PyTorch", self.refused(plain.getvalue()))

    def test_damaged_archives_are_refused(self):
        whole = archive(transformer().program(), compression=zipfile.ZIP_DEFLATED)
        for cut in (60, len(whole) // 2, len(whole) - 30):
            self.assertIn("m.pt2", self.refused(whole[:cut], "--graph_format=torch_export"))
        broken = bytearray(whole)
        broken[whole.find(b"models/model.json") + 200] ^= 0xFF
        self.assertIn("model.json: is damaged", self.refused(bytes(broken)))

    def test_bombs_and_nesting_are_refused(self):
        bomb = archive("[" + " " * (150 << 20) + "]", compression=zipfile.ZIP_DEFLATED)
        self.assertLess(len(bomb), 1 << 20)
        self.assertIn("unpacks to more than 128 MiB", self.refused(bomb))
        self.assertIn("nested deeper", self.refused(archive("[" * 100000)))
        self.assertIn("nested deeper", self.refused(archive('{"a":' * 5000 + "1" + "}" * 5000)))

    def test_every_violation_has_its_path(self):
        model = Model(x=tensor(4, 10))
        model.node("torch.ops.aten.relu.default", "relu", tensor(4, 10), "nothing")
        model.node("torch.ops.aten.relu.default", "relu", tensor(4, -10), "x")
        model.nodes.append({"inputs": [], "outputs": []})
        model.values["odd"] = {"dtype": FLOAT, "sizes": [{}]}
        model.values["text"] = "a"
        said = self.refused(archive(model.program()))
        for violation in ('graph_module.graph.nodes[0]: reads "nothing", which nothing before it makes',
                          'graph_module.graph.nodes[1]: makes "relu", which there is already',
                          "graph_module.graph.nodes[2].target", 'tensor_values["relu"]: a size must be a whole number >= 0',
                          'tensor_values["odd"]: a size must be as_int', 'tensor_values["text"]'):
            self.assertIn(violation, said)
        model.values["n" * 100000] = "a"
        self.assertLess(len(self.refused(archive(model.program()))), 3000)
        for broken in ("[]", "1", "{}", '{"schema_version": 8, "graph_module": 1}',
                       '{"schema_version": {"major": 8}, "graph_module": {"graph": {"nodes": [1], "tensor_values": 1}}}'):
            self.refused(archive(broken))


unittest.main(argv=sys.argv[:1])
