#include "server/service/methods/register_graph_call.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/violations.h"
#include "server/engine/task/without_exceptions.h"
#include "server/service/call/call_messages.h"
#include "server/service/methods/plan_request_reading.h"
#include "server/service/record/status_conversion.h"

namespace planwright::server {
namespace {

// Messages of one call together, in units of max_message_bytes.
constexpr int64_t kMaxMessages = 16;
// What a message takes beside its content, so that empty ones are not free.
constexpr int64_t kBytesPerMessage = 256;
// How long a client may take for its next message.
constexpr std::chrono::minutes kPatience{1};

// Moves the elements of one list behind those of another.
template <typename Element>
void Append(google::protobuf::RepeatedPtrField<Element>& source, google::protobuf::RepeatedPtrField<Element>& target) {
  target.Reserve(target.size() + source.size());
  for (Element& element : source) *target.Add() = std::move(element);
}

absl::Status Misplaced(const char* field, std::string rule) {
  Violations violations;
  violations.Add(field, std::move(rule));
  return violations.ToStatus();
}

}  // namespace

RegisterGraphCall::RegisterGraphCall(const CallServices& services, CallStart start,
                                     grpc::CallbackServerContext& context, grpc::ByteBuffer& response)
    : services_(services),
      start_(std::move(start)),
      peer_(start_.record->peer()),
      response_(response),
      patience_(std::make_shared<Patience>()),
      stream_(services_.uploads, start_.caller.tenant, [patience = patience_](const absl::Status& why) {
        const std::lock_guard lock(patience->mutex);
        if (patience->call != nullptr) patience->call->EndEarly(why);
      }) {
  patience_->context = &context;
  patience_->call = this;
  services_.in_flight.Enter();
}

grpc::ServerReadReactor<grpc::ByteBuffer>* RegisterGraphCall::Start() {
  const absl::Status opened = start_.permitted.ok() ? stream_.Open() : start_.permitted;
  if (opened.ok()) {
    Read();
  } else {
    EndEarly(opened);
  }
  return this;
}

void RegisterGraphCall::Read() {
  // Takes the place of the one before, which is cancelled.
  alarm_.emplace().Set(std::chrono::system_clock::now() + kPatience, [patience = patience_](bool rang) {
    const std::lock_guard lock(patience->mutex);
    if (rang && patience->context != nullptr) patience->context->TryCancel();
  });
  const std::lock_guard lock(patience_->mutex);
  if (!patience_->is_decided) StartRead(&reading_);
}

void RegisterGraphCall::OnReadDone(bool ok) {
  if (!ok) {
    alarm_.reset();
    if (Decide()) Submit();
    return;
  }
  const int64_t most = kMaxMessages * services_.engine.config().max_message_bytes;
  const int64_t bytes = kBytesPerMessage + static_cast<int64_t>(reading_.Length());
  services_.connections.Delivered(peer_, static_cast<int64_t>(reading_.Length()));
  const absl::Status held = stream_.Hold(bytes);
  if (!held.ok()) return EndEarly(held);
  bytes_ += bytes;
  if (bytes_ > most) {
    return EndEarly(absl::ResourceExhaustedError(absl::StrCat("a graph may be sent in at most ", most, " bytes (",
                                                              kMaxMessages, " times --max_message_bytes)")));
  }
  messages_.push_back(std::exchange(reading_, grpc::ByteBuffer()));
  Read();
}

void RegisterGraphCall::OnDone() {
  {
    const std::lock_guard lock(patience_->mutex);
    patience_->context = nullptr;
    patience_->call = nullptr;
  }
  UnansweredCalls& in_flight = services_.in_flight;
  delete this;
  in_flight.Leave();
}

void RegisterGraphCall::Submit() {
  auto run = [this](const absl::Status& admission) {
    End(admission.ok() ? WithoutExceptions([this] { return Handle(); }) : admission);
  };
  // A large one takes several times its bytes while it is read.
  Executor& where = bytes_ <= kQuickMessageBytes ? services_.lookups : services_.retrievals;
  const absl::Status accepted = where.Submit({.deadline = start_.deadline,
                                              .stop = stop_,
                                              .run = std::move(run),
                                              .bytes = bytes_,
                                              .tenant = start_.caller.tenant});
  if (!accepted.ok()) End(accepted);
}

absl::Status RegisterGraphCall::Handle() {
  v1::RegisterGraphRequest::Header header;
  ASSIGN_OR_RETURN(v1::Graph graph, Join(header));
  ASSIGN_OR_RETURN(
      const v1::RegisterGraphResponse response,
      services_.engine.library().RegisterGraph(start_.caller.tenant, std::move(graph), header.expected_digest()));
  start_.record->SetResource(response.graph().name());
  ASSIGN_OR_RETURN(unsent_, WriteAnswer(services_, start_, response, response_));
  return absl::OkStatus();
}

absl::StatusOr<v1::Graph> RegisterGraphCall::Join(v1::RegisterGraphRequest::Header& header) {
  const ModelLimits limits = services_.engine.model_limits();
  v1::Graph graph;
  MemoryAccount::Hold unpacked(services_.unpacked);
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    v1::RegisterGraphRequest message;
    RETURN_IF_ERROR(ReadMessage(messages_[i], limits, unpacked, message));
    messages_[i].Clear();
    if (message.has_header() != (i == 0)) {
      return Misplaced("header", i == 0 ? "must be in the first message" : "must be in the first message only");
    }
    if (message.has_header()) {
      header = std::move(*message.mutable_header());
      continue;
    }
    v1::Graph& fragment = *message.mutable_fragment();
    Append(*fragment.mutable_operators(), *graph.mutable_operators());
    Append(*fragment.mutable_tensors(), *graph.mutable_tensors());
    fragment.clear_operators();
    fragment.clear_tensors();
    graph.MergeFrom(fragment);
    // Said before the rest is unpacked; the validator says it in full.
    if (graph.operators_size() > limits.max_operators || graph.tensors_size() > limits.max_tensors) {
      return absl::ResourceExhaustedError(absl::StrCat("the graph has more than ", limits.max_operators,
                                                       " operators or ", limits.max_tensors,
                                                       " tensors (--max_operators, --max_tensors)"));
    }
  }
  if (messages_.empty()) return Misplaced("header", "must be in the first message");
  if (messages_.size() == 1) return Misplaced("fragment", "must be set in at least one message");
  return graph;
}

bool RegisterGraphCall::Decide() {
  const std::lock_guard lock(patience_->mutex);
  return !std::exchange(patience_->is_decided, true);
}

void RegisterGraphCall::EndEarly(const absl::Status& status) {
  // Held on its own: the call may be gone when it has ended.
  const std::shared_ptr<Patience> patience = patience_;
  const std::lock_guard lock(patience->mutex);
  if (Decide()) End(status);
}

void RegisterGraphCall::End(const absl::Status& status) {
  start_.record->SetStatus(status);
  start_.record.reset();
  Finish(ToGrpcStatus(status));
}

}  // namespace planwright::server
