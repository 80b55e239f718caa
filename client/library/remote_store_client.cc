#include "client/library/remote_store_client.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/library/unary_call.h"

namespace planwright::client {
namespace {

using Stub = v1::PlanningService::Stub;

// A message of this size is a compromise between memory and overhead.
constexpr std::size_t kFragmentBytes = std::size_t{4} << 20;

// `request` with a name of its own.
template <typename Request>
Request Named(Request request) {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&id, absl::Hex(uint32_t{random()}, absl::kZeroPad8));
  if (request.request_id().empty()) request.set_request_id(id);
  return request;
}

// Cuts a graph into messages.
class Fragments {
 public:
  explicit Fragments(grpc::ClientWriter<v1::RegisterGraphRequest>& writer) : writer_(writer) {}

  // False: the server wants no more. So of all of them.
  bool Header() {
    v1::RegisterGraphRequest message;
    message.mutable_header();
    return writer_.Write(message);
  }
  bool Add(const v1::Operator& element) {
    *message_.mutable_fragment()->add_operators() = element;
    return Count(element.ByteSizeLong());
  }
  bool Add(const v1::Tensor& element) {
    *message_.mutable_fragment()->add_tensors() = element;
    return Count(element.ByteSizeLong());
  }
  // What is left, and what a graph has besides its lists.
  bool Finish(const v1::Graph& graph) {
    v1::Graph& last = *message_.mutable_fragment();
    last.set_display_name(graph.display_name());
    if (graph.has_samples_per_micro_batch()) last.set_samples_per_micro_batch(graph.samples_per_micro_batch());
    return writer_.Write(message_);
  }

 private:
  bool Count(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ < kFragmentBytes) return true;
    bytes_ = 0;
    return writer_.Write(std::exchange(message_, {}));
  }

  grpc::ClientWriter<v1::RegisterGraphRequest>& writer_;
  v1::RegisterGraphRequest message_;
  std::size_t bytes_ = 0;
};

void Write(const v1::Graph& graph, grpc::ClientWriter<v1::RegisterGraphRequest>& writer) {
  Fragments fragments(writer);
  if (!fragments.Header()) return;
  for (const v1::Operator& element : graph.operators()) {
    if (!fragments.Add(element)) return;
  }
  for (const v1::Tensor& element : graph.tensors()) {
    if (!fragments.Add(element)) return;
  }
  fragments.Finish(graph);
}

}  // namespace

absl::StatusOr<v1::RegisterGraphResponse> RemoteStoreClient::RegisterGraph(const v1::Graph& graph,
                                                                           const CallOptions& options) {
  grpc::ClientContext context;
  context.set_deadline(options.deadline);
  const std::stop_callback cancel(options.stop, [&context] { context.TryCancel(); });
  v1::RegisterGraphResponse response;
  const auto writer = stub_.RegisterGraph(&context, &response);
  Write(graph, *writer);
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  if (!status.ok()) return ToAbslStatus(status);
  return response;
}

absl::StatusOr<v1::SubmitPlanResponse> RemoteStoreClient::SubmitPlan(const v1::SubmitPlanRequest& request,
                                                                     const CallOptions& options) {
  return Call(stub_, &Stub::SubmitPlan, Named(request), options);
}

absl::StatusOr<v1::SweepPlansResponse> RemoteStoreClient::SweepPlans(const v1::SweepPlansRequest& request,
                                                                     const CallOptions& options) {
  return Call(stub_, &Stub::SweepPlans, Named(request), options);
}

absl::StatusOr<v1::GetPlanResponse> RemoteStoreClient::GetPlan(const v1::GetPlanRequest& request,
                                                               const CallOptions& options) {
  return Call(stub_, &Stub::GetPlan, request, options);
}

absl::StatusOr<v1::ListPlansResponse> RemoteStoreClient::ListPlans(const v1::ListPlansRequest& request,
                                                                   const CallOptions& options) {
  return Call(stub_, &Stub::ListPlans, request, options);
}

absl::StatusOr<v1::DeletePlanResponse> RemoteStoreClient::DeletePlan(const v1::DeletePlanRequest& request,
                                                                     const CallOptions& options) {
  return Call(stub_, &Stub::DeletePlan, request, options);
}

absl::StatusOr<v1::RegisterClusterResponse> RemoteStoreClient::RegisterCluster(
    const v1::RegisterClusterRequest& request, const CallOptions& options) {
  return Call(stub_, &Stub::RegisterCluster, request, options);
}

absl::StatusOr<v1::GetOperationResponse> RemoteStoreClient::GetOperation(const v1::GetOperationRequest& request,
                                                                         const CallOptions& options) {
  return Call(stub_, &Stub::GetOperation, request, options);
}

absl::StatusOr<v1::ListOperationsResponse> RemoteStoreClient::ListOperations(const v1::ListOperationsRequest& request,
                                                                             const CallOptions& options) {
  return Call(stub_, &Stub::ListOperations, request, options);
}

absl::StatusOr<v1::WaitOperationResponse> RemoteStoreClient::WaitOperation(const v1::WaitOperationRequest& request,
                                                                           const CallOptions& options) {
  return Call(stub_, &Stub::WaitOperation, request, options);
}

absl::StatusOr<v1::CancelOperationResponse> RemoteStoreClient::CancelOperation(
    const v1::CancelOperationRequest& request, const CallOptions& options) {
  return Call(stub_, &Stub::CancelOperation, request, options);
}

}  // namespace planwright::client
