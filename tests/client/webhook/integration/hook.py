"""What the tests of the running hook share."""
import copy
import json
import os
import pathlib
import signal
import subprocess
import threading

import yaml

PATIENCE_SECONDS = 60
EXAMPLES = pathlib.Path("docs/examples/kubernetes")
# Published manifests and the schemas of their kinds; may be missing.
SHARED = pathlib.Path(os.environ.get("PLANWRIGHT_SHARED_DIR", "../shared")) / "workloads/kubernetes"
RESOURCE = "nvidia.com/gpu"


def make_certificate(folder, name="webhook"):
    """A certificate for localhost that signs itself."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-keyout", key, "-out", certificate, "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    return certificate, key


class Process:
    """A server with JSON logs; its address is that of the log line."""

    def __init__(self, message, *command):
        self.process = subprocess.Popen([*command, "--log_format=json"], stderr=subprocess.PIPE, text=True)
        self.addresses = {}
        for line in self.process.stderr:
            entry = json.loads(line) if line.startswith("{") else {}
            if "address" in entry:
                self.addresses[entry["message"]] = entry["address"]
            if entry.get("message") == message:
                break
        if message not in self.addresses:
            raise RuntimeError(f"{command[0]} did not start")
        self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.reader.start()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_SECONDS)
        self.reader.join()
        self.process.stderr.close()
        return code


def review(item, operation="CREATE", old=None, **request):
    group, _, version = item["apiVersion"].rpartition("/")
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "uid-7", "kind": {"group": group, "version": version, "kind": item["kind"]},
                        "namespace": item["metadata"].get("namespace", "default"), "operation": operation,
                        "object": item, "oldObject": old, **request}}


def example(**annotations):
    job = yaml.safe_load((EXAMPLES / "job.yaml").read_text())
    job["metadata"]["annotations"].update({f"planwright.dev/{key}": value for key, value in annotations.items()})
    return job


def asking(item):
    """A manifest with a graph, the pool and an accelerator for every container."""
    item = copy.deepcopy(item)
    item["metadata"].setdefault("annotations", {}).update(
        {"planwright.dev/graph": "zoo:bert-base", "planwright.dev/pool": "h100"})

    def ask_for_one(value):
        for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            ask_for_one(child)
        if isinstance(value, dict):
            for container in value.get("containers", []):
                container.setdefault("resources", {}).setdefault("limits", {})[RESOURCE] = 1

    ask_for_one(item["spec"])
    return item
