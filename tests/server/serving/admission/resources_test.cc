#include "server/serving/admission/resources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace planwright::server {
namespace {

// A /proc and /sys of the test's own.
class ResourcesTest : public testing::Test {
 protected:
  ResourcesTest() {
    std::filesystem::remove_all(root_);
    Write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:   10 kB\n");
  }
  ~ResourcesTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      ("resources_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(ResourcesTest, WithoutCgroupsTheMachineIsTheLimit) {
  EXPECT_GE(AvailableCpus(root_), 1);
  EXPECT_EQ(AvailableMemoryBytes(root_), 1000 * 1024);
}

TEST_F(ResourcesTest, Version2QuotaOfTheGroupOrItsParents) {
  Write("proc/self/cgroup", "0::/pod/app\n");
  Write("sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
  Write("sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/pod/memory.max", "4096\n");
  Write("sys/fs/cgroup/pod/app/memory.max", "max\n");
  // Half a CPU is rounded up.
  EXPECT_EQ(AvailableCpus(root_), 1);
  EXPECT_EQ(AvailableMemoryBytes(root_), 4096);
}

TEST_F(ResourcesTest, Version1QuotaInAContainerWhosePathIsNotMounted) {
  Write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(AvailableCpus(root_), 1);
  EXPECT_EQ(AvailableMemoryBytes(root_), 8192);
}

TEST_F(ResourcesTest, Version1WithoutQuota) {
  Write("proc/self/cgroup", "5:cpu:/\n4:memory:/\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_GE(AvailableCpus(root_), 1);
  EXPECT_EQ(AvailableMemoryBytes(root_), 1000 * 1024);
}

}  // namespace
}  // namespace planwright::server
