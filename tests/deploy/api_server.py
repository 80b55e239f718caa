"""The part of the API of Kubernetes that the inventory calls, over HTTPS: lists of nodes in pages, one ConfigMap. A
stand-in, since no API server is in Debian."""
import http.server
import json
import ssl
import threading
import urllib.parse


def node(number, devices=8, labels=None, cordoned=False, ready=True):
    """A node with the fields that a real one has, and of the size of one: about 11 kB."""
    name = f"node-{number:05}"
    image = "registry.example.com/team/a-component-with-a-long-name"
    kubelet_fields = {f"f:field-{i}": {"f:lastHeartbeatTime": {}, "f:message": {}, "f:reason": {}} for i in range(40)}
    quantities = {"cpu": "192", "memory": "2113480248Ki", "pods": "110", "nvidia.com/gpu": str(devices)}
    return {
        "metadata": {
            "name": name, "uid": f"5b4f3d1e-0000-4000-8000-{number:012}", "resourceVersion": str(1000 + number),
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
                       **{f"feature.node.kubernetes.io/cpu-cpuid.{i}": "true" for i in range(30)},
                       "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", **(labels or {})},
            "annotations": {f"example.com/annotation-{i}": "x" * 60 for i in range(10)},
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": kubelet_fields}]},
        "spec": {"podCIDR": "10.0.0.0/24", **({"unschedulable": True} if cordoned else {})},
        "status": {
            "capacity": quantities, "allocatable": quantities,
            "conditions": [{"type": kind, "status": "False", "reason": "KubeletHasSufficient", "message": "m" * 80}
                           for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")] +
                          [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "images": [{"names": [f"{image}@sha256:{i:064}", f"{image}:{i}"], "sizeBytes": 10 ** 9} for i in range(25)],
            "nodeInfo": {"kernelVersion": "6.1.0", "kubeletVersion": "v1.31.2"}}}


class ApiServer:
    """Serves `nodes` and the ConfigMap `data` to whoever has the token. `expire` lists are told once that they are out of
    date; `refuse` maps a path to a code."""

    def __init__(self, certificate, key, token):
        self.token, self.nodes, self.data = token, [], None
        self.expire, self.refuse, self.requests = 0, {}, []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(*server.get(self))

            def do_PATCH(self):
                self.answer(*server.patch(self, self.rfile.read(int(self.headers["Content-Length"]))))

            def answer(self, code, value):
                body = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.http.server_address[1]

    def end(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    @staticmethod
    def status(code, reason, message):
        return code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason,
                      "code": code}

    def refusal(self, request):
        """The answer to a request that is not served; None: it is."""
        path = urllib.parse.urlsplit(request.path).path
        self.requests.append(f"{request.command} {request.path}")
        if request.headers["Authorization"] != f"Bearer {self.token}":
            return self.status(401, "Unauthorized", "Unauthorized")
        if f"{request.command} {path}" in self.refuse:
            return self.status(self.refuse[f"{request.command} {path}"], "Forbidden", "not for you")
        return None

    def get(self, request):
        refusal = self.refusal(request)
        if refusal is not None:
            return refusal
        url = urllib.parse.urlsplit(request.path)
        if url.path == "/api/v1/nodes":
            return self.page(urllib.parse.parse_qs(url.query))
        if url.path == "/api/v1/namespaces/planwright/configmaps/planwright-pools":
            return 200, {"kind": "ConfigMap", "metadata": {"name": "planwright-pools"},
                         **({} if self.data is None else {"data": self.data})}
        return self.status(404, "NotFound", f"{url.path} is not there")

    def page(self, query):
        # Its own token holds what has to be escaped in an address.
        begin = int(query.get("continue", ["+/=0"])[0].removeprefix("+/="))
        if begin > 0 and self.expire > 0:
            self.expire -= 1
            return self.status(410, "Expired", "The provided continue parameter is too old")
        end = begin + int(query["limit"][0])
        more = {"continue": f"+/={end}"} if end < len(self.nodes) else {}
        items = b",".join(self.nodes[begin:end])
        head = json.dumps({"resourceVersion": "7", **more}).encode()
        return 200, b'{"kind":"NodeList","apiVersion":"v1","metadata":' + head + b',"items":[' + items + b"]}"

    def patch(self, request, body):
        refusal = self.refusal(request)
        if refusal is not None:
            return refusal
        if request.headers["Content-Type"] != "application/merge-patch+json":
            return self.status(415, "UnsupportedMediaType", "not a merge patch")
        self.data = {**(self.data or {}), **json.loads(body)["data"]}
        return 200, {"kind": "ConfigMap", "data": self.data}

    def set_nodes(self, nodes):
        self.nodes = [json.dumps(one).encode() for one in nodes]
