// Tests of what planwrightd keeps run once for each store.
#ifndef PLANWRIGHT_TESTS_INTEGRATION_STORE_FIXTURE_H_
#define PLANWRIGHT_TESTS_INTEGRATION_STORE_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/private_postgres.h"

namespace planwright {

// The parameter: "sqlite" or "postgresql", which is skipped where it is not installed.
class StoreFixture : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    if (GetParam() == "sqlite") {
      store_ = "--store=sqlite:" + (folder_ / "planwright.db").string();
    } else if (PrivatePostgres::IsInstalled()) {
      postgres_ = std::make_unique<PrivatePostgres>();
      store_ = "--store=postgresql:" + postgres_->conninfo();
    } else {
      GTEST_SKIP() << PrivatePostgres::kMissing;
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The flag that names the store.
  const std::string& store() const { return store_; }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("store-fixture-" + std::to_string(getpid()));
  std::unique_ptr<PrivatePostgres> postgres_;
  std::string store_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_INTEGRATION_STORE_FIXTURE_H_
