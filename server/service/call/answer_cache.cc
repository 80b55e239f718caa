#include "server/service/call/answer_cache.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "server/codec/canonical_hash.h"

namespace planwright::server {

std::string AnswerCache::KeyOf(const std::string& tenant, const ModelLimits& limits, const grpc::ByteBuffer& request) {
  CanonicalHash hash("planwright.request.2");
  hash.Add(tenant);
  // Names every limit, so that a new one does not compile before it is here.
  const auto& [max_operators, max_tensors, max_devices, max_name_bytes] = limits;
  hash.Add(max_operators);
  hash.Add(max_tensors);
  hash.Add(max_devices);
  hash.Add(max_name_bytes);
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
  if (answer == nullptr || IsOutdated(*answer)) return nullptr;
  ++hits_;
  return answer;
}

void AnswerCache::Keep(const std::string& key, Answer answer) {
  auto bytes = static_cast<int64_t>(key.size() + answer.plan_key.size() + answer.bytes.Length());
  for (const std::string& name : answer.references.names) bytes += static_cast<int64_t>(sizeof(name) + name.size());
  answers_.Insert(key, std::make_shared<const Answer>(std::move(answer)), bytes);
}

void AnswerCache::Forget(const std::string& tenant, const std::string& name) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (now >= next_cleaning_) {
    std::erase_if(deletions_, [now](const auto& deletion) { return deletion.second < now - kShortLife; });
    next_cleaning_ = now + kShortLife;
  }
  deletions_[{tenant, name}] = now;
}

bool AnswerCache::IsOutdated(const Answer& answer) const {
  const auto& [tenant, names] = answer.references;
  if (names.empty()) return false;
  if (Clock::now() >= answer.asked + kShortLife) return true;
  const std::lock_guard lock(mutex_);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto deletion = deletions_.find({tenant, name});
    return deletion != deletions_.end() && deletion->second >= answer.asked;
  });
}

}  // namespace planwright::server
