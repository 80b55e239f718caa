"""The hook behind a real API server, which asks it as deploy/kubernetes says: api_server_test.py WEBHOOK PLANWRIGHTD. Skipped
where KUBEBUILDER_ASSETS names no API server."""
import copy
import pathlib
import shutil
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (python3-yaml, with /usr/bin/python3)")
    sys.exit(77)

from real_api_server import RealApiServer, hook_configurations, wait_for, what_is_missing

if what_is_missing():
    print(f"skipped: {what_is_missing()}")
    sys.exit(77)
if shutil.which("kubectl") is None:
    print("skipped: kubectl is not installed (kubernetes-client)")
    sys.exit(77)

sys.path.append(str(pathlib.Path(__file__).parent.parent / "client/webhook/integration"))
from hook import EXAMPLES, SHARED, Process, asking, example, make_certificate  # noqa: E402  (of another folder)

WEBHOOK, DAEMON = sys.argv[1:3]
HUGE = "zoo:transformer?layers=200&hidden=16384&heads=128&vocab=129280&sequence=4096"
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"


class ApiServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = pathlib.Path(cls.scratch.name)
        certificate, key = make_certificate(folder)
        cls.daemon = Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=",
                             f"--store=sqlite:{folder / 'store.db'}")
        cls.addClassCleanup(cls.daemon.end)
        cls.hook = Process("serving reviews", WEBHOOK, "--listen_address=127.0.0.1:0", "--metrics_address=",
                           f"--server={cls.daemon.addresses['serving grpc']}", f"--tls_cert_file={certificate}",
                           f"--tls_key_file={key}", f"--pools_file={EXAMPLES / 'pools.yaml'}")
        cls.addClassCleanup(cls.hook.end)
        cls.server = RealApiServer(folder, certificate, key)
        cls.addClassCleanup(cls.server.end)
        cls.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
        for configuration in hook_configurations(folder, cls.hook.addresses["serving reviews"], certificate):
            cls.create(f"/apis/admissionregistration.k8s.io/v1/{configuration['kind'].lower()}s", configuration)
        # Both are heeded a moment later.
        wait_for(lambda: cls.plan_of(cls.create(f"{JOBS}?dryRun=All", example())))
        wait_for(lambda: cls.server.ask("POST", f"{JOBS}?dryRun=All", example(graph=HUGE))[0] != 201)

    @classmethod
    def create(cls, path, item):
        code, created = cls.server.ask("POST", path, item)
        assert code == 201, created
        return created

    @staticmethod
    def plan_of(item):
        return item["metadata"].get("annotations", {}).get("planwright.dev/predicted-ms")

    def test_a_job_that_fits_is_patched_and_later_changes_pass(self):
        created = self.create(JOBS, example())
        self.assertTrue(self.plan_of(created))
        variables = created["spec"]["template"]["spec"]["containers"][0]["env"]
        self.assertEqual([one["name"] for one in variables], ["PLANWRIGHT_PLAN", "PLANWRIGHT_STAGE_OF_RANK"])
        code, changed = self.server.ask("PATCH", f"{JOBS}/train", {"metadata": {"labels": {"colour": "blue"}}},
                                        "application/merge-patch+json")
        self.assertEqual((code, changed["spec"]), (200, created["spec"]), changed)

    def test_a_job_that_does_not_fit_is_denied(self):
        job = example(graph=HUGE)
        job["metadata"]["name"] = "huge"
        code, said = self.server.ask("POST", JOBS, job)
        self.assertGreaterEqual(code, 400)
        self.assertTrue(said["message"].startswith('admission webhook "validate.planwright.dev" denied the request: '), said)
        self.assertEqual(self.server.ask("GET", f"{JOBS}/huge")[0], 404)

    def test_a_job_that_names_no_graph_is_left_alone(self):
        job = example()
        job["metadata"].update(name="alone", annotations={})
        self.assertIsNone(self.plan_of(self.create(JOBS, job)))

    def test_custom_kinds_are_patched(self):
        if not (SHARED / "crds").is_dir():
            self.skipTest(f"{SHARED / 'crds'} is not there")
        items = [item for path in sorted((SHARED / "jobs").glob("*.yaml"))
                 for item in yaml.safe_load_all(path.read_text()) if item is not None]
        for kind, file in (("JobSet", "jobset.x-k8s.io_jobsets"), ("PyTorchJob", "kubeflow.org_pytorchjobs")):
            with self.subTest(kind=kind):
                definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
                definition = self.create(definitions, yaml.safe_load((SHARED / f"crds/{file}.yaml").read_text()))
                name = definition["metadata"]["name"]
                wait_for(lambda path=f"{definitions}/{name}": any(
                    condition["type"] == "Established" and condition["status"] == "True"
                    for condition in self.server.ask("GET", path)[1].get("status", {}).get("conditions", [])))
                item = asking(next(one for one in items if one["kind"] == kind))
                item["metadata"] = {"name": "custom", "annotations": copy.copy(item["metadata"]["annotations"])}
                path = f"/apis/{item['apiVersion']}/namespaces/team-a/{definition['spec']['names']['plural']}"
                # A definition is served a moment after it is established.
                self.assertTrue(self.plan_of(wait_for(lambda: self.created(path, item))))

    def created(self, path, item):
        """The object; None: there is no such kind yet."""
        code, created = self.server.ask("POST", path, item)
        self.assertIn(code, (201, 404), created)
        return created if code == 201 else None


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
