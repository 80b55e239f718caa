"""The overlays of deploy/kubernetes as kubectl renders them, and what their objects say of each other."""
import pathlib
import shutil
import subprocess

import yaml

SOURCE = pathlib.Path("deploy/kubernetes")
# Kinds whose pods stand behind a template.
WORKLOADS = {"Deployment", "CronJob", "Job"}


def overlays():
    return sorted(path.parent.name for path in SOURCE.glob("*/kustomization.yaml"))


def copy_of_the_sources(folder):
    """A copy with certificates made by our own script, as the docs say."""
    copy = pathlib.Path(folder) / "kubernetes"
    shutil.copytree(SOURCE, copy)
    plain = copy / "webhook-plain-certificates"
    subprocess.run([plain / "certificates.sh"], check=True, capture_output=True)
    return copy


def render(overlay):
    """The objects of a folder; warnings of newer versions about older words go to standard error."""
    rendered = subprocess.run(["kubectl", "kustomize", overlay], capture_output=True, text=True)
    if rendered.returncode != 0:
        raise AssertionError(f"{overlay}: {rendered.stderr}")
    return [item for item in yaml.safe_load_all(rendered.stdout) if item is not None]


def pod_template(item):
    """The template of a workload's pods; None: it has none."""
    if item["kind"] not in WORKLOADS:
        return None
    spec = item["spec"]
    if item["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return spec["template"]


def templates(items):
    return [(item, pod_template(item)) for item in items if pod_template(item) is not None]


def containers(template):
    return template["spec"]["containers"] + template["spec"].get("initContainers", [])


def named(items, kind):
    return {item["metadata"]["name"]: item for item in items if item["kind"] == kind}


def is_selected(labels, selector):
    """By a label selector; expressions are not used in our manifests."""
    wanted = selector.get("matchLabels", {})
    if set(selector) - {"matchLabels"}:
        raise AssertionError(f"a selector with {set(selector)}")
    return all(labels.get(key) == value for key, value in wanted.items())


def references(template):
    """(kind, name) of everything that the pods of a template need to start."""
    spec = template["spec"]
    found = {("ServiceAccount", spec["serviceAccountName"])}
    for volume in spec.get("volumes", []):
        if "secret" in volume:
            found.add(("Secret", volume["secret"]["secretName"]))
        if "configMap" in volume:
            found.add(("ConfigMap", volume["configMap"]["name"]))
        if "persistentVolumeClaim" in volume:
            found.add(("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]))
    for container in containers(template):
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            if "secretKeyRef" in source:
                found.add(("Secret", source["secretKeyRef"]["name"]))
            if "configMapKeyRef" in source:
                found.add(("ConfigMap", source["configMapKeyRef"]["name"]))
    return found


def port_of(value):
    """The port of an address such as 0.0.0.0:50051 or dns:///planwrightd.planwright.svc:50051."""
    return int(value.rsplit(":", 1)[1])


def flags(container):
    """The flags of a container's args, without their dashes."""
    return dict(argument.removeprefix("--").partition("=")[::2] for argument in container.get("args", [])
                if argument.startswith("--"))
