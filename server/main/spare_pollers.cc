#include "server/main/spare_pollers.h"

namespace planwright::server {

void SparePollers::AddTo(grpc::ServerBuilder& builder) {
  for (int i = 0; i < kThreads; ++i) queues_.push_back(builder.AddCompletionQueue());
}

void SparePollers::Start() {
  for (const auto& queue : queues_) {
    threads_.emplace_back([&queue = *queue] {
      void* tag = nullptr;
      bool ok = false;
      while (queue.Next(&tag, &ok)) continue;
    });
  }
}

void SparePollers::Stop() {
  for (const auto& queue : queues_) queue->Shutdown();
  threads_.clear();
}

}  // namespace planwright::server
