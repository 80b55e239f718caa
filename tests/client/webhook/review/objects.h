// Objects and pools that the tests of reviews share.
#ifndef PLANWRIGHT_TESTS_CLIENT_WEBHOOK_REVIEW_OBJECTS_H_
#define PLANWRIGHT_TESTS_CLIENT_WEBHOOK_REVIEW_OBJECTS_H_

#include <string>
#include <utility>

#include "client/webhook/review/envelope.h"
#include "client/webhook/review/pools.h"

namespace planwright::webhook {

// Eight nodes of eight 16 GiB accelerators, in racks of two; jobs come by queue "team-a/gpu".
inline constexpr char kPoolsText[] = R"(
classes:
  chip: {memory: 16 GiB, peak_flops: 100 TFLOPS, memory_bandwidth: 900 GB/s}
pools:
  - name: chips
    resource: example.com/chip
    class: chip
    nodes: 8
    devices: 8
    inside: {bandwidth: 100 GB/s, latency: 5 us}
    levels:
      - {label: example.com/rack, nodes: 2, bandwidth: 400 Gb/s, latency: 10 us}
      - {bandwidth: 200 Gb/s, latency: 15 us}
    queues: [team-a/gpu]
    node_selector: {pool: chips}
)";

inline Pools TestPools() { return *ParsePools(kPoolsText, "pools"); }

inline Json PodTemplate(int devices) {
  Json container = {{"name", "main"}, {"image", "trainer"}};
  if (devices > 0) container["resources"]["limits"]["example.com/chip"] = std::to_string(devices);
  return {{"spec", {{"containers", {std::move(container)}}}}};
}

// An Indexed Job of the queue, with the annotations that are given.
inline Json MakeJob(int pods, int devices, Json annotations) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", "train"},
            {"namespace", "team-a"},
            {"labels", {{"kueue.x-k8s.io/queue-name", "gpu"}}},
            {"annotations", std::move(annotations)}}},
          {"spec",
           {{"parallelism", pods},
            {"completions", pods},
            {"completionMode", "Indexed"},
            {"template", PodTemplate(devices)}}}};
}

inline Review CreateOf(Json object, std::string group = "batch", std::string kind = "Job") {
  Review review;
  review.uid = "uid-1";
  review.group = std::move(group);
  review.version = "v1";
  review.kind = std::move(kind);
  review.name_space = "team-a";
  review.operation = Operation::kCreate;
  review.object = std::move(object);
  return review;
}

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_TESTS_CLIENT_WEBHOOK_REVIEW_OBJECTS_H_
