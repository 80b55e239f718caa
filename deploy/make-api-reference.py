#!/usr/bin/env python3
"""Writes docs/api-reference.md from the comments of the protos; --check says whether it is up to date.

    deploy/make-api-reference.py [--check]

Needs protoc and python3-protobuf (deploy/setup.sh build test).
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "api-reference.md"
FILES = ["planning_service", "admin_service", "operation", "problem", "plan", "graph", "cluster"]

# Field numbers of descriptor.proto, from which source paths are made.
FILE_MESSAGE, FILE_ENUM, FILE_SERVICE = 4, 5, 6
MESSAGE_FIELD, MESSAGE_NESTED, MESSAGE_ENUM, MESSAGE_ONEOF = 2, 3, 4, 8
ENUM_VALUE, SERVICE_METHOD = 2, 2

SCALARS = {
    field_type: name[5:].lower()
    for name, field_type in descriptor_pb2.FieldDescriptorProto.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}


def load_files():
    """The descriptors of the contract, comments included."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "descriptors"
        paths = [f"planwright/v1/{name}.proto" for name in FILES]
        subprocess.run(
            ["protoc", "-Iproto", "--include_source_info", f"--descriptor_set_out={output}", *paths],
            cwd=ROOT,
            check=True,
        )
        files = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes()).file
    by_name = {Path(file.name).stem: file for file in files}
    return [by_name[name] for name in FILES]


def anchor(name):
    """The anchor that Markdown renderers give the heading of a type."""
    return name.lower().replace(".", "")


class FileWriter:
    """The section of one proto file."""

    def __init__(self, file):
        self.file = file
        self.comments = {tuple(item.path): item.leading_comments for item in file.source_code_info.location}
        self.lines = [f"## {Path(file.name).name}", ""]

    def write(self):
        for i, service in enumerate(self.file.service):
            self.write_service(service, (FILE_SERVICE, i))
        for i, message in enumerate(self.file.message_type):
            self.write_message(message, (FILE_MESSAGE, i), "")
        for i, enum in enumerate(self.file.enum_type):
            self.write_enum(enum, (FILE_ENUM, i), "")
        return self.lines

    def comment(self, path):
        """The paragraphs before an element; indented lines stay lines of their own."""
        lines = [line[1:] if line.startswith(" ") else line for line in self.comments.get(path, "").splitlines()]
        return [line.rstrip() for line in lines]

    def paragraphs(self, path):
        lines = self.comment(path)
        if any(line.startswith("  ") or "   " in line for line in lines):
            # Columns of text, such as lists of status codes.
            return ["```text", *lines, "```", ""] if lines else []
        return [*lines, ""] if lines else []

    def cell(self, path):
        return " ".join(line.strip() for line in self.comment(path)).replace("|", "\\|")

    def type_text(self, field):
        if field.type in SCALARS:
            return SCALARS[field.type]
        name = field.type_name.removeprefix(".planwright.v1.")
        return name.removeprefix(".") if name.startswith(".") else f"[{name}](#{anchor(name)})"

    def field_type(self, message, field):
        """Type with its label; maps as maps."""
        for nested in message.nested_type:
            if nested.options.map_entry and field.type_name.endswith(f".{message.name}.{nested.name}"):
                return f"map<{self.type_text(nested.field[0])}, {self.type_text(nested.field[1])}>"
        prefix = "repeated " if field.label == field.LABEL_REPEATED else ""
        prefix = "optional " if field.proto3_optional else prefix
        return prefix + self.type_text(field)

    def write_service(self, service, path):
        self.lines += [f"### {service.name}", "", *self.paragraphs(path)]
        for i, method in enumerate(service.method):
            request = method.input_type.removeprefix(".planwright.v1.")
            response = method.output_type.removeprefix(".planwright.v1.")
            stream = "stream " if method.server_streaming else ""
            self.lines += [
                f"#### {method.name}",
                "",
                f"[{request}](#{anchor(request)}) → {stream}[{response}](#{anchor(response)})",
                "",
                *self.paragraphs((*path, SERVICE_METHOD, i)),
            ]

    def write_message(self, message, path, scope):
        name = scope + message.name
        self.lines += [f"### {name}", "", *self.paragraphs(path)]
        if message.field:
            self.lines += ["| field | type | meaning |", "| --- | --- | --- |"]
            for i, field in enumerate(message.field):
                meaning = self.cell((*path, MESSAGE_FIELD, i))
                if field.HasField("oneof_index") and not field.proto3_optional:
                    oneof = message.oneof_decl[field.oneof_index].name
                    rule = self.cell((*path, MESSAGE_ONEOF, field.oneof_index))
                    meaning = f"One of `{oneof}`. {meaning or rule}".strip()
                self.lines.append(f"| `{field.name}` | {self.field_type(message, field)} | {meaning} |")
            self.lines.append("")
        for i, nested in enumerate(message.nested_type):
            if not nested.options.map_entry:
                self.write_message(nested, (*path, MESSAGE_NESTED, i), f"{name}.")
        for i, enum in enumerate(message.enum_type):
            self.write_enum(enum, (*path, MESSAGE_ENUM, i), f"{name}.")

    def write_enum(self, enum, path, scope):
        self.lines += [f"### {scope}{enum.name}", "", *self.paragraphs(path)]
        self.lines += ["| value | meaning |", "| --- | --- |"]
        for i, value in enumerate(enum.value):
            self.lines.append(f"| `{value.name}` | {self.cell((*path, ENUM_VALUE, i))} |")
        self.lines.append("")


def reference():
    lines = [
        "# API reference",
        "",
        "Made from the comments of `proto/planwright/v1` by `deploy/make-api-reference.py`: change it there.",
        "",
    ]
    for file in load_files():
        lines += FileWriter(file).write()
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 where the page is stale")
    arguments = parser.parse_args()
    text = reference()
    if not arguments.check:
        OUTPUT.write_text(text, encoding="utf-8")
        return 0
    if OUTPUT.read_text(encoding="utf-8") == text:
        return 0
    print("docs/api-reference.md is stale: run deploy/make-api-reference.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
