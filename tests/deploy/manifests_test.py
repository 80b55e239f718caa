"""Every overlay of deploy/kubernetes, rendered by kubectl: what its objects name exists, what its containers are told is
understood by the programs. manifests_test.py PLANWRIGHTD WEBHOOK PLANWRIGHT."""
import base64
import copy
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError as missing:
    print(f"skipped: {missing} (python3-yaml, with /usr/bin/python3)")
    sys.exit(77)
if shutil.which("kubectl") is None:
    print("skipped: kubectl is not installed (kubernetes-client)")
    sys.exit(77)

from real_api_server import hook_configurations
from rendered import (SOURCE, containers, copy_of_the_sources, flags, is_selected, named, overlays, pod_template, port_of,
                      references, render, templates)

PROGRAMS = dict(zip(("planwrightd", "planwright-webhook", "planwright"), map(os.path.abspath, sys.argv[1:4])))
# Where deploy/check-kubernetes.sh installs kubernetes-models.
MODELS = pathlib.Path("build/kubernetes-models").absolute()
PAGE = pathlib.Path("docs/kubernetes.md")
# What whoever applies the manifests brings; the page says how.
BROUGHT = {("Secret", "planwrightd-tls"), ("Secret", "planwrightd-auth"), ("Secret", "planwright-postgres"),
           ("Secret", "planwright-webhook-service"), ("Secret", "planwright-webhook-tls"),
           ("Secret", "planwright-inventory"), ("ConfigMap", "planwright-inventory")}


def for_each_template(check):
    """A test that runs check(self, items of the overlay, workload, template of its pods) for each workload."""

    @functools.wraps(check)
    def test(self):
        for overlay, items in self.rendered.items():
            for item, template in templates(items):
                with self.subTest(overlay=overlay, kind=item["kind"], name=item["metadata"]["name"]):
                    check(self, items, item, template)

    return test


class ManifestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        sources = copy_of_the_sources(cls.scratch.name)
        cls.rendered = {name: render(sources / name) for name in overlays()}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_there_are_the_overlays_of_the_page(self):
        page = PAGE.read_text()
        self.assertEqual([name for name in self.rendered if f"`{name}`" not in page], [])

    def test_no_word_that_kubectl_1_20_does_not_know(self):
        known = {"apiVersion", "kind", "bases", "resources", "patchesStrategicMerge", "patchesJson6902", "images",
                 "secretGenerator", "configMapGenerator", "generatorOptions"}
        for path in SOURCE.glob("*/kustomization.yaml"):
            kustomization = yaml.safe_load(path.read_text())
            self.assertEqual(set(kustomization) - known, set(), path)
            for resource in kustomization.get("resources", []):
                self.assertTrue((path.parent / resource).is_file(), f"{path}: {resource}")

    @for_each_template
    def test_everything_that_pods_need_is_there_or_documented(self, items, item, template):
        page = PAGE.read_text()
        have = {(other["kind"], other["metadata"]["name"]) for other in items}
        have |= {("Secret", other["spec"]["secretName"]) for other in items if other["kind"] == "Certificate"}
        # The inventory and the hook share the ConfigMap of the pools.
        for kind, name in references(template) - have:
            self.assertIn((kind, name), BROUGHT)
            self.assertTrue(f"`{name}`" in page, f"docs/kubernetes.md does not name {name}")

    def test_certificates_come_from_one_place(self):
        for overlay in ("webhook-cert-manager", "webhook-plain-certificates"):
            items = self.rendered[overlay]
            made = set(named(items, "Secret")) | {item["spec"]["secretName"] for item in items
                                                  if item["kind"] == "Certificate"}
            self.assertIn("planwright-webhook-tls", made, overlay)
        for item in self.rendered["webhook-cert-manager"]:
            if item["kind"].endswith("WebhookConfiguration"):
                namespace, _, certificate = item["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].partition("/")
                self.assertEqual(namespace, "planwright")
                self.assertIn(certificate, named(self.rendered["webhook-cert-manager"], "Certificate"))

    @for_each_template
    def test_mounts_are_volumes_and_volumes_are_mounted(self, items, item, template):
        volumes = [volume["name"] for volume in template["spec"].get("volumes", [])]
        mounts = {mount["name"] for container in containers(template) for mount in container.get("volumeMounts", [])}
        self.assertEqual(len(volumes), len(set(volumes)))
        self.assertEqual(set(volumes), mounts)

    def test_selectors_select_pods_of_ours(self):
        for overlay, items in self.rendered.items():
            labels = [template["metadata"]["labels"] for _, template in templates(items)]
            for item in items:
                spec = item.get("spec", {})
                selectors = []
                if item["kind"] == "Service":
                    selectors = [{"matchLabels": spec["selector"]}]
                elif item["kind"] in ("PodDisruptionBudget", "Deployment"):
                    selectors = [spec["selector"]]
                elif item["kind"] == "NetworkPolicy":
                    selectors = [spec["podSelector"]]
                template = pod_template(item)
                if template is not None:
                    selectors += [constraint["labelSelector"]
                                  for constraint in template["spec"].get("topologySpreadConstraints", [])]
                for selector in selectors:
                    self.assertTrue(any(is_selected(one, selector) for one in labels),
                                    f"{overlay}: {item['kind']} {item['metadata']['name']} selects nothing")

    @for_each_template
    def test_ports_are_those_that_the_programs_listen_at(self, items, item, template):
        for container in containers(template):
            ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
            told = {port_of(value) for flag, value in flags(container).items()
                    if flag in ("listen_address", "metrics_address")}
            self.assertEqual(set(ports.values()), told)
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe in container:
                    get = container[probe]["httpGet"]
                    self.assertEqual(get["port"], "http-metrics")
                    self.assertIn(get["path"], ("/livez", "/readyz"))

    def test_ports_that_services_and_policies_name_are_there(self):
        for overlay, items in self.rendered.items():
            ports = {port["name"] for _, template in templates(items) for container in containers(template)
                     for port in container.get("ports", [])}
            for item in items:
                entries = item["spec"].get("ports", []) if item["kind"] == "Service" else []
                wanted = [entry["targetPort"] for entry in entries]
                if item["kind"] == "NetworkPolicy":
                    wanted = [entry["port"] for rule in item["spec"]["ingress"] for entry in rule["ports"]]
                self.assertLessEqual(set(wanted), ports, f"{overlay}: {item['kind']}")

    def test_the_autoscaler_scales_a_deployment_that_leaves_the_number_open(self):
        items = self.rendered["autoscaling"]
        target = named(items, "HorizontalPodAutoscaler")["planwrightd"]["spec"]["scaleTargetRef"]
        self.assertNotIn("replicas", named(items, target["kind"])[target["name"]]["spec"])

    @for_each_template
    def test_pods_keep_to_the_restricted_standard(self, items, item, template):
        spec = template["spec"]
        self.assertTrue(spec["securityContext"]["runAsNonRoot"])
        self.assertEqual(spec["securityContext"]["runAsUser"], 65532)
        self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        for container in containers(template):
            context = container["securityContext"]
            self.assertEqual((context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"],
                              context["capabilities"]), (False, True, {"drop": ["ALL"]}))
            self.assertIn("memory", container["resources"]["limits"])
            self.assertNotIn("latest", container["image"])

    @for_each_template
    def test_only_the_inventory_has_a_token(self, items, item, template):
        self.assertEqual(template["spec"].get("automountServiceAccountToken"),
                         item["metadata"]["name"] == "planwright-inventory")

    def test_the_inventory_has_no_right_beyond_its_own(self):
        items = self.rendered["inventory"]
        cluster, local = named(items, "ClusterRole")["planwright-inventory"], named(items, "Role")["planwright-inventory"]
        self.assertEqual(cluster["rules"], [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}])
        self.assertEqual(local["rules"], [{"apiGroups": [""], "resources": ["configmaps"],
                                           "resourceNames": ["planwright-pools"], "verbs": ["get", "patch"]}])
        for kind, role in (("ClusterRoleBinding", cluster), ("RoleBinding", local)):
            binding = named(items, kind)["planwright-inventory"]
            self.assertEqual((binding["roleRef"]["kind"], binding["roleRef"]["name"]),
                             (role["kind"], role["metadata"]["name"]))
            self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": "planwright-inventory",
                                                    "namespace": "planwright"}])

    def test_the_pools_are_shipped_without_data(self):
        pools = named(self.rendered["webhook"], "ConfigMap")["planwright-pools"]
        self.assertEqual(set(pools), {"apiVersion", "kind", "metadata"})

    def test_the_configurations_are_as_the_page_says(self):
        for overlay in ("webhook", "webhook-cert-manager", "webhook-plain-certificates"):
            items = self.rendered[overlay]
            hook = containers(pod_template(named(items, "Deployment")["planwright-webhook"]))[0]
            patience = int(flags(hook)["request_timeout"].removesuffix("s"))
            for kind, door in (("MutatingWebhookConfiguration", "/mutate"), ("ValidatingWebhookConfiguration", "/validate")):
                webhook = named(items, kind)["planwright"]["webhooks"][0]
                service = webhook["clientConfig"]["service"]
                self.assertEqual((service["namespace"], service["path"]), ("planwright", door))
                ports = [port["port"] for port in named(items, "Service")[service["name"]]["spec"]["ports"]]
                self.assertIn(service["port"], ports)
                self.assertEqual((webhook["failurePolicy"], webhook["sideEffects"], webhook["timeoutSeconds"]),
                                 ("Ignore", "NoneOnDryRun", 5))
                self.assertLess(patience, webhook["timeoutSeconds"])
                self.assertIn("planwright.dev/graph", webhook["matchConditions"][0]["expression"])
                excluded = [value for one in webhook["namespaceSelector"]["matchExpressions"] for value in one["values"]
                            if one["key"] == "kubernetes.io/metadata.name" and one["operator"] == "NotIn"]
                self.assertIn("planwright", excluded)
                if overlay == "webhook-plain-certificates":
                    self.assertTrue(webhook["clientConfig"]["caBundle"])

    def test_an_api_server_can_be_told_of_a_hook_beside_it(self):
        folder = pathlib.Path(self.scratch.name) / "beside"
        certificate = folder / "hook.crt"
        folder.mkdir()
        certificate.write_bytes(b"a certificate\n" * 40)
        told = hook_configurations(folder, "127.0.0.1:8443", certificate)
        doors = {"MutatingWebhookConfiguration": "/mutate", "ValidatingWebhookConfiguration": "/validate"}
        self.assertEqual({configuration["kind"] for configuration in told}, set(doors))
        for configuration in told:
            door = doors[configuration["kind"]]
            shipped = copy.deepcopy(named(self.rendered["webhook"], configuration["kind"])["planwright"])
            client = configuration["webhooks"][0].pop("clientConfig")
            self.assertEqual(client["url"], f"https://127.0.0.1:8443{door}")
            self.assertEqual(base64.b64decode(client["caBundle"]), certificate.read_bytes())
            self.assertEqual(set(client), {"url", "caBundle"})
            del shipped["webhooks"][0]["clientConfig"]
            self.assertEqual(configuration, shipped)

    def test_without_an_api_server_it_is_said_why(self):
        for assets, reason in ((None, "KUBEBUILDER_ASSETS names no folder"), (self.scratch.name, "has no etcd and no kube-apiserver")):
            environment = {**os.environ, "KUBEBUILDER_ASSETS": assets or ""}
            ran = subprocess.run([sys.executable, "tests/deploy/api_server_test.py"], capture_output=True, text=True,
                                 env=environment)
            self.assertEqual(ran.returncode, 77, ran.stderr)
            self.assertIn(reason, ran.stdout)

    @for_each_template
    def test_whom_pods_call_is_a_service_of_production(self, items, item, template):
        services = named(self.rendered["production"], "Service")
        for container in containers(template):
            environment = {entry["name"]: entry.get("value", "") for entry in container.get("env", [])}
            address = flags(container).get("server") or environment.get("PLANWRIGHT_SERVER")
            if address is None:
                continue
            name, namespace, _ = re.fullmatch(r"dns:///(.*):\d+", address)[1].split(".")
            self.assertEqual(namespace, "planwright")
            self.assertIn(port_of(address), [port["port"] for port in services[name]["spec"]["ports"]])

    @for_each_template
    def test_programs_take_their_arguments(self, items, item, template):
        for container in containers(template):
            program = container["command"][0]
            # A script, which inventory_test.py runs.
            if program == "/usr/local/lib/planwright/inventory.sh":
                continue
            help_text = subprocess.run([PROGRAMS[program], "--help"], capture_output=True, text=True, check=True).stdout
            for flag in flags(container):
                self.assertTrue(f"--{flag} " in help_text, f"{program} has no --{flag}")
            for entry in container.get("env", []):
                if entry["name"].startswith("PLANWRIGHT_"):
                    flag = entry["name"].removeprefix("PLANWRIGHT_").lower()
                    self.assertTrue(f"--{flag} " in help_text, f"{program} has no --{flag}")
            checked = subprocess.run([PROGRAMS[program], *self.with_files(container["args"]), "--validate_config"],
                                     capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def with_files(self, arguments):
        """The same, with files of this test in place of those that volumes hold."""
        folder = pathlib.Path(self.scratch.name) / "etc"
        if not folder.exists():
            plain = pathlib.Path(self.scratch.name) / "kubernetes/webhook-plain-certificates"
            for volume in ("tls", "auth", "service", "pools"):
                (folder / volume).mkdir(parents=True)
            for name in ("tls.crt", "tls.key"):
                shutil.copy(plain / name, folder / "tls")
            shutil.copy(plain / "tls.crt", folder / "service/ca.crt")
            (folder / "service/token").write_text("secret")
            (folder / "service/tokens.yaml").write_text("team-a: secret-a\n")
            (folder / "auth/auth.json").write_text(json.dumps({"tokens": [
                {"name": "hook", "sha256": "0" * 64, "tenant": "team-a", "role": "planner"}]}))
        return [argument.replace("/etc/planwright", str(folder)) for argument in arguments]

    def test_schemas_of_kubernetes_are_kept_to(self):
        if not (MODELS / "node_modules").is_dir() or shutil.which("node") is None:
            self.skipTest("kubernetes-models of npm is not here: deploy/check-kubernetes.sh installs it into build/")
        items = [item for overlay in self.rendered.values() for item in overlay]
        # Newer versions of kubectl break the lines of base64, which API servers take and these schemas do not.
        items = [{**item, "data": {key: value.replace("\n", "") for key, value in item["data"].items()}}
                 if item["kind"] == "Secret" else item for item in items]
        # What is wrong is seen.
        items.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": "3"}})
        said = json.loads(subprocess.run(["node", "tests/deploy/kubernetes_models.mjs", MODELS], input=json.dumps(items),
                                         capture_output=True, text=True, check=True).stdout)
        self.assertNotIn(said.pop(), ("ok", "unknown kind"))
        for item, verdict in zip(items, said):
            expected = "unknown kind" if item["apiVersion"].startswith("cert-manager.io/") else "ok"
            self.assertEqual(verdict, expected, f"{item['kind']} {item['metadata']['name']}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
