#include "server/service/answer_cache.h"

#include <grpcpp/support/slice.h>

#include <string_view>
#include <utility>
#include <vector>

#include "server/codec/canonical_hash.h"

namespace planwright::server {

std::string AnswerCache::KeyOf(const std::string& tenant, const grpc::ByteBuffer& request) {
  CanonicalHash hash("planwright.request.1");
  hash.Add(tenant);
  std::vector<grpc::Slice> slices;
  // Shares the memory of the request.
  if (request.Dump(&slices).ok()) {
    hash.Add(request.Length());
    for (const grpc::Slice& slice : slices) {
      hash.AddBytes({reinterpret_cast<const char*>(slice.begin()), slice.size()});
    }
  }
  return hash.Hex();
}

std::shared_ptr<const AnswerCache::Answer> AnswerCache::Find(const std::string& key) {
  std::shared_ptr<const Answer> answer = answers_.Find(key);
  if (answer == nullptr || Clock::now() >= answer->expires) return nullptr;
  ++hits_;
  return answer;
}

void AnswerCache::Keep(const std::string& key, Answer answer) {
  const auto bytes = static_cast<int64_t>(key.size() + answer.plan_key.size() + answer.bytes.Length());
  answers_.Insert(key, std::make_shared<const Answer>(std::move(answer)), bytes);
}

}  // namespace planwright::server
