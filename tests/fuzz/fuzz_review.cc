// Any bytes as the body of a review: an answer that is JSON, whatever the service says, and a patch that applies.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/webhook/review/envelope.h"
#include "client/webhook/review/judge.h"
#include "client/webhook/review/manifest.h"
#include "client/webhook/review/pools.h"

namespace planwright::webhook {
namespace {

constexpr char kPools[] = R"(
pools:
  - name: h100
    resource: nvidia.com/gpu
    class: h100
    nodes: 16
    devices: 8
    inside: {bandwidth: 370 GB/s}
    levels: [{label: rack, nodes: 4, bandwidth: 400 Gb/s}, {bandwidth: 200 Gb/s}]
    queues: [team-a/gpu]
)";

// Every device a stage of its own.
v1::Plan PlanFor(const v1::CreatePlanRequest& request) {
  v1::Plan plan;
  plan.set_objective_ms(1);
  for (int i = 0; i < request.cluster().device_groups(0).count(); ++i) plan.add_devices()->add_stages(i);
  return plan;
}

void JudgeAll(const Review& review) {
  static const Pools pools = *ParsePools(kPools, "pools");
  const Policy policy{.mode = Mode::kEnforce};
  for (const bool has_plan : {true, false}) {
    const Service service = {.plan = [&](const v1::CreatePlanRequest& request) -> absl::StatusOr<v1::Plan> {
                               if (!has_plan) return absl::UnavailableError("down");
                               return PlanFor(request);
                             },
                             .graph = [](const std::string&) { return absl::StatusOr<v1::Graph>(v1::Graph()); }};
    for (const Door door : {Door::kMutate, Door::kValidate}) {
      const Answer answer = AnswerOf(Judge(review, door, policy, pools, absl::UnixEpoch(), service));
      const Json written = Json::parse(FormatAnswer(review.uid, answer), nullptr, /*allow_exceptions=*/false);
      if (written.is_discarded() || !answer.allowed) std::abort();
      if (answer.patch.is_array()) static_cast<void>(review.object.patch(answer.patch));
    }
  }
}

void ReadAsEverything(std::string_view text) {
  const auto review = ParseReview(text);
  if (review.ok()) JudgeAll(*review);
  const auto manifests = ReadManifests(text, "input");
  if (!manifests.ok()) return;
  for (const Json& object : *manifests) {
    const auto of_manifest = ReviewOfManifest(object, "team-a");
    if (of_manifest.ok()) JudgeAll(*of_manifest);
  }
}

}  // namespace
}  // namespace planwright::webhook

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  planwright::webhook::ReadAsEverything({reinterpret_cast<const char*>(data), size});
  return 0;
}
