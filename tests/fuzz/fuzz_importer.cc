// Any bytes as a file that a user names: the importers answer with a value or an error, and what they made of a file
// survives being written as JSON and read again.
#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client/importer/importer.h"
#include "client/report/json.h"

namespace planwright::client {
namespace {

// By value: maps come in any order, and not-a-number is what it is.
bool AreEqual(const v1::CreatePlanRequest& a, const v1::CreatePlanRequest& b) {
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  return differencer.Compare(a, b);
}

// REQUIRES: `message` was parsed.
void CheckReadsBack(const v1::CreatePlanRequest& message) {
  const std::string json = JsonText(message);
  const auto again = ImportGraph(json, "again", {.format = GraphFormat::kNativeJson});
  if (again.ok() && AreEqual(again->request, message)) return;
  std::fprintf(stderr, "does not read back (%s):\n%s", again.status().ToString().c_str(), json.c_str());
  std::abort();
}

void ImportAsEverything(std::string_view text) {
  const auto request = ImportGraph(text, "input", {.format = GraphFormat::kAuto});
  const v1::Graph* graph = nullptr;
  if (request.ok()) {
    CheckReadsBack(request->request);
    graph = &request->request.graph();
  }
  ImportCluster(text, "input").IgnoreError();
  ImportPlan(text, "input", graph).IgnoreError();
  ImportPlan(text, "input", nullptr).IgnoreError();
}

}  // namespace
}  // namespace planwright::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  planwright::client::ImportAsEverything({reinterpret_cast<const char*>(data), size});
  return 0;
}
