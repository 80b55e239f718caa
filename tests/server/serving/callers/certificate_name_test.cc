#include "server/serving/callers/certificate_name.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace planwright::server {
namespace {

std::string Normal(NameKind kind, std::string_view value) {
  const auto name = NormalName(kind, value);
  return name.has_value() ? name->value : "none";
}

TEST(CertificateNameTest, NamesHaveOneForm) {
  EXPECT_EQ(Normal(NameKind::kDns, "Scheduler.Example"), "scheduler.example");
  EXPECT_EQ(Normal(NameKind::kIp, "2001:DB8:0::1"), "2001:db8::1");
  EXPECT_EQ(Normal(NameKind::kUri, "spiffe://Cluster/Scheduler"), "spiffe://Cluster/Scheduler");
  EXPECT_EQ(Normal(NameKind::kCommonName, "Anything at all"), "Anything at all");
}

TEST(CertificateNameTest, WhatCannotBeOfAKindIsNone) {
  EXPECT_EQ(Normal(NameKind::kDns, "spiffe://cluster/scheduler"), "none");
  EXPECT_EQ(Normal(NameKind::kUri, "scheduler"), "none");
  EXPECT_EQ(Normal(NameKind::kEmail, "scheduler"), "none");
  EXPECT_EQ(Normal(NameKind::kIp, "10.0.0"), "none");
  EXPECT_EQ(Normal(NameKind::kCommonName, ""), "none");
  EXPECT_EQ(Normal(NameKind::kDns, std::string_view("good.example\0.evil.example", 26)), "none");
}

TEST(CertificateNameTest, TheKindThatANameLooksLikeIsNeverThatOfACommonName) {
  EXPECT_EQ(KindByLook("spiffe://cluster/scheduler"), NameKind::kUri);
  EXPECT_EQ(KindByLook("me@example"), NameKind::kEmail);
  EXPECT_EQ(KindByLook("10.0.0.1"), NameKind::kIp);
  EXPECT_EQ(KindByLook("scheduler"), NameKind::kDns);
  EXPECT_EQ(KindByLook("Two words"), NameKind::kDns);
}

}  // namespace
}  // namespace planwright::server
