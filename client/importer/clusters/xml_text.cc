#include "client/importer/clusters/xml_text.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/importer/reading/native.h"

namespace planwright::client {

absl::Status ParseXml(std::string_view text, std::string_view source, pugi::xml_document& document) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  const std::string name(source);
  if (text.size() > kMaxBytes)
    return absl::InvalidArgumentError(absl::StrCat(name, ": must have at most 64 MiB as XML"));
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(name, ": is not valid UTF-8"));
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (result) return absl::OkStatus();
  const std::string_view before = text.substr(0, static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0)));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return absl::InvalidArgumentError(absl::StrCat(name, ": line ", line, ": is no XML: ", result.description()));
}

void AddAssumptions(std::string_view product, const std::vector<std::string>& assumed, const ClusterOptions& options,
                    std::string_view source, ImportedCluster& imported) {
  const std::string name(source);
  if (options.device_class.empty() && options.gpu_query.empty() && !product.empty()) {
    imported.warnings.push_back(absl::StrCat(
        name, ": accelerators are taken for class ", imported.cluster.device_classes(0).name(), " with ",
        imported.cluster.device_classes(0).memory_bytes() >> 30, " GiB; --class or --gpu_query say otherwise"));
  }
  if (assumed.empty() || imported.cluster.devices_size() < 2) return;
  imported.warnings.push_back(absl::StrCat(name, ": pairs that it says nothing of are taken to reach ",
                                           absl::StrJoin(assumed, ", "), "; --link=CLASS=BANDWIDTH says otherwise"));
}

}  // namespace planwright::client
