#include "server/serving/operations/claim_keeper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/store/open_store.h"

namespace planwright::server {
namespace {

using std::chrono::milliseconds;

// Two servers with one store.
class ClaimKeeperTest : public testing::Test {
 protected:
  ~ClaimKeeperTest() override { std::filesystem::remove_all(folder_); }

  static std::filesystem::path MakeFolder() {
    const std::filesystem::path folder = absl::StrCat(testing::TempDir(), "/claim_keeper_test.", getpid());
    std::filesystem::create_directories(folder);
    return folder;
  }

  // Tries until it has the claim; gives up after a minute.
  static std::shared_ptr<ClaimKeeper::Claim> Await(ClaimKeeper& claims) {
    for (int i = 0; i < 6000; ++i) {
      ClaimKeeper::Outcome outcome = claims.Try("key", milliseconds(1));
      if (outcome.claim != nullptr) return outcome.claim;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return nullptr;
  }

  const std::filesystem::path folder_ = MakeFolder();
  std::unique_ptr<Store> store_ =
      OpenStore(absl::StrCat("sqlite:", folder_.string(), "/db"), /*migrate=*/false).value();
};

TEST_F(ClaimKeeperTest, OneServerHasAClaimAndTellsTheOtherHowLongItExpectsToTake) {
  ClaimKeeper one(*store_);
  ClaimKeeper other(*store_);
  const ClaimKeeper::Outcome first = one.Try("key", milliseconds(1234));
  ASSERT_NE(first.claim, nullptr);
  EXPECT_FALSE(first.expected_by_other.has_value());
  const ClaimKeeper::Outcome second = other.Try("key", milliseconds(1));
  EXPECT_EQ(second.claim, nullptr);
  EXPECT_EQ(second.expected_by_other, milliseconds(1234));
  // A second search of the same server is no other.
  EXPECT_EQ(one.Try("key", milliseconds(1)).claim, nullptr);
  EXPECT_NE(other.Try("another", milliseconds(1)).claim, nullptr);
}

TEST_F(ClaimKeeperTest, WhatIsGivenBackIsFree) {
  ClaimKeeper one(*store_);
  ClaimKeeper other(*store_);
  one.Try("key", milliseconds(1)).claim.reset();
  EXPECT_NE(Await(other), nullptr);
}

TEST_F(ClaimKeeperTest, WhatIsGivenBackAtLastIsFreeAsWell) {
  // Often the second one is given back while the first one is on its way to the store.
  for (int i = 0; i < 50; ++i) {
    const std::string key = absl::StrCat("last ", i);
    {
      ClaimKeeper one(*store_);
      const std::shared_ptr<ClaimKeeper::Claim> last = one.Try(key, milliseconds(1)).claim;
      ASSERT_NE(last, nullptr);
      one.Try("first", milliseconds(1)).claim.reset();
      std::this_thread::yield();
    }
    EXPECT_TRUE(store_->Claim(key, "another 1", milliseconds(1000))->is_ours) << key;
  }
}

TEST_F(ClaimKeeperTest, WhatIsHeldIsRenewed) {
  // Long enough that a busy machine misses no renewal.
  constexpr milliseconds kLease{2000};
  ClaimKeeper one(*store_, kLease);
  ClaimKeeper other(*store_, kLease);
  const ClaimKeeper::Outcome held = one.Try("key", milliseconds(1));
  ASSERT_NE(held.claim, nullptr);
  std::this_thread::sleep_for(kLease + kLease / 2);
  EXPECT_EQ(other.Try("key", milliseconds(1)).claim, nullptr);
}

TEST_F(ClaimKeeperTest, AServerThatDiedLosesItsClaimWithItsLease) {
  // Nobody renews this one.
  ASSERT_TRUE(store_->Claim("key", "dead 1000", milliseconds(100))->is_ours);
  ClaimKeeper other(*store_, milliseconds(100));
  EXPECT_EQ(other.Try("key", milliseconds(1)).expected_by_other, milliseconds(1000));
  EXPECT_NE(Await(other), nullptr);
}

}  // namespace
}  // namespace planwright::server
