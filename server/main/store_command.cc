#include "server/main/store_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"
#include "server/store/database/sqlite_database.h"
#include "server/store/open_store.h"
#include "server/store/store_check.h"
#include "server/store/store_copy.h"

namespace planwright::server {
namespace {

constexpr std::string_view kHelp =
    "planwrightd store: look after a store as a whole. Servers may go on with it while it is checked or backed up.\n\n"
    "  planwrightd store check   --store=STORE                       read everything, and list what is damaged\n"
    "  planwrightd store backup  --store=STORE --to=FILE             write it, as it is at one moment, to a new file\n"
    "  planwrightd store restore --store=STORE --from=FILE           fill an empty store from such a file\n\n"
    "Options:\n\n"
    "  --store=STORE   sqlite:PATH or postgresql:CONNECTION; else PLANWRIGHT_STORE, else the default of planwrightd\n"
    "  --to=FILE       a backup of either kind of store is a SQLite file, which can be a store itself\n"
    "  --from=FILE     may come from the other kind of store: that is how to move from one to the other\n"
    "  --replace       backup: take the place of FILE; restore: lose what is in the store\n\n"
    "Stop the servers of a store before you restore into it. Operations that ran when it was backed up are queued "
    "anew.\n\n"
    "Exit codes: 0 done; 1 it could not be done, and nothing has changed; 2 the check has found damage. Damaged rows "
    "are\n"
    "never served (DATA_LOSS); delete and make them anew, or restore a backup.\n";

struct Options {
  std::string command;
  std::string store;
  std::string to;
  std::string from;
  bool replaces = false;
  bool wants_help = false;
};

absl::StatusOr<Options> ReadOptions(std::span<const std::string> arguments) {
  const char* setting = std::getenv("PLANWRIGHT_STORE");
  Options options;
  options.store = setting != nullptr ? setting : kDefaultStore;
  for (const std::string& argument : arguments.subspan(1)) {
    const std::string name = argument.substr(0, argument.find('='));
    const std::string value = name.size() < argument.size() ? argument.substr(name.size() + 1) : "";
    if (argument == "--help" || argument == "-h") {
      options.wants_help = true;
    } else if (argument == "--replace") {
      options.replaces = true;
    } else if (name == "--store" || name == "--to" || name == "--from") {
      if (value.empty()) return absl::InvalidArgumentError(absl::StrCat(name, " needs a value: ", name, "=..."));
      (name == "--store" ? options.store : name == "--to" ? options.to : options.from) = value;
    } else if (options.command.empty() && !argument.starts_with('-')) {
      options.command = argument;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", argument, "\""));
    }
  }
  return options;
}

// A line now and then, so that long work is seen to go on.
class ProgressLines {
 public:
  ProgressLines(std::string command, std::ostream& error) : command_(std::move(command)), error_(error) {}

  void operator()(std::string_view table, int64_t done, int64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::seconds(2);
    error_ << "planwrightd store " << command_ << ": " << table << ": " << done << " of " << all << std::endl;
  }

 private:
  const std::string command_;
  std::ostream& error_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

// Whether there is such a file, as far as can be seen.
bool IsThere(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// What SQLite keeps beside a database while somebody has it open: commits that are not in it yet.
std::string LogOf(const std::string& file) { return file + "-wal"; }

void RemoveDatabase(const std::string& file) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix, ignored);
}

// `status` with what it is about.
absl::Status About(const std::string& what, const absl::Status& status) {
  return {status.code(), absl::StrCat(what, ": ", status.message())};
}

// A store that is there: nothing is made by looking at it.
absl::StatusOr<std::unique_ptr<Database>> OpenExisting(const std::string& setting) {
  RETURN_IF_ERROR(CheckStoreSetting(setting));
  if (setting == "none") return absl::InvalidArgumentError("there is no store: name one with --store");
  const std::string path = SqlitePathOf(setting);
  if (path.empty()) return OpenDatabase(setting);
  if (!IsThere(path)) return absl::NotFoundError(absl::StrCat("there is no file ", path));
  // SQLite would make a database of it.
  std::error_code ignored;
  if (std::filesystem::is_empty(path, ignored)) return absl::NotFoundError(absl::StrCat(path, " is empty"));
  absl::StatusOr<std::unique_ptr<Database>> database = OpenSqlite(path, &SystemMilliseconds, /*holds_reserve=*/false);
  if (!database.ok()) return About(path, database.status());
  return database;
}

bool IsMessage(DocumentKind kind, const std::string& content) {
  switch (kind) {
    case DocumentKind::kPlan:
    case DocumentKind::kAnswer:
      return v1::Plan().ParseFromString(content);
    case DocumentKind::kGraph:
      return v1::Graph().ParseFromString(content);
    case DocumentKind::kCluster:
      return v1::Cluster().ParseFromString(content);
  }
  return false;
}

absl::StatusOr<std::vector<StoreFinding>> Findings(const Options& options, std::ostream& error) {
  const absl::StatusOr<std::unique_ptr<Database>> database = OpenExisting(options.store);
  if (absl::IsDataLoss(database.status())) {
    return std::vector<StoreFinding>{{"(file)", "", std::string(database.status().message())}};
  }
  if (!database.ok()) return database.status();
  return CheckStore(**database, &IsMessage, ProgressLines(options.command, error));
}

absl::StatusOr<int> RunCheck(const Options& options, std::ostream& out, std::ostream& error) {
  ASSIGN_OR_RETURN(const std::vector<StoreFinding> findings, Findings(options, error));
  if (findings.empty()) {
    out << "the store is sound\n";
    return 0;
  }
  std::size_t width = 4;
  for (const StoreFinding& finding : findings) width = std::max(width, finding.row.size());
  const auto line = [&](const std::string& table, const std::string& row, const std::string& what) {
    out << absl::StreamFormat("%-16s %-*s %s\n", table, static_cast<int>(width), row, what);
  };
  line("TABLE", "ROW", "FINDING");
  for (const StoreFinding& finding : findings) line(finding.table, finding.row, finding.what);
  return 2;
}

// Makes what was written, and the name under which it stands, survive the machine.
absl::Status Settle(const std::string& written, const std::string& file) {
  const int handle = open(written.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = handle >= 0 && fsync(handle) == 0;
  if (handle >= 0) close(handle);
  std::error_code failed;
  if (synced) std::filesystem::rename(written, file, failed);
  if (!synced || failed) return absl::UnavailableError(absl::StrCat("cannot write ", file));
  return absl::OkStatus();
}

// Whether a new file may take the place of `file`. A log of commits that is left beside it would be taken for that of
// the new file and written into it: the last to close a database puts its log where it belongs and removes it.
absl::Status CheckReplaceable(const std::string& file, const std::string& store) {
  std::error_code ignored;
  if (std::filesystem::equivalent(file, SqlitePathOf(store), ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is the store itself: name another file"));
  }
  if (!IsThere(LogOf(file))) return absl::OkStatus();
  if (IsThere(file)) {
    const auto old = OpenSqlite(file, &SystemMilliseconds, /*holds_reserve=*/false);
    const auto look = [](Connection& connection) { return connection.Execute("PRAGMA schema_version").status(); };
    if (old.ok()) (*old)->Transact(Database::Access::kRead, look).IgnoreError();
  }
  if (!IsThere(LogOf(file))) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(LogOf(file), " is there: ", file, " is in use, or was and is damaged; name another file"));
}

absl::StatusOr<int> RunBackup(const Options& options, std::ostream& out, std::ostream& error) {
  if (options.to.empty()) return absl::InvalidArgumentError("needs --to=FILE");
  if (IsThere(options.to) && !options.replaces) {
    return absl::AlreadyExistsError(absl::StrCat(options.to, " is there already: name another file, or say --replace"));
  }
  RETURN_IF_ERROR(CheckReplaceable(options.to, options.store));
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> from, OpenExisting(options.store));
  // A backup under its name is whole.
  const std::string partial = absl::StrCat(options.to, ".partial");
  RemoveDatabase(partial);
  absl::StatusOr<int64_t> rows = absl::InternalError("not copied");
  {
    auto to = OpenSqlite(partial, &SystemMilliseconds, /*holds_reserve=*/false);
    rows = to.ok()
               ? CopyStore(*from, **to, CopyKind::kBackup, /*replaces=*/false, ProgressLines(options.command, error))
               : About(absl::StrCat("cannot write ", partial), to.status());
  }
  const absl::Status settled = rows.ok() ? Settle(partial, options.to) : rows.status();
  if (!settled.ok()) {
    RemoveDatabase(partial);
    return settled;
  }
  out << *rows << " rows are in " << options.to << "\n";
  return 0;
}

absl::StatusOr<int> RunRestore(const Options& options, std::ostream& out, std::ostream& error) {
  if (options.from.empty()) return absl::InvalidArgumentError("needs --from=FILE");
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> from, OpenExisting("sqlite:" + options.from));
  ProgressLines progress(options.command, error);
  ASSIGN_OR_RETURN(const std::vector<StoreFinding> findings, CheckStore(*from, &IsMessage, progress, /*most=*/1));
  if (!findings.empty()) {
    return absl::DataLossError(absl::StrCat(
        options.from, " is damaged (", findings.front().table, " ", findings.front().row, ": ", findings.front().what,
        "): `planwrightd store check --store=sqlite:", options.from, "` lists it all; use another backup"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Database> to, OpenDatabase(options.store));
  if (to == nullptr) return absl::InvalidArgumentError("there is no store: name one with --store");
  ASSIGN_OR_RETURN(const int64_t rows, CopyStore(*from, *to, CopyKind::kRestore, options.replaces, progress));
  out << rows << " rows are in the store\n";
  return 0;
}

// What is said and would change nothing is a mistake.
absl::Status RefuseOthers(const Options& options) {
  const bool is_backup = options.command == "backup";
  const bool is_restore = options.command == "restore";
  if (!options.to.empty() && !is_backup) return absl::InvalidArgumentError("--to is for backup");
  if (!options.from.empty() && !is_restore) return absl::InvalidArgumentError("--from is for restore");
  if (options.replaces && !is_backup && !is_restore) {
    return absl::InvalidArgumentError("--replace is for backup and restore");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Run(const Options& options, std::ostream& out, std::ostream& error) {
  RETURN_IF_ERROR(RefuseOthers(options));
  if (options.command == "check") return RunCheck(options, out, error);
  if (options.command == "backup") return RunBackup(options, out, error);
  if (options.command == "restore") return RunRestore(options, out, error);
  return absl::InvalidArgumentError(
      absl::StrCat("say what is to be done: check, backup or restore, not \"", options.command, "\""));
}

}  // namespace

bool IsStoreCommand(std::span<const std::string> arguments) {
  return !arguments.empty() && arguments.front() == "store";
}

int RunStoreCommand(std::span<const std::string> arguments, std::ostream& out, std::ostream& error) {
  const absl::StatusOr<Options> options = ReadOptions(arguments);
  if (options.ok() && options->wants_help) {
    out << kHelp;
    return 0;
  }
  const absl::StatusOr<int> code = options.ok() ? Run(*options, out, error) : options.status();
  if (code.ok()) return *code;
  error << "planwrightd store: " << code.status().message() << " (see planwrightd store --help)" << std::endl;
  return 1;
}

std::string_view StoreHelpText() { return kHelp; }

}  // namespace planwright::server
