#include "client/exporter/layouts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace planwright::client {
namespace {

// "", "t", "t*15".
std::string Repeated(char letter, std::size_t count) {
  if (count == 0) return "";
  return count == 1 ? std::string(1, letter) : absl::StrCat(std::string(1, letter), "*", count);
}

// Megatron expands groups first and single letters then, so that a group may hold repeated letters, but no group.
std::string Folded(const std::vector<std::string>& stages) {
  constexpr std::size_t kLeastRun = 3;
  std::string layout;
  for (std::size_t i = 0; i < stages.size();) {
    std::size_t end = i;
    // The last stage has no bar behind it.
    while (end + 1 < stages.size() && stages[end] == stages[i]) ++end;
    if (end - i >= kLeastRun) {
      absl::StrAppend(&layout, "(", stages[i], "|)*", end - i);
      i = end;
    } else {
      absl::StrAppend(&layout, stages[i], i + 1 < stages.size() ? "|" : "");
      ++i;
    }
  }
  return layout;
}

// The modules of one stage, by the names that torchtitan gives them.
std::vector<std::string> ModulesOf(const StageLayers& stage, bool is_first, bool is_last, const char* head) {
  std::vector<std::string> modules;
  if (is_first) modules.emplace_back("\"tok_embeddings\"");
  for (std::size_t i = 0; i < stage.num_layers; ++i) {
    modules.push_back(absl::StrCat("\"layers.", stage.first_layer + i, "\""));
  }
  if (is_last) modules.insert(modules.end(), {"\"norm\"", absl::StrCat("\"", head, "\"")});
  return modules;
}

}  // namespace

std::size_t CountLayers(const std::vector<StageLayers>& stages) {
  std::size_t count = 0;
  for (const StageLayers& stage : stages) count += stage.num_layers;
  return count;
}

std::string MegatronLayout(const std::vector<StageLayers>& stages) {
  std::vector<std::string> layout;
  layout.reserve(stages.size());
  for (const StageLayers& stage : stages) layout.push_back(Repeated('t', stage.num_layers));
  layout.front().insert(0, "E");
  layout.back().append("L");
  return Folded(layout);
}

std::string TorchtitanParts(const std::vector<StageLayers>& stages, const char* head, const char* indent) {
  std::string parts;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool is_last = i + 1 == stages.size();
    absl::StrAppend(&parts, indent, "[", absl::StrJoin(ModulesOf(stages[i], i == 0, is_last, head), ", "), "],\n");
  }
  return parts;
}

std::string DeepspeedModule(const std::vector<StageLayers>& stages, int layer_offset) {
  std::vector<std::string> boundaries = {"0"};
  auto next = static_cast<std::size_t>(layer_offset);
  for (std::size_t i = 1; i < stages.size(); ++i) {
    next += stages[i - 1].num_layers;
    boundaries.push_back(absl::StrCat(next));
  }
  return absl::StrFormat(
      "class PlannedPipelineModule(PipelineModule):\n"
      "    \"\"\"Stages as planned; %d layers stand before the first of %d numbered ones.\"\"\"\n"
      "\n"
      "    BOUNDARIES = [%s]\n"
      "\n"
      "    def _partition_layers(self, method=\"uniform\"):\n"
      "        # The last stage takes whatever follows the numbered layers.\n"
      "        self.parts = self.BOUNDARIES + [len(self._layer_specs)]\n"
      "        stage = self._topo.get_coord(self.global_rank).pipe\n"
      "        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])\n",
      layer_offset, CountLayers(stages), absl::StrJoin(boundaries, ", "));
}

}  // namespace planwright::client
