"""What the hook makes of jobs, against the schemas of their kinds: schemas_test.py WEBHOOK PLANWRIGHTD. Those of JobSet,
PyTorchJob and TrainJob are the published ones; that of Job is in npm's kubernetes-models (deploy/check-kubernetes.sh)."""
import base64
import copy
import json
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request

try:
    import jsonpatch
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (python3-jsonpatch, python3-jsonschema, python3-yaml, with /usr/bin/python3)")
    sys.exit(77)

from hook import EXAMPLES, PATIENCE_SECONDS, SHARED, Process, asking, example, make_certificate, review

WEBHOOK, DAEMON = sys.argv[1:3]
MODELS = pathlib.Path("build/kubernetes-models").absolute()
TRAIN_JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "train"},
             "spec": {"runtimeRef": {"name": "torch-distributed"},
                      "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}}}


def strict(schema):
    """A schema of a CRD that also refuses fields that an API server would drop."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: {name: strict(one) for name, one in value.items()} if key == "properties" else strict(value)
              for key, value in schema.items()}
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if "properties" in schema and not keeps:
        schema["additionalProperties"] = False
    return schema


def schema_of(item):
    """The strict schema of a custom kind; metadata is an API server's own matter."""
    for path in (SHARED / "crds").glob("*.yaml"):
        definition = yaml.safe_load(path.read_text())["spec"]
        for version in definition["versions"]:
            if item["apiVersion"] == f"{definition['group']}/{version['name']}" and item["kind"] == definition["names"]["kind"]:
                schema = strict(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                return schema
    return None


class SchemasTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        certificate, key = make_certificate(folder)
        cls.tls = ssl.create_default_context(cafile=certificate)
        cls.daemon = Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=",
                             f"--store=sqlite:{folder / 'store.db'}")
        cls.hook = Process("serving reviews", WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=",
                           f"--server={cls.daemon.addresses['serving grpc']}", f"--tls_cert_file={certificate}",
                           f"--tls_key_file={key}", f"--pools_file={EXAMPLES / 'pools.yaml'}")

    @classmethod
    def tearDownClass(cls):
        codes = cls.hook.end(), cls.daemon.end()
        cls.scratch.cleanup()
        assert codes == (0, 0), codes

    def patched(self, item):
        request = urllib.request.Request(f"https://{self.hook.addresses['serving reviews']}/mutate",
                                         json.dumps(review(item)).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, context=self.tls, timeout=PATIENCE_SECONDS) as answer:
            response = json.loads(answer.read())["response"]
        self.assertTrue(response["allowed"])
        self.assertIn("patch", response, response.get("warnings"))
        return jsonpatch.apply_patch(item, json.loads(base64.b64decode(response["patch"])))

    def test_custom_kinds_keep_to_their_definitions(self):
        if not (SHARED / "crds").is_dir():
            self.skipTest(f"{SHARED / 'crds'} is not there")
        items = [item for path in sorted((SHARED / "jobs").glob("*.yaml"))
                 for item in yaml.safe_load_all(path.read_text()) if item is not None]
        kinds = set()
        for item in [*items, TRAIN_JOB]:
            schema = schema_of(item)
            if schema is None:
                continue
            with self.subTest(kind=item["kind"], name=item["metadata"].get("name")):
                jsonschema.validate(item, schema)
                jsonschema.validate(self.patched(asking(item)), schema)
                kinds.add(item["kind"])
        self.assertEqual(kinds, {"JobSet", "PyTorchJob", "TrainJob"})
        # What is wrong is seen.
        wrong = copy.deepcopy(TRAIN_JOB)
        wrong["spec"]["trainer"]["environment"] = []
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema_of(wrong))

    def test_jobs_keep_to_the_schema_of_kubernetes(self):
        if not (MODELS / "node_modules").is_dir() or shutil.which("node") is None:
            self.skipTest("kubernetes-models of npm is not here: deploy/check-kubernetes.sh installs it into build/")
        said = subprocess.run(["node", "tests/deploy/kubernetes_models.mjs", MODELS], capture_output=True, text=True,
                              input=json.dumps([self.patched(example())]), check=True).stdout
        self.assertEqual(json.loads(said), ["ok"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
