"""A real API server of Kubernetes with an etcd of its own, of the programs in the folder that KUBEBUILDER_ASSETS names (as for
envtest), and what it is told of a hook that runs beside it."""
import base64
import json
import os
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request

import yaml

from rendered import copy_of_the_sources, render

FOLDER = pathlib.Path(os.environ.get("KUBEBUILDER_ASSETS", ""))
PROGRAMS = ("etcd", "kube-apiserver")
PATIENCE_SECONDS = 60
TOKEN = "token-of-the-test"


def what_is_missing():
    """Why no API server can be started; empty: nothing is missing."""
    if FOLDER == pathlib.Path(""):
        return "KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd; neither Debian nor npm has an API server"
    missing = [program for program in PROGRAMS if not os.access(FOLDER / program, os.X_OK)]
    return f"KUBEBUILDER_ASSETS: {FOLDER} has no {' and no '.join(missing)}" if missing else ""


def hook_configurations(folder, address, certificate):
    """What the overlay with plain certificates tells an API server, of a hook at an address in place of a Service, whose
    certificate stands in a file. Copies the manifests into the folder."""
    plain = copy_of_the_sources(folder) / "webhook-plain-certificates"
    authority = plain / "authority-patch.yaml"
    patch = yaml.safe_load(authority.read_text())
    patch[0]["value"] = base64.b64encode(certificate.read_bytes()).decode()
    authority.write_text(yaml.safe_dump(patch))
    configurations = [item for item in render(plain) if item["kind"].endswith("WebhookConfiguration")]
    for configuration in configurations:
        client = configuration["webhooks"][0]["clientConfig"]
        client["url"] = f"https://{address}{client.pop('service')['path']}"
    return configurations


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition):
    """What the condition returns once that is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (met := condition()):
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.1)
    return met


class Program:
    """One of the folder's programs, with its output in a file."""

    def __init__(self, folder, name, *arguments):
        self.log = folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([FOLDER / name, *arguments], stdout=log, stderr=log)

    def wait_until(self, is_ready):
        def look():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.process.args[0]} ended: {self.log.read_text()[-2000:]}")
            return is_ready()

        try:
            wait_for(look)
        except AssertionError:
            self.end()
            raise

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


class Etcd(Program):
    def __init__(self, folder):
        self.address, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        super().__init__(folder, "etcd", f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={self.address}",
                         f"--advertise-client-urls={self.address}", f"--listen-peer-urls={peers}")
        self.wait_until(self.is_healthy)

    def is_healthy(self):
        try:
            with urllib.request.urlopen(f"{self.address}/health", timeout=PATIENCE_SECONDS) as answer:
                return json.loads(answer.read())["health"] == "true"
        except OSError:
            return False


class RealApiServer(Program):
    """Serves at 127.0.0.1 with the certificate. No controller and no node stands beside it."""

    def __init__(self, folder, certificate, key):
        self.tls = ssl.create_default_context(cafile=certificate)
        self.etcd = Etcd(folder)
        tokens = folder / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        port = free_port()
        self.address = f"https://127.0.0.1:{port}"
        super().__init__(
            folder, "kube-apiserver", f"--etcd-servers={self.etcd.address}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            # No other network is needed, and no Service leads here.
            "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
            f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}", f"--cert-dir={folder / 'kube-apiserver'}",
            f"--token-auth-file={tokens}", "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-signing-key-file={key}",
            # It reads public keys of this kind from certificates, not from PKCS #8.
            f"--service-account-key-file={certificate}", "--disable-admission-plugins=ServiceAccount")
        self.wait_until(self.is_ready)

    def is_ready(self):
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def ask(self, method, path, item=None, kind="application/json"):
        """The HTTP code and the JSON, or else the text, of the answer."""
        body = json.dumps(item).encode() if item is not None else None
        request = urllib.request.Request(self.address + path, body, method=method, headers={
            "Authorization": f"Bearer {TOKEN}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=PATIENCE_SECONDS) as answer:
                code, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                code, text = error.code, error.read().decode()
        try:
            return code, json.loads(text)
        except ValueError:
            return code, text

    def end(self):
        super().end()
        self.etcd.end()
