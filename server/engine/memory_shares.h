// What of the memory budget of a server is for what. The parts add up to the whole, so that the process stays within it
// when all of them are used at once.
#ifndef PLANWRIGHT_SERVER_ENGINE_MEMORY_SHARES_H_
#define PLANWRIGHT_SERVER_ENGINE_MEMORY_SHARES_H_

#include <cstdint>

namespace planwright::server {

// Bytes each, of a budget.
struct MemoryShares {
  explicit constexpr MemoryShares(int64_t budget)
      : tables(budget / 32 * 16),
        searching(budget / 32 * 2),
        sharing(budget / 32),
        reading(budget / 32),
        unpacking(budget / 32 * 2),
        batching(budget / 32),
        looking_up(budget / 32),
        storing(budget / 32),
        uploading(budget / 32),
        transport(budget / 32 * 2),
        answering(budget / 32 * 2),
        caching(budget / 32 * 2) {}

  // Tables of all searches that run.
  int64_t tables;
  // Requests whose search runs or waits, decoded; those that wait for the search of somebody else.
  int64_t searching;
  int64_t sharing;
  // Requests as bytes that wait to be read, and as messages while they are read.
  int64_t reading;
  int64_t unpacking;
  // Batches, as messages.
  int64_t batching;
  // Requests that wait for the store, and whose plan is looked for there.
  int64_t looking_up;
  int64_t storing;
  // Graphs that come in fragments.
  int64_t uploading;
  // gRPC's own buffers.
  int64_t transport;
  // Answers that their readers have not taken yet.
  int64_t answering;
  // Known plans and answers, at most.
  int64_t caching;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_MEMORY_SHARES_H_
