#include "server/serving/admission/shared_room.h"

#include <algorithm>

namespace planwright::server {

void SharedRoom::Add(const std::string& tenant, Amount more) {
  Amount& own = by_tenant_[tenant];
  for (Amount* amount : {&own, &used_}) {
    amount->count += more.count;
    amount->bytes += more.bytes;
  }
}

void SharedRoom::Remove(const std::string& tenant, Amount less) {
  const auto own = by_tenant_.find(tenant);
  for (Amount* amount : {&own->second, &used_}) {
    amount->count -= less.count;
    amount->bytes -= less.bytes;
  }
  if (own->second.count == 0 && own->second.bytes == 0) by_tenant_.erase(own);
}

SharedRoom::Amount SharedRoom::UsedBy(const std::string& tenant) const {
  const auto found = by_tenant_.find(tenant);
  return found == by_tenant_.end() ? Amount() : found->second;
}

bool SharedRoom::IsWithinShare(const std::string& newcomer, Amount more) const {
  const Amount own = UsedBy(newcomer);
  return InShares({own.count + more.count, own.bytes + more.bytes}, PartOf(newcomer, newcomer), more) <= 1;
}

double SharedRoom::TimesItsShare(const std::string& tenant, const std::string& newcomer, Amount more) const {
  return InShares(UsedBy(tenant), PartOf(tenant, newcomer), more);
}

double SharedRoom::PartOf(const std::string& tenant, const std::string& newcomer) const {
  double all = by_tenant_.contains(newcomer) ? 0 : tenants_.Of(newcomer).weight;
  for (const auto& [name, amount] : by_tenant_) all += tenants_.Of(name).weight;
  return tenants_.Of(tenant).weight / all;
}

double SharedRoom::InShares(Amount amount, double part, Amount more) const {
  double shares = 0;
  if (!FitsCount(more)) {
    shares = static_cast<double>(amount.count) / std::max(1.0, part * static_cast<double>(most_.count));
  }
  if (!FitsBytes(more)) {
    shares = std::max(shares, static_cast<double>(amount.bytes) / (part * static_cast<double>(most_.bytes)));
  }
  return shares;
}

}  // namespace planwright::server
