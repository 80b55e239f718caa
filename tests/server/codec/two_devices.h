// The cluster of tests that need one only to decode.
#ifndef PLANWRIGHT_TESTS_SERVER_CODEC_TWO_DEVICES_H_
#define PLANWRIGHT_TESTS_SERVER_CODEC_TWO_DEVICES_H_

#include "core/model/cluster.h"

namespace planwright::server {

// "g0" and "g1" of the class "gpu".
inline Cluster TwoDevices() {
  Cluster cluster;
  cluster.device_classes.emplace_back().name = "gpu";
  for (const char* name : {"g0", "g1"}) cluster.devices.emplace_back().name = name;
  return cluster;
}

}  // namespace planwright::server

#endif  // PLANWRIGHT_TESTS_SERVER_CODEC_TWO_DEVICES_H_
