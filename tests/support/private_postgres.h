// A PostgreSQL of the test's own: in a temporary folder, reached by a socket in it, by an unprivileged user.
#ifndef PLANWRIGHT_TESTS_SUPPORT_PRIVATE_POSTGRES_H_
#define PLANWRIGHT_TESTS_SUPPORT_PRIVATE_POSTGRES_H_

#include <csignal>
#include <filesystem>
#include <string>

namespace planwright {

// Stopped and removed by its destructor. What goes wrong is thrown as std::runtime_error, with the server's log.
class PrivatePostgres {
 public:
  // Whether Debian's package is installed; otherwise tests skip with kMissing.
  static bool IsInstalled();
  static constexpr char kMissing[] = "PostgreSQL is not installed (apt-get install postgresql)";

  // Makes and starts it. REQUIRES: IsInstalled().
  PrivatePostgres();
  ~PrivatePostgres();
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  // As OpenPostgres takes it; of the database that is always there.
  std::string conninfo() const { return ConninfoOf("postgres"); }
  // The address of a new, empty database.
  std::string MakeDatabase();

  // Start is done by the constructor; Stop ends every connection at once.
  void Start();
  void Stop();

  // Refuses writes, also those of connections that are there already, from soon after the call; or takes them again.
  void SetReadOnly(bool is_read_only);

  // Lets it hang: connections stay, nothing is answered. Thaw lets it go on.
  void Freeze() { Signal(SIGSTOP); }
  void Thaw() { Signal(SIGCONT); }

 private:
  std::string ConninfoOf(const std::string& database) const;
  // Sends it to all of its processes.
  void Signal(int signal) const;
  // Runs one of PostgreSQL's programs as its user.
  void Run(const std::string& command) const;

  std::filesystem::path folder_;
  int databases_ = 0;
  bool is_running_ = false;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_PRIVATE_POSTGRES_H_
