// What those who look after a store see of all tenants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/store/sql_store.h"
#include "tests/server/store/store_backend.h"

namespace planwright::server {
namespace {

class StoreUsageTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    backend_ = MakeStoreBackend(GetParam());
    if (backend_ == nullptr) GTEST_SKIP() << "no PostgreSQL here: libpqxx-dev and postgresql are needed";
    store_ = std::make_unique<SqlStore>(backend_->Open(), /*migrate=*/false);
  }

  void Put(const std::string& tenant, DocumentKind kind, const std::string& id) {
    EXPECT_TRUE(store_->PutDocument(tenant, kind, {id, "summary", "content"}, Quota()).ok());
  }
  void Submit(const std::string& tenant, const std::string& id) {
    EXPECT_TRUE(store_->Submit(tenant, {{id, "request"}, {}, ""}, Quota()).ok());
  }

  std::unique_ptr<StoreBackend> backend_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreUsageTest, CountsWhatTenantsHave) {
  Put("a", DocumentKind::kPlan, "1");
  Put("a", DocumentKind::kGraph, "1");
  Put("b", DocumentKind::kCluster, "1");
  Put("", DocumentKind::kAnswer, "1");
  Submit("b", "o1");
  Submit("b", "o2");
  ASSERT_TRUE(store_->RequestCancel("b", "o2").ok());
  const auto usage = store_->CountUsage();
  ASSERT_TRUE(usage.ok()) << usage.status();
  ASSERT_EQ(usage->size(), 2U);
  EXPECT_EQ(usage->at("a").documents, 2);
  EXPECT_GT(usage->at("a").bytes, 0);
  EXPECT_EQ(usage->at("a").pending_operations, 0);
  EXPECT_EQ(usage->at("b").documents, 1);
  EXPECT_EQ(usage->at("b").pending_operations, 1);
}

TEST_P(StoreUsageTest, ListsTheOperationsOfAllTenantsPageByPage) {
  for (const char* id : {"o1", "o2", "o3"}) Submit(std::string("tenant of ") + id, id);
  const auto all = store_->ListOperations("", {}, std::nullopt, 10);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 3U);
  for (const Operation& operation : *all) EXPECT_EQ(operation.tenant, "tenant of " + operation.id);
  const auto rest = store_->ListOperations("", {}, PagePosition{(*all)[0].create_time, (*all)[0].id}, 10);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->size(), 2U);
  EXPECT_EQ(store_->ListOperations("tenant of o1", {}, std::nullopt, 10)->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Databases, StoreUsageTest, testing::Values("sqlite", "postgresql"));

}  // namespace
}  // namespace planwright::server
