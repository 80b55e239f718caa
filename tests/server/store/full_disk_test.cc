// SQLite on a disk that fills.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/database/disk_reserve.h"
#include "server/store/database/sqlite_database.h"
#include "server/store/database/store_status.h"
#include "server/store/sql_store.h"

namespace planwright::server {
namespace {

std::string Noise(int bytes) {
  std::mt19937 random(static_cast<unsigned int>(bytes));
  std::string noise;
  for (int i = 0; i < bytes; ++i) noise.push_back(static_cast<char>(random()));
  return noise;
}

// A disk of a few MiB, which only root can make.
class FullDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(disk_);
    is_mounted_ = mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=16m") == 0;
    if (!is_mounted_) GTEST_SKIP() << "needs a disk of its own, which root may make";
    store_ = OpenStore();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Put(i).ok());
  }
  void TearDown() override {
    store_.reset();
    if (is_mounted_) umount2(disk_.c_str(), MNT_DETACH);
    std::filesystem::remove_all(disk_);
  }

  std::unique_ptr<SqlStore> OpenStore(const RoomAlarm& alarm = {}) const {
    return std::make_unique<SqlStore>(OpenSqlite((disk_ / "store.db").string()).value(), /*migrate=*/false,
                                      SchemaSteps(), alarm);
  }
  absl::Status Put(int index) const {
    return store_->PutDocument("tenant", DocumentKind::kPlan, {absl::StrCat("plan", index), "", Noise(20'000)}, Quota())
        .status();
  }
  absl::Status Find(int index) const {
    return store_->FindDocument("tenant", DocumentKind::kPlan, absl::StrCat("plan", index)).status();
  }
  absl::Status Delete(int index) const {
    return store_->DeleteDocument("tenant", DocumentKind::kPlan, absl::StrCat("plan", index));
  }
  // Somebody else takes all that is left.
  void Fill() const {
    for (const std::size_t bytes : {65536, 4096, 512, 1}) {
      std::ofstream file(disk_ / absl::StrCat("others-", bytes), std::ios::binary | std::ios::app);
      const std::string block(bytes, 'x');
      while (file.write(block.data(), static_cast<std::streamsize>(bytes)) && file.flush()) {
      }
    }
  }
  void Empty() const {
    for (const int bytes : {65536, 4096, 512, 1}) std::filesystem::remove(disk_ / absl::StrCat("others-", bytes));
  }

  const std::filesystem::path disk_ = std::filesystem::path(testing::TempDir()) / absl::StrCat("full-disk-", getpid());
  bool is_mounted_ = false;
  std::unique_ptr<SqlStore> store_;
};

TEST_F(FullDiskTest, CanBeReadAndDeletedFrom) {
  Fill();
  const absl::Status refused = Put(100);
  EXPECT_TRUE(IsStoreUnavailable(refused) && IsStoreFull(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "full")) << refused;
  EXPECT_TRUE(Find(0).ok()) << Find(0);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Delete(i).ok()) << i << ": " << Delete(i);
  EXPECT_EQ(Find(0).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_->Sweep({.items = 1}).ok());
}

TEST_F(FullDiskTest, IsKnownForAsLongAsItLasts) {
  ASSERT_TRUE(store_->Check().ok());
  Fill();
  ASSERT_FALSE(Put(100).ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(IsStoreFull(store_->Check())) << store_->Check();
  Empty();
  EXPECT_TRUE(store_->Check().ok()) << store_->Check();
  EXPECT_TRUE(Put(100).ok());
}

TEST_F(FullDiskTest, CanBeStartedOn) {
  store_.reset();
  Fill();
  store_ = OpenStore();
  EXPECT_TRUE(Find(0).ok()) << Find(0);
  EXPECT_TRUE(Delete(0).ok()) << Delete(0);
  // Without what was held in reserve: nothing works, but the process does, and later everything.
  store_.reset();
  DiskReserve((disk_ / "store.db-reserve").string()).GiveUp();
  Fill();
  store_ = OpenStore();
  EXPECT_TRUE(IsStoreFull(Put(100))) << Put(100);
  Empty();
  EXPECT_TRUE(Put(100).ok()) << Put(100);
  EXPECT_TRUE(Find(1).ok()) << Find(1);
}

TEST_F(FullDiskTest, WarnsAndThenRefusesBeforeItIsFull) {
  const int64_t free = RoomAt((disk_ / "store.db").string())->free_bytes;
  store_ = OpenStore({.free_bytes = free + 1, .store_bytes = 0});
  EXPECT_TRUE(store_->Check().ok());
  EXPECT_TRUE(absl::StrContains(store_->health().warning, "--store_free_alarm")) << store_->health().warning;
  EXPECT_TRUE(Put(100).ok());
  store_ = OpenStore({.free_bytes = 16 * free, .store_bytes = 0});
  EXPECT_TRUE(IsStoreFull(store_->Check())) << store_->Check();
  EXPECT_TRUE(IsStoreFull(Put(101))) << Put(101);
  EXPECT_TRUE(Find(0).ok());
  EXPECT_TRUE(Delete(0).ok());
  store_ = OpenStore({.free_bytes = 0, .store_bytes = 1});
  ASSERT_TRUE(store_->Check().ok());
  ASSERT_TRUE(store_->Check().ok());
  EXPECT_TRUE(absl::StrContains(store_->health().warning, "--store_size_alarm")) << store_->health().warning;
}

TEST_F(FullDiskTest, TheReserveLeavesMostOfASmallDiskToOthers) {
  const int64_t reserved = static_cast<int64_t>(std::filesystem::file_size(disk_ / "store.db-reserve"));
  EXPECT_GE(reserved, int64_t{1} << 20);
  EXPECT_LE(reserved, int64_t{2} << 20);
  const DiskReserve reserve((disk_ / "store.db-reserve").string());
  EXPECT_EQ(reserve.GiveUp(), reserved);
  EXPECT_EQ(reserve.GiveUp(), 0);
  reserve.HoldAgain(reserved);
  EXPECT_EQ(reserve.GiveUp(), reserved);
}

}  // namespace
}  // namespace planwright::server
