// The service as a C++ interface, wherever it runs.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_PLANNING_CLIENT_H_
#define PLANWRIGHT_CLIENT_LIBRARY_PLANNING_CLIENT_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

class StoreClient;

// Told of a search while it runs. Calls come one at a time, from any thread; they must be quick and not throw.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;

  // A new phase begins, e.g. "ideal_dp".
  virtual void OnPhase(std::string_view phase) = 0;
  // A better plan was found.
  virtual void OnIncumbent(double objective_ms) = 0;
  // A better bound was proven.
  virtual void OnBound(double lower_bound_ms) = 0;

  // Whether OnIncumbentPlan is to be told. Asked once for each call.
  virtual bool wants_incumbent_plans() const { return false; }
  // The verified plan of the latest incumbent, with the bound known by then.
  virtual void OnIncumbentPlan(const v1::Plan& /*plan*/) {}
};

// Told of each message of a SimulatePlan, on the thread of the call.
using SimulationListener = std::function<void(v1::SimulatePlanResponse message)>;

// How long one call may take, and who hears of it.
struct CallOptions {
  using Clock = std::chrono::system_clock;

  // When the caller stops waiting. Always sent: the search ends soon enough for its answer to arrive before. With a
  // time_limit, leave room for the answer: see DeadlineFor.
  Clock::time_point deadline = Clock::now() + std::chrono::minutes(5);
  // Asks to stop. CreatePlan then answers with the best plan so far (STOP_REASON_CANCELLED) where there is one; else
  // the call ends with CANCELLED.
  std::stop_token stop;
  // Only for CreatePlan. May be nullptr; outlives the call.
  ProgressListener* progress = nullptr;
};

// A deadline that lets a search use all of `time_limit`: the server keeps max(100 ms, 5 %) of the deadline for the
// answer, and we keep as much again for the way.
inline CallOptions::Clock::time_point DeadlineFor(std::chrono::milliseconds time_limit) {
  return CallOptions::Clock::now() + time_limit + std::max(std::chrono::milliseconds(5000), time_limit / 5);
}

enum class ProgramFormat { kMps, kLp };
// The form that this program solves itself, or that of the paper's figure.
enum class ProgramForm { kCompact, kPrinted };

// Status codes of each call: planning_service.proto; what they carry: ErrorDetailsOf. Thread-safe.
class PlanningClient {
 public:
  virtual ~PlanningClient() = default;

  virtual absl::StatusOr<v1::CreatePlanResponse> CreatePlan(const v1::CreatePlanRequest& request,
                                                            const CallOptions& options) = 0;
  // A stop request ends the call with CANCELLED.
  virtual absl::StatusOr<v1::BatchCreatePlansResponse> BatchCreatePlans(const v1::BatchCreatePlansRequest& request,
                                                                        const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                                const CallOptions& options) = 0;
  // Hands each message to `listener` as it comes, the summary first. A stop request ends the call with CANCELLED.
  virtual absl::Status SimulatePlan(const v1::SimulatePlanRequest& request, const CallOptions& options,
                                    const SimulationListener& listener) = 0;
  virtual absl::StatusOr<v1::GetGraphResponse> GetGraph(const v1::GetGraphRequest& request,
                                                        const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::GetClusterResponse> GetCluster(const v1::GetClusterRequest& request,
                                                            const CallOptions& options) = 0;
  virtual absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const v1::GetServerInfoRequest& request,
                                                                  const CallOptions& options) = 0;

  // What the server keeps; nullptr: nothing is kept, because it runs in this process.
  virtual StoreClient* store() { return nullptr; }

  // The integer program of the problem, as text for another solver. Not part of the service: FAILED_PRECONDITION unless
  // it runs in this process.
  virtual absl::StatusOr<std::string> WriteProgram(const v1::CreatePlanRequest& request, ProgramFormat format,
                                                   ProgramForm form);
};

inline absl::StatusOr<std::string> PlanningClient::WriteProgram(const v1::CreatePlanRequest& /*request*/,
                                                                ProgramFormat /*format*/, ProgramForm /*form*/) {
  return absl::FailedPreconditionError("servers do not write integer programs");
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_PLANNING_CLIENT_H_
