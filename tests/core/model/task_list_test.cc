#include "core/model/task_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace planwright {
namespace {

TEST(TaskListTest, NamesSayStageOperationAndMicroBatch) {
  EXPECT_EQ(TaskName({.kind = TaskKind::kForward, .stage = 2, .micro_batch = 0}), "2F0");
  EXPECT_EQ(TaskName({.kind = TaskKind::kReceiveBackward, .stage = 10, .micro_batch = 31}), "10RECV_B31");
  EXPECT_EQ(TaskName({.kind = TaskKind::kAllReduce, .stage = 1, .micro_batch = 0}), "1REDUCE_GRAD");
}

TEST(TaskListTest, PassesAreReadBack) {
  for (const TaskKind kind : {TaskKind::kForward, TaskKind::kBackward, TaskKind::kBackwardInput,
                              TaskKind::kBackwardWeight, TaskKind::kRecompute}) {
    const PassTask pass{kind, 12, 345};
    EXPECT_EQ(ParsePassTask(TaskName({.kind = kind, .stage = 12, .micro_batch = 345})), pass);
  }
}

TEST(TaskListTest, WhatIsNoPassIsNotRead) {
  for (const char* text : {"", "F", "2F", "F0", "2X0", "2f0", "-1F0", "2F-1", "2SEND_F0", "2F0 ", " 2F0", "2FF0", "20",
                           "99999999999F0", "0F99999999999"}) {
    EXPECT_EQ(ParsePassTask(text), std::nullopt) << text;
  }
}

TEST(TaskListTest, LinksOfTwoDirectionsHaveArrows) {
  EXPECT_EQ(LinkName("a", "b", false), "a - b");
  EXPECT_EQ(LinkName("a", "b", true), "a -> b");
}

}  // namespace
}  // namespace planwright
