#include "tests/support/private_postgres.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace planwright {
namespace {

namespace fs = std::filesystem;

// The programs of Debian's packages, of the latest version. Empty: none is installed.
fs::path ProgramFolder() {
  fs::path latest;
  std::error_code none;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
    const fs::path folder = version.path() / "bin";
    if (fs::exists(folder / "initdb") && folder > latest) latest = folder;
  }
  return latest;
}

// initdb refuses root.
bool IsRoot() { return geteuid() == 0; }

fs::path MakeFolder() {
  std::string name = (fs::temp_directory_path() / "planwright-postgres-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  return name;
}

// Whether it runs, or could; not where it is stopped, dead or gone.
bool IsGoing(pid_t process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string number;
  std::string name;
  char state = 'X';
  stat >> number >> name >> state;
  return std::string_view("TtZX").find(state) == std::string_view::npos;
}

// A signal to stop has stopped the process when this returns: until then it may still fork, or answer.
void SignalProcess(pid_t process, int signal) {
  kill(process, signal);
  while (signal == SIGSTOP && IsGoing(process)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

bool PrivatePostgres::IsInstalled() { return !ProgramFolder().empty(); }

PrivatePostgres::PrivatePostgres() : folder_(MakeFolder()) {
  if (IsRoot() && std::system(("chown nobody " + folder_.string()).c_str()) != 0) {
    throw std::runtime_error("cannot hand over " + folder_.string());
  }
  Run("initdb --pgdata=" + (folder_ / "data").string() + " --username=planwright --auth=trust --no-sync");
  Start();
}

PrivatePostgres::~PrivatePostgres() {
  if (is_running_) {
    Thaw();
    Stop();
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string PrivatePostgres::MakeDatabase() {
  const std::string name = "test" + std::to_string(++databases_);
  Run("psql --quiet '" + conninfo() + "' --command='CREATE DATABASE " + name + "'");
  return ConninfoOf(name);
}

void PrivatePostgres::Start() {
  // What it says of a crash of the machine does not matter here.
  Run("pg_ctl --pgdata=" + (folder_ / "data").string() + " --log=" + (folder_ / "server.log").string() +
      " --wait --options='-c listen_addresses= -c unix_socket_directories=" + folder_.string() +
      " -c fsync=off -c full_page_writes=off -c max_connections=100 -c shared_buffers=16MB' start");
  is_running_ = true;
}

void PrivatePostgres::Stop() {
  is_running_ = false;
  Run("pg_ctl --pgdata=" + (folder_ / "data").string() + " --mode=immediate --wait stop");
}

void PrivatePostgres::SetReadOnly(bool is_read_only) {
  const std::string value = is_read_only ? "on" : "off";
  Run("psql --quiet '" + conninfo() + "' --command='ALTER SYSTEM SET default_transaction_read_only = " + value +
      "' --command='SELECT pg_reload_conf()'");
}

std::string PrivatePostgres::ConninfoOf(const std::string& database) const {
  return "host=" + folder_.string() + " user=planwright dbname=" + database;
}

void PrivatePostgres::Signal(int signal) const {
  pid_t postmaster = 0;
  std::ifstream(folder_ / "data" / "postmaster.pid") >> postmaster;
  if (postmaster <= 0) throw std::runtime_error("there is no postmaster.pid in " + folder_.string());
  // The postmaster first, so that it has no new children then.
  SignalProcess(postmaster, signal);
  const std::string process = std::to_string(postmaster);
  std::ifstream children("/proc/" + process + "/task/" + process + "/children");
  for (pid_t child = 0; children >> child;) SignalProcess(child, signal);
}

void PrivatePostgres::Run(const std::string& command) const {
  const fs::path output = folder_ / "output";
  const std::string user = IsRoot() ? "setpriv --reuid=nobody --regid=nogroup --clear-groups " : "";
  const std::string line =
      "cd / && LC_ALL=C " + user + (ProgramFolder() / command).string() + " >" + output.string() + " 2>&1 </dev/null";
  if (std::system(line.c_str()) == 0) return;
  std::ifstream stream(output);
  throw std::runtime_error(line + ":\n" + std::string(std::istreambuf_iterator<char>(stream), {}));
}

}  // namespace planwright
