"""The stubs of Planwright's protos for Python.

make(proto_folder, *more_protos) puts them on the path, so that `from planwright.v1 import ...` works, and returns the
temporary folder that they are in, which goes with the process. Where something that it needs is not installed it says what and ends the process with code 77, which ctest shows as
skipped.
"""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
GRPC_PLUGIN = "/usr/bin/grpc_python_plugin"
SHARED_PROTOS = "/usr/share/grpc-proto"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


try:
    import google
    import grpc
except ImportError as missing:
    skip(f"{missing} (python3-grpcio, python3-protobuf, with /usr/bin/python3)")


def make(proto_folder, *more_protos):
    for needed in (GRPC_PLUGIN, SHARED_PROTOS):
        if not os.path.exists(needed):
            skip(f"{needed} is not installed (protobuf-compiler-grpc, grpc-proto)")
    folder = tempfile.mkdtemp(prefix="planwright-stubs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    protos = [str(path) for path in pathlib.Path(proto_folder).rglob("*.proto")]
    subprocess.run(["protoc", f"-I{proto_folder}", f"-I{SHARED_PROTOS}", f"--python_out={folder}",
                    f"--grpc_out={folder}", f"--plugin=protoc-gen-grpc={GRPC_PLUGIN}", *protos, *more_protos],
                   check=True)
    sys.path.append(folder)
    # The generated grpc/ and google/ folders are found beside the installed packages of the same names.
    grpc.__path__.append(os.path.join(folder, "grpc"))
    google.__path__.append(os.path.join(folder, "google"))
    return folder
