"""deploy/compose: files and names fit together, and programs take what they are told. No container is started, since that needs
a daemon and a registry: compose_test.py PLANWRIGHTD."""
import json
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

DAEMON = sys.argv[1]
FOLDER = pathlib.Path("deploy/compose")
SERVICES = yaml.safe_load((FOLDER / "compose.yaml").read_text())


class ComposeTest(unittest.TestCase):
    def mounts(self):
        """(service, source, target) of every mount."""
        return [(name, *mount.split(":")[:2]) for name, service in SERVICES["services"].items()
                for mount in service.get("volumes", [])]

    def test_files_that_are_mounted_are_there_and_volumes_declared(self):
        for name, source, _ in self.mounts():
            if source.startswith("."):
                self.assertTrue((FOLDER / source).is_file(), f"{name}: {source}")
            else:
                self.assertIn(source, SERVICES["volumes"])

    def test_planwrightd_takes_its_command(self):
        command = SERVICES["services"]["planwrightd"]["command"]
        self.assertEqual(command[0], "planwrightd")
        checked = subprocess.run([DAEMON, *command[1:], "--validate_config"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_ports_are_open_on_loopback_only_and_are_those_of_the_command(self):
        for name, service in SERVICES["services"].items():
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), f"{name}: {port}")
        command = " ".join(SERVICES["services"]["planwrightd"]["command"])
        self.assertIn(":" + SERVICES["services"]["planwrightd"]["ports"][0].rsplit(":", 1)[1], command)

    def test_names_of_services_are_those_that_others_call(self):
        command = " ".join(SERVICES["services"]["planwrightd"]["command"])
        prometheus = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
        datasource = yaml.safe_load((FOLDER / "grafana/datasources.yaml").read_text())["datasources"][0]
        called = [re.search(r"host=(\w+)", command)[1], re.search(r"//(\w+):9090", datasource["url"])[1]]
        for job in prometheus["scrape_configs"]:
            for target in job["static_configs"][0]["targets"]:
                host, port = target.split(":")
                called.append(host)
                self.assertIn(f"--metrics_address=0.0.0.0:{port}", command)
        self.assertLessEqual(set(called), set(SERVICES["services"]))
        for service in SERVICES["services"].values():
            self.assertLessEqual(set(service.get("depends_on", {})), set(SERVICES["services"]))

    def test_prometheus_takes_its_configuration(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed (prometheus)")
        targets = {target: source for _, source, target in self.mounts()}
        with tempfile.TemporaryDirectory() as name:
            text = (FOLDER / "prometheus.yaml").read_text()
            for rule in yaml.safe_load(text)["rule_files"]:
                text = text.replace(rule, str((FOLDER / targets[rule]).resolve()))
            path = pathlib.Path(name) / "prometheus.yaml"
            path.write_text(text)
            checked = subprocess.run(["promtool", "check", "config", path], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_grafana_finds_the_dashboard_that_it_begins_with(self):
        grafana = SERVICES["services"]["grafana"]
        targets = {target: FOLDER / source for name, source, target in self.mounts() if name == "grafana"}
        home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        self.assertTrue(json.loads(targets[home].read_text())["panels"])
        provider = yaml.safe_load((FOLDER / "grafana/dashboards.yaml").read_text())["providers"][0]
        self.assertEqual(str(pathlib.Path(home).parent), provider["options"]["path"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
