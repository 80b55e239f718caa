// top: what goes on at a server now.
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/store_access.h"
#include "client/cli/results/load_report.h"
#include "client/cli/results/metrics_page.h"
#include "client/cli/terminal/errors.h"
#include "client/cli/terminal/live_view.h"
#include "client/cli/terminal/message_flags.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/library/admin_client.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

using google::protobuf::util::TimeUtil;

constexpr std::chrono::seconds kTopPatience{10};
constexpr std::chrono::seconds kMetricsPatience{3};
constexpr std::chrono::milliseconds kShortestInterval{100};
constexpr int kMostCalls = 1000;
constexpr int kMostOperations = 50;

google::protobuf::Duration TwoSeconds() {
  google::protobuf::Duration two;
  two.set_seconds(2);
  return two;
}

class TopCommand final : public Command {
 public:
  std::string_view name() const override { return "top"; }
  std::string_view summary() const override { return "show who plans what on a server now, its queue and its cache"; }
  std::string_view usage() const override {
    return "planwright top --server=HOST:PORT [--metrics_address=HOST:PORT] [--interval=2s] [--output=json]\n"
           "\n"
           "On a terminal it looks again every --interval, until ^C; elsewhere, and with another output than text, "
           "once.\n"
           "Needs a token or certificate with the role admin, where the server asks for one. Queue, cache, and what\n"
           "tenants have used since the server began are read from its metrics. What is shown is that of the one "
           "server\n"
           "that answers.\n"
           "\n"
           "Examples:\n"
           "  planwright top --server=localhost:50051\n"
           "  planwright top --server=localhost:50051 --interval=10s\n"
           "  planwright top --server=localhost:50051 --output=json\n";
  }

  std::vector<FlagGroup> Flags() override {
    return {{"What",
             {StringFlag("metrics_address", "HOST:PORT",
                         "where the server serves its metrics; default: port 9464 of its host", metrics_address_),
              {"interval", "DURATION", "from one look to the next; at least 100ms, default: 2s",
               [this](std::string_view text) { return SetInterval(text); }}}},
            server_.Flags(),
            output_.Flags()};
  }

  absl::StatusOr<ExitCode> Run(Environment& environment) override {
    const auto access = ConnectToStore(server_, environment);
    if (!access.ok()) return access.status();
    AdminClient& admin = access->store->admin();
    auto load = Look(admin, environment);
    if (!load.ok()) return load.status();
    if (environment.out_terminal && output_.is_plain()) return Watch(admin, *std::move(load), environment);
    const absl::Status written = output_.Write(output_.is_json() ? LoadJson(*load) : LoadReport(*load), environment);
    if (!written.ok()) return written;
    return ExitCode::kOk;
  }

 private:
  absl::Status SetInterval(std::string_view text) {
    const absl::Status parsed = ParseDuration(text, interval_);
    if (!parsed.ok()) return parsed;
    if (interval() >= kShortestInterval) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("must be at least 100ms, is ", std::string(text)));
  }

  std::chrono::milliseconds interval() const {
    return std::chrono::milliseconds(TimeUtil::DurationToMilliseconds(interval_));
  }

  absl::StatusOr<ServerLoad> Look(AdminClient& admin, const Environment& environment) const {
    const CallOptions options = {.deadline = CallOptions::Clock::now() + kTopPatience, .stop = environment.interrupt};
    auto calls = Calls(admin, options);
    if (!calls.ok()) return calls.status();
    auto tenants = admin.ListTenants({}, options);
    if (!tenants.ok()) return tenants.status();
    auto operations = Operations(admin, options);
    if (!operations.ok()) return operations.status();
    auto counters = Counters(environment);
    // A mistake in what was asked for; elsewhere there may be none.
    if (!counters.ok() && !metrics_address_.empty()) {
      return WithDefaultHint(counters.status(), "Say where planwrightd serves its metrics: its own --metrics_address.");
    }
    return ServerLoad{server_.Address(environment), *std::move(calls), *std::move(tenants), *std::move(operations),
                      std::move(counters)};
  }

  // Without those who look, as we do.
  static absl::StatusOr<v1::ListCallsResponse> Calls(AdminClient& admin, const CallOptions& options) {
    v1::ListCallsRequest request;
    request.set_page_size(kMostCalls);
    auto response = admin.ListCalls(request, options);
    if (!response.ok()) return response;
    auto& calls = *response->mutable_calls();
    const int before = calls.size();
    calls.erase(std::remove_if(calls.begin(), calls.end(),
                               [](const v1::CallInfo& call) { return call.method() == "ListCalls"; }),
                calls.end());
    response->set_total_calls(response->total_calls() - (before - calls.size()));
    return response;
  }

  // Returns the operations that run, then those that wait. None where the server stores nothing.
  static absl::StatusOr<v1::ListTenantOperationsResponse> Operations(AdminClient& admin, const CallOptions& options) {
    v1::ListTenantOperationsResponse all;
    for (const auto state : {v1::Operation::STATE_RUNNING, v1::Operation::STATE_QUEUED}) {
      v1::ListTenantOperationsRequest request;
      request.set_tenant("-");
      request.set_state(state);
      request.set_page_size(kMostOperations);
      const auto page = admin.ListTenantOperations(request, options);
      if (page.status().code() == absl::StatusCode::kFailedPrecondition) return all;
      if (!page.ok()) return page.status();
      all.mutable_operations()->MergeFrom(page->operations());
      if (!page->next_page_token().empty()) all.set_next_page_token(page->next_page_token());
    }
    return all;
  }

  absl::StatusOr<LoadCounters> Counters(const Environment& environment) const {
    const bool is_stated = !metrics_address_.empty();
    const auto page = FetchMetrics(is_stated ? metrics_address_ : UsualMetricsAddress(server_.Address(environment)),
                                   kMetricsPatience, environment.interrupt);
    if (page.ok()) return ReadCounters(*page);
    if (is_stated) return page.status();
    return absl::Status(page.status().code(), absl::StrCat(page.status().message(), " (--metrics_address)"));
  }

  // Shows the load and looks again, until ^C. A server that does not answer may come back: what was seen last stays.
  absl::StatusOr<ExitCode> Watch(AdminClient& admin, ServerLoad load, const Environment& environment) const {
    LiveView view(environment.out);
    std::string note = Note("");
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any wake;
    while (Show(load, note, environment, view)) {
      wake.wait_for(lock, environment.interrupt, interval(), [] { return false; });
      if (environment.interrupt.stop_requested()) break;
      auto next = Look(admin, environment);
      if (environment.interrupt.stop_requested()) break;
      note = Note(next.ok() ? "" : absl::StrCat(", no answer: ", Printable(std::string(next.status().message()))));
      if (next.ok()) load = *std::move(next);
    }
    return ExitCode::kOk;
  }

  static std::string Note(const std::string& trouble) {
    return absl::StrCat(absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone()), trouble, "\n");
  }

  static bool Show(const ServerLoad& load, const std::string& note, const Environment& environment, LiveView& view) {
    const TerminalSize size = environment.out_terminal();
    const ScopedLineLengths lengths({.report = size.columns, .note = size.columns});
    return view.Show(note + LoadReport(load), size);
  }

  std::string metrics_address_;
  google::protobuf::Duration interval_ = TwoSeconds();
  ServerFlags server_;
  OutputFlags output_;
};

}  // namespace

std::unique_ptr<Command> MakeTopCommand() { return std::make_unique<TopCommand>(); }

}  // namespace planwright::client
