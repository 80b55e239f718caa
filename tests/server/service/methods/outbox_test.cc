#include "server/service/methods/outbox.h"

#include <gmock/gmock.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace planwright::server {
namespace {

using testing::ElementsAre;

constexpr int kPhase = 1;
constexpr int kBound = 2;
constexpr int kIncumbent = 3;

OutgoingMessage Message(const std::string& text) {
  const grpc::Slice slice(text);
  return {.bytes = grpc::ByteBuffer(&slice, 1), .hold = nullptr};
}

std::string TextOf(const grpc::ByteBuffer& message) {
  grpc::Slice slice;
  EXPECT_TRUE(message.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// "nothing", "write TEXT" or "finish".
std::string Told(const Outbox::Step& step) {
  EXPECT_FALSE(step.message.has_value() && step.finish);
  if (step.message.has_value()) return "write " + TextOf(step.message->bytes);
  return step.finish ? "finish" : "nothing";
}

TEST(OutboxTest, WritesOneMessageAtATimeAndThenFinishes) {
  Outbox outbox;
  EXPECT_EQ(Told(outbox.Add(kPhase, Message("phase"))), "write phase");
  EXPECT_EQ(Told(outbox.Add(kBound, Message("bound"))), "nothing");
  EXPECT_EQ(Told(outbox.Close()), "nothing");
  EXPECT_EQ(Told(outbox.WriteDone(true)), "write bound");
  EXPECT_EQ(Told(outbox.WriteDone(true)), "finish");
}

TEST(OutboxTest, ASlowReaderGetsTheLatestOfEachKindInTheOrderOfTime) {
  Outbox outbox;
  EXPECT_EQ(Told(outbox.Add(kPhase, Message("phase 0"))), "write phase 0");
  for (int i = 1; i <= 1000; ++i) {
    const std::string number = std::to_string(i);
    EXPECT_EQ(Told(outbox.Add(kPhase, Message("phase " + number))), "nothing");
    EXPECT_EQ(Told(outbox.Add(kIncumbent, Message("incumbent " + number))), "nothing");
    EXPECT_EQ(Told(outbox.Add(kBound, Message("bound " + number))), "nothing");
  }
  EXPECT_EQ(Told(outbox.Close()), "nothing");
  std::vector<std::string> steps;
  for (int i = 0; i < 4; ++i) steps.push_back(Told(outbox.WriteDone(true)));
  EXPECT_THAT(steps, ElementsAre("write phase 1000", "write incumbent 1000", "write bound 1000", "finish"));
}

TEST(OutboxTest, AReaderThatHasGoneGetsNothingMore) {
  Outbox outbox;
  EXPECT_EQ(Told(outbox.Add(kPhase, Message("a"))), "write a");
  EXPECT_EQ(Told(outbox.Add(kBound, Message("b"))), "nothing");
  EXPECT_EQ(Told(outbox.WriteDone(false)), "nothing");
  EXPECT_EQ(Told(outbox.Add(kIncumbent, Message("c"))), "nothing");
  EXPECT_EQ(Told(outbox.Close()), "finish");
}

TEST(OutboxTest, AReaderThatGoesDuringTheLastWriteEndsTheStream) {
  Outbox outbox;
  EXPECT_EQ(Told(outbox.Add(kPhase, Message("a"))), "write a");
  EXPECT_EQ(Told(outbox.Add(kBound, Message("b"))), "nothing");
  EXPECT_EQ(Told(outbox.Close()), "nothing");
  EXPECT_EQ(Told(outbox.WriteDone(false)), "finish");
}

TEST(OutboxTest, AnErrorBeforeAnyMessageFinishesAtOnce) {
  Outbox outbox;
  EXPECT_EQ(Told(outbox.Close()), "finish");
}

}  // namespace
}  // namespace planwright::server
