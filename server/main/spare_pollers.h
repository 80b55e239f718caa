// Threads that look after connections beside gRPC's own.
#ifndef PLANWRIGHT_SERVER_MAIN_SPARE_POLLERS_H_
#define PLANWRIGHT_SERVER_MAIN_SPARE_POLLERS_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <thread>
#include <vector>

namespace planwright::server {

// gRPC's callback service reads from all connections with one thread for every two processors, two at least. A client
// that sends as fast as it can keeps one of them: two such clients, and nobody else is heard. More threads share the
// processors with those two. They wait for calls of a service that there is not, and do nothing but gRPC's own work.
class SparePollers {
 public:
  // To be called before the server is built.
  void AddTo(grpc::ServerBuilder& builder);
  // To be called once the server is built.
  void Start();
  // To be called once it is shut down, before it ends. Waits for the threads.
  void Stop();

 private:
  static constexpr int kThreads = 4;

  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::jthread> threads_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_SPARE_POLLERS_H_
