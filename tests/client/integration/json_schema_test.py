"""Exported plans, judged by a JSON Schema that is made of the contract: json_schema_test.py PLANWRIGHT PROTO."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    from google.protobuf import descriptor_pb2
except ImportError as missing:
    print(f"skipped: {missing} (python3-jsonschema, python3-protobuf, with /usr/bin/python3)")
    sys.exit(77)

PROGRAM, PROTO = sys.argv[1:3]
FIELD = descriptor_pb2.FieldDescriptorProto
# The JSON mapping of proto3: integers of 64 bits are strings, bytes are base64.
INTEGERS = {FIELD.TYPE_INT32, FIELD.TYPE_UINT32, FIELD.TYPE_SINT32, FIELD.TYPE_FIXED32, FIELD.TYPE_SFIXED32}
LONG_INTEGERS = {FIELD.TYPE_INT64, FIELD.TYPE_UINT64, FIELD.TYPE_SINT64, FIELD.TYPE_FIXED64, FIELD.TYPE_SFIXED64}
NUMBERS = {FIELD.TYPE_DOUBLE, FIELD.TYPE_FLOAT}
WELL_KNOWN = {".google.protobuf.Duration": {"type": "string", "pattern": r"^-?\d+(\.\d+)?s$"},
              ".google.protobuf.Timestamp": {"type": "string", "format": "date-time"}}


def messages_of(proto):
    """Every message and enumeration of the files, by its full name."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["protoc", f"-I{PROTO}", f"--descriptor_set_out={file.name}", "--include_imports", proto], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(file.name).read_bytes())
    messages, enums = {}, {}

    def add(prefix, message):
        name = f"{prefix}.{message.name}"
        messages[name] = message
        enums.update({f"{name}.{enum.name}": enum for enum in message.enum_type})
        for inner in message.nested_type:
            add(name, inner)

    for one in files.file:
        for message in one.message_type:
            add(f".{one.package}", message)
        enums.update({f".{one.package}.{enum.name}": enum for enum in one.enum_type})
    return messages, enums


def schema_of(root, proto):
    messages, enums = messages_of(proto)

    def single(field):
        if field.type == FIELD.TYPE_MESSAGE:
            return WELL_KNOWN.get(field.type_name) or {"$ref": f"#/definitions/{field.type_name}"}
        if field.type == FIELD.TYPE_ENUM:
            return {"enum": [value.name for value in enums[field.type_name].value]}
        if field.type in INTEGERS:
            return {"type": "integer"}
        if field.type in LONG_INTEGERS:
            return {"type": "string", "pattern": r"^-?\d+$"}
        if field.type in NUMBERS:
            return {"type": "number"}
        return {"type": "boolean" if field.type == FIELD.TYPE_BOOL else "string"}

    def value(field):
        if field.label != FIELD.LABEL_REPEATED:
            return single(field)
        entry = messages.get(field.type_name) if field.type == FIELD.TYPE_MESSAGE else None
        if entry is not None and entry.options.map_entry:
            return {"type": "object", "additionalProperties": single(entry.field[1])}
        return {"type": "array", "items": single(field)}

    definitions = {name: {"type": "object", "additionalProperties": False,
                          "properties": {field.name: value(field) for field in message.field}}
                   for name, message in messages.items()}
    return {"definitions": definitions, "$ref": f"#/definitions/{root}"}


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = schema_of(".planwright.v1.Plan", "planwright/v1/plan.proto")

    def exported(self, *flags):
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/plan.json"
            subprocess.run([PROGRAM, "plan", *flags, f"--save={file}"], check=True, capture_output=True)
            done = subprocess.run([PROGRAM, "export", f"--plan={file}", "--to=json"], check=True, capture_output=True)
        return json.loads(done.stdout)

    def test_exported_plans_are_plans_of_the_contract(self):
        for flags in (["--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--explain"],
                      ["--graph=zoo:bert-base", "--cluster=zoo:torus2d:4", "--replication=uniform", "--micro_batches=8"],
                      ["--graph=zoo:resnet50", "--cluster=zoo:dgx1-v100:1", "--schedule=periodic"],
                      ["--graph=zoo:llama3-8b", "--cluster=zoo:dgx-h100:1", "--global_batch=64"]):
            plan = self.exported(*flags)
            jsonschema.validate(plan, self.schema)
            self.assertTrue(plan["stages"])

    def test_the_schema_refuses_what_is_no_plan(self):
        plan = self.exported("--graph=zoo:bert-base", "--cluster=zoo:pcie:2")
        for field, wrong in (("objective_ms", "1"), ("stages", {}), ("no_such_field", 1)):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**plan, field: wrong}, self.schema)


unittest.main(argv=sys.argv[:1])
