#include "server/store/open_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/database/store_status.h"
#include "tests/support/private_postgres.h"

namespace planwright::server {
namespace {

absl::Status OpenError(const std::string& setting) { return OpenStore(setting, /*migrate=*/false).status(); }

class OpenStoreTest : public testing::Test {
 protected:
  ~OpenStoreTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / absl::StrCat("open-store-", getpid());
};

TEST_F(OpenStoreTest, MakesTheFolderOfSqlite) {
  const auto store = OpenStore("sqlite:" + (folder_ / "deep" / "planwright.db").string(), /*migrate=*/false);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->Check().ok());
  EXPECT_EQ((*store)->kind(), "sqlite");
}

TEST_F(OpenStoreTest, NobodyElseMayReadTheFilesOfSqlite) {
  const std::filesystem::path path = folder_ / "planwright.db";
  const auto store = OpenStore("sqlite:" + path.string(), /*migrate=*/false);
  ASSERT_TRUE(store.ok()) << store.status();
  using std::filesystem::perms;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(file.status().permissions(), perms::owner_read | perms::owner_write) << file.path();
  }
}

TEST_F(OpenStoreTest, NoneIsNone) { EXPECT_EQ(OpenStore("none", /*migrate=*/false).value(), nullptr); }

TEST_F(OpenStoreTest, RefusesWhatIsNoStore) {
  for (const char* setting : {"", "planwright.db", "mysql:x", "sqlite:", "postgresql:nonsense"}) {
    EXPECT_EQ(OpenError(setting).code(), absl::StatusCode::kInvalidArgument) << setting;
  }
}

TEST_F(OpenStoreTest, RepeatsNoPassword) {
  for (const char* setting : {"postgres://u:secret@host/db", "postgresql://u:secret@[host", "postgresql:secret"}) {
    EXPECT_FALSE(absl::StrContains(OpenError(setting).message(), "secret")) << OpenError(setting);
    EXPECT_EQ(WithoutSecrets(setting).find("secret"), std::string_view::npos) << setting;
  }
  EXPECT_EQ(WithoutSecrets("sqlite:/a/b"), "sqlite:/a/b");
}

TEST_F(OpenStoreTest, RefusesWhatCannotBeWritten) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "text")
      << "no database, but long enough to look like the header of one, if one is near-sighted";
  EXPECT_EQ(OpenError("sqlite:" + (folder_ / "text").string()).code(), absl::StatusCode::kDataLoss);
  // Also for root.
  EXPECT_TRUE(IsStoreUnavailable(OpenError("sqlite:/proc/planwright/planwright.db")));
  EXPECT_TRUE(IsStoreUnavailable(OpenError("sqlite:" + folder_.string())));
}

TEST_F(OpenStoreTest, TheDefaultFollowsTheXdgSpecification) {
  ASSERT_EQ(setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1), 0);
  EXPECT_TRUE(OpenStore(kDefaultStore, /*migrate=*/false).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "state/planwright/planwright.db"));
  ASSERT_EQ(unsetenv("XDG_STATE_HOME"), 0);
  ASSERT_EQ(setenv("HOME", (folder_ / "home").c_str(), 1), 0);
  EXPECT_TRUE(OpenStore(kDefaultStore, /*migrate=*/false).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "home/.local/state/planwright/planwright.db"));
}

// The limit on the size of files stands in for a disk that is full.
TEST_F(OpenStoreTest, SurvivesAFullDisk) {
  const auto store = OpenStore("sqlite:" + (folder_ / "planwright.db").string(), /*migrate=*/false).value();
  const auto put = [&](const std::string& id) {
    std::string content;
    for (std::size_t i = 0; i < (std::size_t{1} << 20); ++i) content.push_back(static_cast<char>(i * i >> 7));
    return store->PutDocument("tenant", DocumentKind::kPlan, {id, "", content}, Quota()).status();
  };
  ASSERT_TRUE(put("first").ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlim_t usual = limit.rlim_cur;
  limit.rlim_cur = std::filesystem::file_size(folder_ / "planwright.db");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  absl::Status full;
  for (int i = 0; i < 20 && full.ok(); ++i) full = put(absl::StrCat("more", i));
  limit.rlim_cur = usual;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_TRUE(IsStoreUnavailable(full)) << full;
  EXPECT_TRUE(put("last").ok());
  EXPECT_TRUE(store->FindDocument("tenant", DocumentKind::kPlan, "first").ok());
  EXPECT_TRUE(store->FindDocument("tenant", DocumentKind::kPlan, "last").ok());
}

#ifdef PLANWRIGHT_POSTGRESQL

TEST_F(OpenStoreTest, WaitsForAPostgresqlThatIsNotThere) {
  const auto store = OpenStore("postgresql://127.0.0.1:1/planwright", /*migrate=*/false);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(IsStoreUnavailable((*store)->Check())) << (*store)->Check();
}

TEST_F(OpenStoreTest, ComesBackWithItsPostgresql) {
  if (!PrivatePostgres::IsInstalled()) GTEST_SKIP() << PrivatePostgres::kMissing;
  PrivatePostgres server;
  const auto store = OpenStore("postgresql:" + server.conninfo(), /*migrate=*/false).value();
  const auto put = [&](const std::string& id) {
    return store->PutDocument("tenant", DocumentKind::kPlan, {id, "", "content"}, Quota()).status();
  };
  EXPECT_TRUE(put("a").ok());
  server.Stop();
  EXPECT_TRUE(IsStoreUnavailable(put("b")));
  EXPECT_TRUE(IsStoreUnavailable(store->FindDocument("tenant", DocumentKind::kPlan, "a").status()));
  server.Start();
  EXPECT_TRUE(put("b").ok());
  EXPECT_TRUE(store->FindDocument("tenant", DocumentKind::kPlan, "a").ok());
}

#endif

}  // namespace
}  // namespace planwright::server
