#include "server/connections/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMegabyte = 1'000'000;

// Connections of which the test says what they do. Each has a number of its own as descriptor.
class Scene {
 public:
  explicit Scene(const ConnectionLimits& limits) : connections(limits) {}

  static std::string Name(const std::string& host, int number) { return absl::StrCat(host, ":", number); }

  // The numbers of those that went for it, and -1 if it did not come in.
  std::vector<int> Enter(const std::string& host, int number) {
    std::vector<OpenSocket> ended;
    const bool admitted = connections.Enter({.name = Name(host, number), .host = host}, SocketOf(number), now, ended);
    std::vector<int> numbers = Numbers(ended);
    if (!admitted) numbers.push_back(-1);
    return numbers;
  }
  void Identify(const std::string& host, int number) { connections.Identified(Name(host, number)); }

  // A round in which the connections have received so many bytes altogether; those that are not named are as they were.
  // Only those of `answered` have been sent something meanwhile.
  std::vector<int> Look(const std::map<std::string, int64_t>& received, std::chrono::milliseconds later,
                        const std::vector<std::string>& answered = {}) {
    now += later;
    for (const auto& [name, bytes] : received) traffic_[name].received = bytes;
    for (const std::string& name : answered) traffic_[name].sent += 1000;
    std::vector<Connections::Sample> samples = connections.Samples();
    for (Connections::Sample& sample : samples) sample.traffic = traffic_[sample.name];
    return Numbers(connections.Update(samples, now));
  }
  // So much, until the next look.
  void Send(const std::string& name, int64_t bytes) { traffic_[name].sent += bytes; }
  void Close(const std::string& name) {
    std::vector<Connections::Sample> samples = connections.Samples();
    for (Connections::Sample& sample : samples) sample.is_open = sample.name != name;
    connections.Update(samples, now);
  }

  static OpenSocket SocketOf(int number) { return {.file = number, .inode = static_cast<ino_t>(number)}; }
  static std::vector<int> Numbers(const std::vector<OpenSocket>& sockets) {
    std::vector<int> numbers;
    numbers.reserve(sockets.size());
    for (const OpenSocket& socket : sockets) numbers.push_back(socket.file);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  }

  Connections connections;
  Connections::Clock::time_point now{};

 private:
  std::map<std::string, Connections::Traffic> traffic_;
};

int64_t Ended(const Connections& connections, EndReason reason) {
  return connections.counts().ended[static_cast<std::size_t>(reason)];
}

TEST(ConnectionsTest, WhenFullTheOldestUnknownOneOfTheGreatestHostGoes) {
  Scene scene({.connections = 4, .unidentified_per_host = 4});
  scene.Enter("a", 1);
  scene.Enter("b", 2);
  scene.Enter("b", 3);
  scene.Enter("a", 4);
  scene.Identify("a", 1);
  // b has two that nobody knows, a one.
  EXPECT_THAT(scene.Enter("c", 5), ElementsAre(2));
  EXPECT_EQ(scene.connections.counts().open, 4);
  EXPECT_EQ(Ended(scene.connections, EndReason::kRoom), 1);
}

TEST(ConnectionsTest, KnownCallersStayAndStrangersAreRefusedWhenThereIsNobodyElse) {
  Scene scene({.connections = 2, .unidentified_per_host = 2});
  for (const int number : {1, 2}) {
    scene.Enter("a", number);
    scene.Identify("a", number);
  }
  EXPECT_TRUE(scene.connections.is_full());
  EXPECT_THAT(scene.Enter("b", 3), ElementsAre(-1));
  EXPECT_EQ(scene.connections.counts().refused, 1);
  scene.Close("a:1");
  EXPECT_FALSE(scene.connections.is_full());
  EXPECT_THAT(scene.Enter("b", 3), IsEmpty());
}

TEST(ConnectionsTest, AHostHasFewPlacesForUnknownOnesAndAllForKnownOnes) {
  Scene scene({.connections = 10, .unidentified_per_host = 2});
  scene.Enter("a", 1);
  scene.Enter("a", 2);
  EXPECT_THAT(scene.Enter("a", 3), ElementsAre(1));
  scene.Identify("a", 2);
  EXPECT_THAT(scene.Enter("a", 4), IsEmpty());
  EXPECT_THAT(scene.Enter("b", 5), IsEmpty());
  EXPECT_EQ(Ended(scene.connections, EndReason::kHost), 1);
}

TEST(ConnectionsTest, ThousandsOfIdleOnesKeepNobodyOut) {
  Scene scene({.connections = 100, .unidentified_per_host = 25});
  for (int number = 0; number < 5000; ++number) {
    scene.Enter(absl::StrCat("attacker", number % 7), number);
    if (number % 50 != 0) continue;
    // Comes, is known at once, and stays to the end.
    EXPECT_THAT(scene.Enter("client", 10'000 + number), testing::Not(testing::Contains(-1)));
    scene.Identify("client", 10'000 + number);
    scene.Close(Scene::Name("client", 10'000 + number));
  }
  const Connections::Counts counts = scene.connections.counts();
  EXPECT_EQ(counts.open, 100);
  EXPECT_EQ(counts.refused, 0);
}

TEST(ConnectionsTest, ExpectedOnesComeInBesideTheOthers) {
  Scene scene({.connections = 1, .unidentified_per_host = 1});
  scene.Enter("a", 1);
  scene.Identify("a", 1);
  scene.connections.Expect("own:2");
  EXPECT_THAT(scene.Enter("own", 2), IsEmpty());
  EXPECT_EQ(scene.connections.counts().open, 1);
  EXPECT_THAT(scene.Enter("own", 3), ElementsAre(-1));
  scene.Close("own:2");
  EXPECT_EQ(scene.connections.sockets(), 1);
}

TEST(ConnectionsTest, OnesThatAreOnTheirWayOutAreCountedAsSocketsOnly) {
  Scene scene({.connections = 1, .unidentified_per_host = 1});
  scene.Enter("a", 1);
  EXPECT_THAT(scene.Enter("a", 2), ElementsAre(1));
  EXPECT_EQ(scene.connections.counts().open, 1);
  EXPECT_EQ(scene.connections.sockets(), 2);
  scene.Close("a:1");
  EXPECT_EQ(scene.connections.sockets(), 1);
  EXPECT_EQ(scene.connections.counts().open, 1);
}

TEST(ConnectionsTest, EndsTheOldWhereThereIsAnAge) {
  Scene scene({.max_age = std::chrono::seconds(5)});
  scene.Enter("a", 1);
  EXPECT_THAT(scene.Look({}, std::chrono::seconds(3)), IsEmpty());
  scene.Enter("a", 2);
  EXPECT_THAT(scene.Look({}, std::chrono::seconds(2)), ElementsAre(1));
  EXPECT_THAT(scene.Look({}, std::chrono::seconds(3)), ElementsAre(2));
  EXPECT_EQ(Ended(scene.connections, EndReason::kAge), 2);
}

TEST(ConnectionsTest, WhatIsDeliveredIsHeldNoMore) {
  Scene scene({.held_bytes = 10 * kMegabyte});
  scene.Enter("a", 1);
  int64_t received = 0;
  // Far more than the limit in all, one message after the other.
  for (int message = 0; message < 20; ++message) {
    received += 6 * kMegabyte;
    EXPECT_THAT(scene.Look({{"a:1", received}}, std::chrono::milliseconds(20), {"a:1"}), IsEmpty());
    scene.connections.Delivered("a:1", 6 * kMegabyte);
  }
  scene.Look({}, std::chrono::milliseconds(20));
  EXPECT_EQ(scene.connections.counts().held_bytes, 0);
}

TEST(ConnectionsTest, AMessageThatIsDeliveredBeforeAnybodyLooksIsNotHeld) {
  Scene scene({});
  scene.Enter("a", 1);
  scene.connections.Delivered("a:1", 6 * kMegabyte);
  scene.Look({{"a:1", 6 * kMegabyte}}, std::chrono::milliseconds(20));
  EXPECT_EQ(scene.connections.counts().held_bytes, 0);
}

TEST(ConnectionsTest, WhereTooMuchIsHeldTheSilentGoFirst) {
  Scene scene({.held_bytes = 10 * kMegabyte});
  for (const int number : {1, 2, 3}) scene.Enter("a", number);
  scene.Look({{"a:1", 4 * kMegabyte}, {"a:2", 5 * kMegabyte}}, std::chrono::milliseconds(20));
  // The second has gone on, the first has not.
  scene.Look({{"a:2", 5 * kMegabyte + 100'000}}, std::chrono::milliseconds(1020));
  EXPECT_THAT(scene.Look({{"a:2", 5 * kMegabyte + 200'000}, {"a:3", 3 * kMegabyte}}, std::chrono::milliseconds(1020)),
              ElementsAre(1));
  EXPECT_LE(scene.connections.counts().held_bytes, 10 * kMegabyte);
  EXPECT_EQ(Ended(scene.connections, EndReason::kHeld), 1);
}

TEST(ConnectionsTest, WhereTooMuchIsHeldUnknownOnesGoBeforeKnownOnes) {
  Scene scene({.held_bytes = 10 * kMegabyte});
  for (const int number : {1, 2, 3}) scene.Enter("a", number);
  scene.Identify("a", 1);
  EXPECT_THAT(scene.Look({{"a:1", 6 * kMegabyte}, {"a:2", 5 * kMegabyte}, {"a:3", 100}}, std::chrono::milliseconds(20)),
              ElementsAre(2));
}

TEST(ConnectionsTest, UnknownOnesTogetherMayHoldLess) {
  Scene scene({.held_bytes = 10 * kMegabyte, .all_unidentified_held_bytes = 5 * kMegabyte});
  for (const int number : {1, 2, 3}) scene.Enter("a", number);
  scene.Identify("a", 1);
  const std::map<std::string, int64_t> held = {{"a:1", 4 * kMegabyte}, {"a:2", 2 * kMegabyte}, {"a:3", 3 * kMegabyte}};
  EXPECT_THAT(scene.Look(held, std::chrono::milliseconds(20)), IsEmpty());
  EXPECT_THAT(scene.Look({{"a:2", 2 * kMegabyte + 1}}, std::chrono::milliseconds(20)), ElementsAre(3));
  EXPECT_EQ(scene.connections.counts().held_bytes, 6 * kMegabyte + 1);
}

TEST(ConnectionsTest, WhoeverSendsOnWithoutAnAnswerMayHoldLess) {
  Scene scene({.unanswered_held_bytes = 60 * kMegabyte});
  for (const int number : {1, 2, 3}) scene.Enter("a", number);
  scene.Identify("a", 1);
  scene.Look({}, std::chrono::milliseconds(20), {"a:1", "a:2", "a:3"});
  // The first is known, the second has its windows opened.
  const auto look = [&](int64_t megabytes) {
    const int64_t received = megabytes * kMegabyte;
    return scene.Look({{"a:1", received}, {"a:2", received}, {"a:3", received}}, std::chrono::milliseconds(20),
                      {"a:2"});
  };
  for (const int64_t megabytes : {15, 30, 45, 60}) EXPECT_THAT(look(megabytes), IsEmpty());
  EXPECT_THAT(look(61), ElementsAre(3));
  EXPECT_THAT(look(200), IsEmpty());
  EXPECT_EQ(Ended(scene.connections, EndReason::kHeld), 1);
}

TEST(ConnectionsTest, ThoseWithoutAnAnswerMayHoldLessTogether) {
  Scene scene({.unanswered_held_bytes = 60 * kMegabyte});
  for (const int number : {1, 2, 3, 4}) scene.Enter("a", number);
  scene.Look({}, std::chrono::milliseconds(20), {"a:1", "a:2", "a:3", "a:4"});
  const auto received = [](int64_t first, int64_t second, int64_t others) {
    return std::map<std::string, int64_t>{{"a:1", first * kMegabyte},
                                          {"a:2", second * kMegabyte},
                                          {"a:3", others * kMegabyte},
                                          {"a:4", others * kMegabyte}};
  };
  // What fits a window is no sign of a flood.
  EXPECT_THAT(scene.Look(received(30, 29, 16), std::chrono::milliseconds(20)), IsEmpty());
  EXPECT_THAT(scene.Look(received(32, 29, 16), std::chrono::milliseconds(20)), ElementsAre(1));
}

TEST(ConnectionsTest, WhoeverHadNoWindowOpenedMayHoldLess) {
  Scene scene({.unopened_held_bytes = 8 * kMegabyte});
  for (const int number : {1, 2, 3, 4}) scene.Enter("a", number);
  scene.Identify("a", 1);
  const std::chrono::milliseconds later(20);
  // The second has its settings alone, the third those and a handshake, the fourth a window beside.
  scene.Send("a:2", 61);
  scene.Look({{"a:3", 500}}, later, {"a:3"});
  scene.Send("a:4", 74);
  const auto look = [&](int64_t megabytes) {
    const int64_t received = megabytes * kMegabyte;
    return scene.Look({{"a:1", received}, {"a:2", received}, {"a:3", received}, {"a:4", received}}, later);
  };
  EXPECT_THAT(look(8), IsEmpty());
  EXPECT_THAT(look(9), ElementsAre(2, 3));
  EXPECT_THAT(look(100), IsEmpty());
  EXPECT_EQ(Ended(scene.connections, EndReason::kHeld), 2);
}

TEST(ConnectionsTest, AnUnknownOneMayHoldLess) {
  Scene scene({.held_bytes = 10 * kMegabyte, .unidentified_held_bytes = 2 * kMegabyte});
  scene.Enter("a", 1);
  scene.Enter("a", 2);
  scene.Identify("a", 1);
  EXPECT_THAT(scene.Look({{"a:1", 3 * kMegabyte}, {"a:2", 3 * kMegabyte}}, std::chrono::milliseconds(20)),
              ElementsAre(2));
}

}  // namespace
}  // namespace planwright::server
