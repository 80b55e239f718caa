#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/simulate/task_graph.h"
#include "tests/core/simulate/small_lists.h"

namespace planwright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(DeadlockTest, AListThatRunsHasNoCycle) { EXPECT_THAT(FindCycle(RandomOrderedList(1, 50)), IsEmpty()); }

TEST(DeadlockTest, FindsTasksThatNeedEachOther) {
  // Task 3 waits for the cycle but is not on it.
  const TaskList list = MakeList({kDevice}, {{0, 1}, {0, 1}, {0, 1}, {0, 1}}, {{0, 1}, {1, 2}, {2, 0}, {2, 3}});
  EXPECT_THAT(FindCycle(list), UnorderedElementsAre(0, 1, 2));
}

TEST(DeadlockTest, OrdersOfResourcesCloseCycles) {
  TaskList list = MakeList({kDevice}, {{0, 1}, {0, 1}}, {{1, 0}});
  EXPECT_THAT(FindCycle(list), IsEmpty());
  list.order = {{0, 1}};
  EXPECT_THAT(FindCycle(list), UnorderedElementsAre(0, 1));
}

TEST(DeadlockTest, TheTextGoesOnceAround) {
  const TaskList list = MakeList({kDevice}, {{0, 1}, {0, 1}, {0, 1}}, {});
  EXPECT_EQ(CycleText(list, {2, 0, 1}), "0F2 waits for 0F0, which waits for 0F1, which waits for 0F2");
  EXPECT_EQ(CycleText(list, {1}), "0F1 waits for 0F1");
}

TEST(DeadlockTest, ALongCycleIsCutInTheMiddle) {
  const TaskList list = MakeList({kDevice}, std::vector<SmallTask>(100, {0, 1}), {});
  std::vector<int32_t> cycle;
  for (int32_t task = 0; task < 100; ++task) cycle.push_back(task);
  const std::string text = CycleText(list, cycle);
  EXPECT_THAT(text, HasSubstr("which waits for 0F7, ... 85 more, which waits for 0F93"));
  EXPECT_THAT(text, HasSubstr("which waits for 0F99, which waits for 0F0"));
}

}  // namespace
}  // namespace planwright
