// Random chains on devices whose memory binds, for tests of what is planned on chains.
#ifndef PLANWRIGHT_TESTS_CORE_PARTITION_PERIODIC_CHAIN_CASE_H_
#define PLANWRIGHT_TESTS_CORE_PARTITION_PERIODIC_CHAIN_CASE_H_

#include <cstdint>
#include <vector>

#include "core/model/chain.h"

namespace planwright {

struct ChainCase {
  Chain chain;
  ChainDevices devices;
};

// 1 to `max_layers` layers on 1 to 5 devices. In turn: a chain whose transfers are free, one on devices of unlimited
// memory, and others of limited memory, a third of which are full duplex; every tenth is for INFERENCE,
// every seventh recomputes.
ChainCase MakeChainCase(uint64_t seed, int32_t max_layers);

// The layers in which the stages after the first one begin, for each of the 2^(layers - 1) ways to cut a chain.
std::vector<std::vector<int32_t>> AllCuts(int32_t layers);

// Layers of 10 static and 5 stored bytes, with buffers of 4 between them.
Chain MakeThreeLayers();

// All times of the chain `factor` times as long.
void ScaleTimes(int64_t factor, Chain& chain);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PARTITION_PERIODIC_CHAIN_CASE_H_
