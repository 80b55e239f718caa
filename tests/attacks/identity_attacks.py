"""Against who callers are, the certificates that say so, and the log that keeps it."""
import json
import os
import signal
import subprocess
import threading

import raw_http2
from arena import Failure, attack, expect, grpc, refusal, service, small_plan, until

METHODS = ("GetServerInfo", "CreatePlan", "StreamPlan", "RegisterGraph")
ODD_BYTES = (b"\x80", b"\x01", b"\x7f", b"\n", b"\r", b"\x00")
LATER_TRACE = b"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-"


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


def make_certificate(folder, name, subject, alternative=None, authority=None):
    """NAME.pem and NAME.key."""
    signed = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key"] if authority else []
    more = ["-addext", f"subjectAltName={alternative}"] if alternative else []
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", f"/CN={subject}", *signed, *more, "-keyout", f"{name}.key", "-out", f"{name}.pem")


def make_expired(folder, name, subject, authority):
    """NAME.pem and NAME.key, of which only `openssl ca` can choose the dates."""
    write(folder, "index", b"")
    write(folder, "expired.cnf", b"[ca]\ndefault_ca = own\n[own]\ndatabase = index\ndefault_md = sha256\n"
          b"new_certs_dir = .\nrand_serial = yes\npolicy = any\n[any]\ncommonName = supplied\n")
    openssl(folder, "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config",
            "/etc/ssl/openssl.cnf", "-subj", f"/CN={subject}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl(folder, "ca", "-batch", "-notext", "-config", "expired.cnf", "-cert", f"{authority}.pem", "-keyfile",
            f"{authority}.key", "-startdate", "20200101000000Z", "-enddate", "20200201000000Z", "-in", f"{name}.csr",
            "-out", f"{name}.pem")


class Authority:
    """A folder with an authority, a certificate of the server's, and those of an ordinary client and of its own making."""

    def __init__(self, folder):
        self.folder = folder
        make_certificate(folder, "ca", "ca")
        write(folder, "trusted.pem", read(folder, "ca.pem"))
        make_certificate(folder, "server", "localhost", "DNS:localhost,IP:127.0.0.1", "ca")
        make_certificate(folder, "ordinary", "whoever", "DNS:ordinary.example", "ca")

    def file(self, name):
        return os.path.join(self.folder, name)

    def flags(self):
        return [f"--tls_cert_file={self.file('server.pem')}", f"--tls_key_file={self.file('server.key')}",
                f"--tls_client_ca_file={self.file('trusted.pem')}"]

    def ordinary(self):
        return [f"--ca={self.file('ca.pem')}", f"--certificate={self.file('ordinary.pem')}",
                f"--key={self.file('ordinary.key')}"]

    def stub(self, server, name):
        credentials = grpc.ssl_channel_credentials(read(self.folder, "ca.pem"), read(self.folder, f"{name}.key"),
                                                   read(self.folder, f"{name}.pem"))
        return server.stub(("grpc.use_local_subchannel_pool", 1), credentials=credentials)

    def revoke(self, name):
        """list.crl: the certificates revoked so far, and this one; None: no other."""
        if not os.path.exists(self.file("index")):
            write(self.folder, "index", b"")
            write(self.folder, "openssl.cnf", b"[ca]\ndefault_ca = own\n[own]\ndatabase = index\ndefault_md = sha256\n")
        signer = ["ca", "-config", "openssl.cnf", "-cert", "ca.pem", "-keyfile", "ca.key"]
        if name:
            openssl(self.folder, *signer, "-revoke", f"{name}.pem")
        openssl(self.folder, *signer, "-gencrl", "-crldays", "2", "-out", "list.crl")


def ask(stub):
    return stub.GetServerInfo(service.GetServerInfoRequest(), timeout=10)


def reload(server, wanted):
    """Sends SIGHUP and waits for one more line `wanted`; its record."""
    def lines():
        return [record for record in server.log() if record["message"] == wanted]

    before = len(lines())
    server.process.send_signal(signal.SIGHUP)
    until(lambda: len(lines()) > before, f"\"{wanted}\" after SIGHUP")
    return lines()[-1]


@attack(1, "metadata with bytes that gRPC cannot send back", mixes=True)
def odd_metadata(arena):
    server = arena.serve()
    with arena.bystander(server):
        for method in METHODS:
            for byte in ODD_BYTES:
                for name, value in (("traceparent", LATER_TRACE + byte), ("x-request-id", b"id" + byte),
                                    ("x-planwright-tenant", b"team" + byte), ("authorization", b"Bearer " + byte)):
                    with raw_http2.Connection(server.address) as connection:
                        path = f"/planwright.v1.PlanningService/{method}"
                        connection.send(raw_http2.settings() + raw_http2.headers(
                            1, raw_http2.call_headers(path, [(name, value)])) + raw_http2.data(
                                1, raw_http2.grpc_message(b""), end_stream=True))
                        connection.read_frame()
            expect(server.is_running(), f"planwrightd ended with an odd header of {method}")


@attack("1b", "tokens, traces and addresses that a client cannot send")
def odd_client(arena):
    server = arena.serve()
    client = os.path.join(os.path.dirname(arena.daemon), "planwright")
    expect(os.path.exists(client), f"{client} is not built")
    for byte in (b"\x80", b"\x01", b"\n", b"\xff"):
        write(arena.folder, "token", b"sec" + byte + b"ret-token")
        runs = ([f"--server={server.address}", f"--token_file={arena.folder}/token"], {}), (
            [f"--server={server.address}"], {b"TRACEPARENT": LATER_TRACE + byte}), (
                [b"--server=local" + byte + b"host:1", "--deadline=2s"], {}), (
                    [f"--server={server.address}"], {b"PLANWRIGHT_TOKEN": b"sec" + byte + b"ret-token"})
        for arguments, environment in runs:
            run = subprocess.run([client, "server-info", *arguments], capture_output=True, timeout=60, check=False,
                                 env={**os.environb, **environment})
            expect(run.returncode >= 0, f"planwright ended by signal {-run.returncode} with {arguments} {environment}")
            expect(b"ret-token" not in run.stdout + run.stderr, "planwright printed the token")


class SlowReader:
    """The end of the server's standard error that somebody forgets to read."""

    def __init__(self, arena, *flags):
        self.end, writer = os.pipe()
        self.server = arena.serve(*flags, stderr=writer)
        os.close(writer)
        self.text = b""
        for message, attribute in (("serving http", "http"), ("serving grpc", "address")):
            until(lambda: self.record(message, read_more=True) is not None, message, seconds=30)
            setattr(self.server, attribute, self.record(message)["address"])

    def record(self, message, read_more=False):
        if read_more:
            self.text += os.read(self.end, 65536)
        for line in self.text.split(b"\n")[:-1]:
            if line.startswith(b"{") and json.loads(line)["message"] == message:
                return json.loads(line)
        return None

    def read_on(self):
        """Reads in a thread until the server ends."""
        def work():
            for part in iter(lambda: os.read(self.end, 65536), b""):
                self.text += part

        reader = threading.Thread(target=work, daemon=True)
        reader.start()
        return reader


def fill_log(server):
    """Calls until lines are dropped."""
    stub = server.stub()
    for _ in range(40):
        for _ in range(1000):
            ask(stub)
        if server.metric("planwright_log_dropped_total") > 0:
            return
    raise Failure("40,000 calls dropped no line of a log that nobody reads")


@attack(16, "standard error that nobody reads")
def unread_log(arena):
    reading = SlowReader(arena, "--log_level=debug")
    fill_log(reading.server)
    with arena.bystander(reading.server):
        for _ in range(100):
            ask(reading.server.stub())
    dropped = reading.server.metric("planwright_log_dropped_total")
    reader = reading.read_on()
    until(lambda: reading.record("log lines dropped") is not None, "the log says what it has dropped", seconds=20)
    code = reading.server.end(seconds=20)
    reader.join(10)
    expect(code == 0, f"planwrightd ended with {code}")
    said = 0
    for line in reading.text.split(b"\n")[:-1]:
        record = json.loads(line)
        said += record["lines"] if record["message"] == "log lines dropped" else 0
    expect(said >= dropped, f"{dropped:.0f} lines were dropped, the log tells of {said}")
    # Another one, which has to end while nobody reads.
    stuck = SlowReader(arena, "--log_level=debug")
    fill_log(stuck.server)
    code = stuck.server.end(seconds=20)
    expect(code == 0, f"planwrightd ended with {code}")


@attack(17, "certificates that are broken, expired or another's at a reload")
def broken_reload(arena):
    own = Authority(arena.folder)
    make_certificate(own.folder, "other", "other")
    make_expired(own.folder, "expired", "localhost", "ca")
    server = arena.serve(*own.flags())
    good = {name: read(own.folder, name) for name in ("trusted.pem", "server.pem", "server.key")}
    refused = "reload failed, nothing has changed"
    with arena.bystander(server, options=own.ordinary()):
        broken = b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"
        for name, content, flag in (
                ("trusted.pem", read(own.folder, "other.pem") + broken + good["trusted.pem"], "--tls_client_ca_file"),
                ("trusted.pem", read(own.folder, "other.pem") + b"\x00\n" + good["trusted.pem"], "--tls_client_ca_file"),
                ("server.pem", read(own.folder, "expired.pem"), "--tls_cert_file"),
                ("server.key", read(own.folder, "ordinary.key"), "--tls_key_file"),
                ("server.pem", good["server.pem"] + broken, "--tls_cert_file")):
            write(own.folder, name, content)
            if name == "server.pem" and b"nonsense" not in content:
                write(own.folder, "server.key", read(own.folder, "expired.key"))
            expect(flag in reload(server, refused)["error"], f"the log does not name {flag}")
            for file, text in good.items():
                write(own.folder, file, text)
            ask(own.stub(server, "ordinary"))
        reload(server, "reloaded")
        ask(own.stub(server, "ordinary"))
    expect(server.metric('planwright_reloads_total{outcome="failed"}') == 5, "5 reloads failed")
    expect(server.metric('planwright_reloads_total{outcome="ok"}') == 1, "1 reload was right")
    expiry = server.metric(f'planwright_certificate_expiry_timestamp_seconds{{file="{own.file("server.pem")}"}}')
    expect(expiry > 0, "/metrics tells when the server's certificate expires")
    expect(any(record["message"].startswith("expires soon") for record in server.log()), "the log warns of the expiry")


@attack("17b", "a revoked certificate on a connection that is open")
def revoked(arena):
    own = Authority(arena.folder)
    make_certificate(own.folder, "thief", "thief", "DNS:ordinary.example", "ca")
    own.revoke(None)
    server = arena.serve(*own.flags(), f"--tls_client_crl_file={own.file('list.crl')}")
    with arena.bystander(server, options=own.ordinary()):
        thief = own.stub(server, "thief")
        ask(thief)
        own.revoke("thief")
        reload(server, "reloaded")
        for stub in (thief, own.stub(server, "thief")):
            code = refusal(lambda stub=stub: stub.CreatePlan(small_plan(), timeout=10)).code()
            expect(code == grpc.StatusCode.UNAUTHENTICATED, f"a revoked certificate got {code}")


@attack(18, "a common name that looks like somebody's alternative name")
def impostor(arena):
    own = Authority(arena.folder)
    # A slash begins another part of the subject unless it is escaped.
    make_certificate(own.folder, "impostor", "spiffe:\\/\\/cluster\\/scheduler", "DNS:evil.example", "ca")
    make_certificate(own.folder, "impostor2", "ordinary.example", "email:evil@evil.example", "ca")
    make_certificate(own.folder, "scheduler", "whoever", "URI:spiffe://cluster/scheduler", "ca")
    for key in ("uri", "subject"):
        write(own.folder, "auth.json", json.dumps({"certificates": [
            {key: "spiffe://cluster/scheduler", "tenant": "team-b", "role": "admin"},
            {"dns": "ordinary.example", "role": "planner"}]}).encode())
        server = arena.serve(*own.flags(), f"--auth_config={own.file('auth.json')}")
        with arena.bystander(server, options=own.ordinary()):
            ask(own.stub(server, "scheduler"))
            for name in ("impostor", "impostor2"):
                code = refusal(lambda name=name: ask(own.stub(server, name))).code()
                expect(code == grpc.StatusCode.UNAUTHENTICATED, f"{name} got {code}")
