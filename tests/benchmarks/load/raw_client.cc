#include "tests/benchmarks/load/raw_client.h"

#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <utility>

namespace planwright::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// What a call needs until it is answered.
struct Pending {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer reply;
  Clock::time_point start = Clock::now();
};

}  // namespace

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

grpc::ByteBuffer Encode(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

RawClient::RawClient(const std::string& address, std::string token)
    : stub_(Connect(address)), token_(std::move(token)) {}

std::function<void()> RawClient::Start(const std::string& method, const grpc::ByteBuffer& request,
                                       std::chrono::milliseconds timeout, std::function<void(CallResult)> done) {
  auto pending = std::make_shared<Pending>();
  pending->request = request;
  pending->context.set_deadline(std::chrono::system_clock::now() + timeout);
  pending->context.AddMetadata("authorization", "Bearer " + token_);
  std::function<void()> cancel = [weak = std::weak_ptr<Pending>(pending)] {
    if (const std::shared_ptr<Pending> open = weak.lock()) open->context.TryCancel();
  };
  Pending& call = *pending;
  stub_.UnaryCall(&call.context, method, grpc::StubOptions(), &call.request, &call.reply,
                  [pending = std::move(pending), done = std::move(done)](const grpc::Status& status) mutable {
                    const std::chrono::duration<double, std::milli> elapsed = Clock::now() - pending->start;
                    CallResult result{status.error_code(), elapsed.count(), pending->reply};
                    // The context holds the channel, whose last holder must not be a thread of gRPC's: with it go
                    // those threads.
                    pending.reset();
                    done(std::move(result));
                  });
  return cancel;
}

CallResult RawClient::Call(const std::string& method, const grpc::ByteBuffer& request) {
  std::promise<CallResult> result;
  Start(method, request, std::chrono::seconds(60), [&result](CallResult ended) { result.set_value(std::move(ended)); });
  return result.get_future().get();
}

}  // namespace planwright::benchmarks
