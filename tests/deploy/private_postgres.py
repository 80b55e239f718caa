"""A PostgreSQL of the test's own: in a temporary folder, reached by a socket in it, by an unprivileged user."""
import os
import pathlib
import shutil
import subprocess
import tempfile

# Of Debian's packages; the latest version. None: none is installed.
PROGRAMS = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda path: int(path.parent.name))


class PrivatePostgres:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="planwright-postgres-")
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        self.run("initdb", f"--pgdata={self.folder}/data", "--username=planwright", "--auth=trust", "--no-sync")
        self.run("pg_ctl", f"--pgdata={self.folder}/data", f"--log={self.folder}/log", "--wait",
                 f"--options=-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync=off -c max_connections=100",
                 "start")
        self.databases = 0

    def run(self, program, *arguments):
        """One of PostgreSQL's programs as its user: initdb refuses root."""
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        # The server that pg_ctl starts keeps what it inherits.
        ran = subprocess.run([*user, PROGRAMS / program, *arguments], cwd="/", stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
        if ran.returncode != 0:
            raise RuntimeError(f"{program} failed")

    def make_database(self):
        """The --store of a new, empty database."""
        self.databases += 1
        name = f"test{self.databases}"
        self.run("createdb", f"--host={self.folder}", "--username=planwright", name)
        return f"postgresql:host={self.folder} user=planwright dbname={name}"

    def query(self, store, statement):
        """The rows that a statement returns, as texts."""
        asked = subprocess.run([PROGRAMS / "psql", store.removeprefix("postgresql:"), "--no-align", "--tuples-only",
                                f"--command={statement}"], capture_output=True, text=True, check=True)
        return asked.stdout.splitlines()

    def end(self):
        self.run("pg_ctl", f"--pgdata={self.folder}/data", "--mode=immediate", "--wait", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)
