// Calls whose messages are bytes on the client's side, so that only the server's work differs between them.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_LOAD_RAW_CLIENT_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_LOAD_RAW_CLIENT_H_

#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace planwright::benchmarks {

// What became of one call.
struct CallResult {
  grpc::StatusCode code = grpc::StatusCode::OK;
  double milliseconds = 0;
  // The reply; invalid where the code is not OK.
  grpc::ByteBuffer reply;
};

// `message` as it goes over the wire.
grpc::ByteBuffer Encode(const google::protobuf::Message& message);

// The value that `share` of all are no greater than; 0: there are none.
double Percentile(std::vector<double> values, double share);

// One connection. Thread-safe.
class RawClient {
 public:
  RawClient(const std::string& address, std::string token);

  // `done` is told on a thread of gRPC's. Returns what cancels the call.
  std::function<void()> Start(const std::string& method, const grpc::ByteBuffer& request,
                              std::chrono::milliseconds timeout, std::function<void(CallResult)> done);
  // Waits for the answer.
  CallResult Call(const std::string& method, const grpc::ByteBuffer& request);

 private:
  grpc::GenericStub stub_;
  const std::string token_;
};

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_LOAD_RAW_CLIENT_H_
