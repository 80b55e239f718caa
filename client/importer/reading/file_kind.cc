#include "client/importer/reading/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

// How much of a text tells its kind.
constexpr std::size_t kBeginning = 4096;

struct Magic {
  std::string_view bytes;
  std::string_view description;
};

// Binary files by how they begin.
constexpr std::array<Magic, 10> kMagics = {{
    {"PK\x03\x04", "a zip archive, such as a checkpoint of PyTorch (.pt), and no model of torch.export (.pt2)"},
    {"\x1f\x8b", "compressed by gzip: decompress it first"},
    {"BZh", "compressed by bzip2: decompress it first"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd: decompress it first"},
    {"\x80\x02", "a Python pickle, which can run programs and is never read"},
    {"GGUF", "a GGUF file, which holds weights"},
    {"\x89HDF", "an HDF5 file (.h5)"},
    {"\x93NUMPY", "a NumPy array"},
    {"\x89PNG", "a picture"},
    {"%PDF", "a PDF document"},
}};

// A length of 8 bytes, then a JSON object of that length.
bool IsSafetensors(std::string_view text) {
  constexpr std::size_t kLengthBytes = 8;
  return text.size() > kLengthBytes && text[kLengthBytes] == '{' &&
         text.substr(4, 4) == std::string_view("\0\0\0\0", 4);
}

// Field 1, a small varint (ir_version), then field 2, a short text (producer_name), or field 7 or 8.
bool IsOnnx(std::string_view text) {
  if (text.size() < 4 || text[0] != '\x08' || static_cast<unsigned char>(text[1]) > 0x20) return false;
  return text[2] == '\x12' || text[2] == '\x3a' || text[2] == '\x42';
}

// A zip archive with the names that torch.export gives; they stand before each file and, all of them, at the end.
bool IsExportedProgram(std::string_view text) {
  constexpr std::string_view kZip = "PK\x03\x04";
  constexpr std::size_t kEnd = std::size_t{1} << 20;
  if (!text.starts_with(kZip)) return false;
  const std::string_view end = text.substr(text.size() - std::min(text.size(), kEnd));
  for (const std::string_view part : {text.substr(0, kBeginning), end}) {
    for (const std::string_view name : {"/archive_format", "models/model.json", "serialized_exported_program.json"}) {
      if (part.find(name) != std::string_view::npos) return true;
    }
  }
  return false;
}

std::string_view FirstLine(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (std::any_of(line.begin(), line.end(),
                    [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; })) {
      return line;
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

// The first line that neither is empty nor begins with '#'.
std::string_view FirstLineWithoutComments(std::string_view text) {
  while (true) {
    const std::string_view line = FirstLine(text);
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] != '#') return line;
    text.remove_prefix(static_cast<std::size_t>(line.data() + line.size() - text.data()));
  }
}

bool ContainsIgnoringCase(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
         }) != text.end();
}

// "node10 -- ReLU(inplace) -- forward_compute_time=...".
bool IsPipeDream(std::string_view line) {
  return line.starts_with("node") && line.find(" -- ") != std::string_view::npos &&
         line.find("forward_compute_time=") != std::string_view::npos;
}

// "GPU0 GPU1 ..." or "GPU0 NIC0 ...", perhaps behind the sequence that underlines it.
bool IsHeadingOfGpus(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (line.starts_with('\x1b')) line.remove_prefix(std::min(line.find('m'), line.size() - 1) + 1);
  constexpr std::string_view kFirst = "GPU0";
  if (!line.starts_with(kFirst)) return false;
  line.remove_prefix(kFirst.size());
  return line.starts_with(' ') || line.starts_with('\t') || line.starts_with('\r') || line.empty();
}

RecognisedFile XmlKind(std::string_view beginning) {
  for (const auto& [tag, file] : std::array<std::pair<std::string_view, RecognisedFile>, 3>{
           {{"<system", {FileKind::kNcclXml, "a topology of NCCL"}},
            {"<topology", {FileKind::kHwlocXml, "a topology of hwloc"}},
            {"<html", {FileKind::kForeign, "a web page"}}}}) {
    if (ContainsIgnoringCase(beginning, tag)) return file;
  }
  return {FileKind::kForeign, "XML of an unknown kind"};
}

RecognisedFile TextKind(std::string_view text) {
  const std::string_view beginning = text.substr(0, kBeginning);
  const std::string_view line = FirstLine(beginning);
  const std::string_view plain = FirstLineWithoutComments(beginning);
  if (IsPipeDream(line)) return {FileKind::kPipeDreamGraph, "a profile of PipeDream"};
  if (IsHeadingOfGpus(line)) return {FileKind::kNvidiaTopology, "the output of nvidia-smi topo -m"};
  for (const std::string_view key : {"SwitchName=", "BlockName=", "BlockSizes="}) {
    const std::string_view words = plain.substr(std::min(plain.find_first_not_of(" \t"), plain.size()));
    if (ContainsIgnoringCase(words.substr(0, key.size()), key)) {
      return {FileKind::kSlurmTopology, "a topology.conf of Slurm"};
    }
  }
  if (plain.starts_with("- topology:")) return {FileKind::kSlurmTopologyYaml, "a topology.yaml of Slurm"};
  const bool is_test = beginning.find("nccl-tests version") != std::string_view::npos ||
                       beginning.find("# nThread ") != std::string_view::npos ||
                       beginning.find("# Using devices") != std::string_view::npos;
  if (is_test && line.starts_with('#')) {
    return {FileKind::kNcclTests, "measurements of nccl-tests"};
  }
  if (line.starts_with("name,forward_ms") || line.starts_with("name, forward_ms")) {
    return {FileKind::kForeign, "a table of times, which goes beside a graph: name it with --profile"};
  }
  if (line.starts_with("#!") || line.starts_with("import ") || line.starts_with("from ")) {
    return {FileKind::kForeign, "a program"};
  }
  if (line.starts_with("digraph ") || line.starts_with("strict digraph ")) {
    return {FileKind::kForeign, "a picture of Graphviz, which holds no costs"};
  }
  return {};
}

bool HasAny(const JsonOutline& outline, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return outline.Has(key); });
}

bool HasAll(const JsonOutline& outline, std::initializer_list<std::string_view> keys) {
  return std::all_of(keys.begin(), keys.end(), [&](std::string_view key) { return outline.Has(key); });
}

// "a graph can be: JSON and text proto of graph.proto, ...".
std::string FormatsText(std::string_view wanted) {
  std::string_view formats =
      "what `planwright plan --output=json` prints, text proto of plan.proto, splits of device-placement, "
      "and what Megatron-LM, torchtitan, vLLM, PipeDream and Piper run";
  if (wanted == "graph") {
    formats =
        "JSON and text proto of graph.proto, device-placement, PipeDream, Piper, ONNX, torch.export and the "
        "config.json of "
        "transformers";
  } else if (wanted == "cluster") {
    formats =
        "JSON and text proto of cluster.proto, cluster YAML, nvidia-smi topo -m, XML of NCCL and hwloc, nodes of "
        "Kubernetes, topologies of Slurm and topograph, measurements of nccl-tests";
  }
  return absl::StrCat("a ", std::string(wanted), " can be: ", std::string(formats));
}

}  // namespace

RecognisedFile RecogniseFile(std::string_view text) {
  if (IsExportedProgram(text)) return {FileKind::kExportedProgram, "a model of torch.export"};
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.bytes)) return {FileKind::kForeign, magic.description};
  }
  if (IsSafetensors(text)) return {FileKind::kForeign, "a safetensors file, which holds weights"};
  if (IsOnnx(text)) return {FileKind::kOnnxModel, "an ONNX model"};
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  // Several lists may follow each other, which no parser of JSON takes.
  const bool is_kubernetes = text.substr(begin, kBeginning).find("\"apiVersion\"") != std::string_view::npos;
  if (text[begin] == '{' && is_kubernetes) return {FileKind::kKubernetesNodes, "objects of Kubernetes"};
  if (text[begin] == '{') return {};
  if (text[begin] == '<') return XmlKind(text.substr(begin, kBeginning));
  return TextKind(text);
}

RecognisedFile RecogniseJson(const JsonOutline& outline) {
  if (HasAny(outline, {"mbsInBatch", "maxMemoryPerDevice"})) return {FileKind::kPiperGraph, "a graph of Piper"};
  if (HasAny(outline, {"model_type", "architectures"}) && !outline.Has("operators")) {
    return {FileKind::kModelConfig, "the configuration of a model of Hugging Face"};
  }
  if (outline.Has("apiVersion")) return {FileKind::kKubernetesNodes, "objects of Kubernetes"};
  if (outline.Has("instances")) return {FileKind::kTopographJson, "a topology of topograph"};
  if (outline.Has("traceEvents"))
    return {FileKind::kForeign, "a trace of a profiler, which goes beside a graph: name it with --profile"};
  if (HasAll(outline, {"train_batch_size"}) || outline.Has("zero_optimization")) {
    return {FileKind::kForeign, "a configuration of DeepSpeed, which holds no model"};
  }
  if (outline.Has("weight_map"))
    return {FileKind::kForeign, "an index of weights; the model's shape is in its config.json"};
  if (HasAll(outline, {"directed", "nodes"}) || outline.Has("links")) {
    return {FileKind::kForeign, "a graph of networkx, which holds no costs"};
  }
  return {};
}

std::string ForeignFileError(std::string_view source, std::string_view description, std::string_view wanted) {
  return absl::StrCat(std::string(source), ": seems to be ", std::string(description), "; ", FormatsText(wanted));
}

std::string UnknownFileError(std::string_view source, std::string_view wanted) {
  return absl::StrCat(std::string(source), ": is neither JSON nor text proto; ", FormatsText(wanted));
}

}  // namespace planwright::client
