// A planwrightd of the test's own, as a server or for one command.
#ifndef PLANWRIGHT_TESTS_INTEGRATION_DAEMON_PROCESS_H_
#define PLANWRIGHT_TESTS_INTEGRATION_DAEMON_PROCESS_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace planwright {

// Starts planwrightd with JSON logs and reads them. Its destructor kills a process that still runs. Waiting gives up
// after a minute, which is a failure, never a measurement.
class DaemonProcess {
 public:
  // `flags` come after --listen_address=127.0.0.1:0, --metrics_address= (none), --log_format=json and --store=none.
  explicit DaemonProcess(const std::vector<std::string>& flags = {});
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Where it serves gRPC; waits until it does.
  std::string address() { return WaitForLog("serving grpc").value("address", ""); }

  // The next log line with this message that no call has returned yet. An empty object: none came.
  nlohmann::json WaitForLog(const std::string& message);

  void Signal(int signal) const;
  // The size beyond which it cannot write files, as on a full disk; nullopt: there is none.
  void LimitFiles(std::optional<std::uintmax_t> bytes) const;
  // The memory that it has, and the most that it has had so far.
  int64_t ResidentBytes() const { return MemoryBytes("VmRSS:"); }
  int64_t PeakBytes() const { return MemoryBytes("VmHWM:"); }
  // Exit code, or minus the number of the signal that ended it.
  int WaitForExit();
  // Everything that it has written that is not a log line; complete after WaitForExit.
  std::string plain_output();
  // All of its log lines so far.
  std::string log_text();

 private:
  void ReadLines(int file);
  // A line of /proc/PID/status.
  int64_t MemoryBytes(const std::string& name) const;

  pid_t pid_ = -1;
  bool exited_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<nlohmann::json> lines_;
  std::string plain_output_;
  std::string log_text_;
  bool closed_ = false;
  // Last: uses the above.
  std::jthread reader_;
};

struct PlanwrightdRun {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// `planwrightd ARGUMENTS...`, which is to end by itself and to say less than a pipe holds (64 KiB) on either stream.
PlanwrightdRun RunPlanwrightd(std::vector<std::string> arguments);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_INTEGRATION_DAEMON_PROCESS_H_
