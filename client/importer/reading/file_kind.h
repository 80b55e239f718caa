// Which kind of file a text is, seen from its content: those that importers read and those that people give by mistake.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_READING_FILE_KIND_H_
#define PLANWRIGHT_CLIENT_IMPORTER_READING_FILE_KIND_H_

#include <string>
#include <string_view>

#include "client/importer/reading/json_text.h"

namespace planwright::client {

enum class FileKind {
  // Perhaps one of our own forms, which name themselves.
  kUnknown,
  // Graphs.
  kPipeDreamGraph,
  kPiperGraph,
  kModelConfig,
  kOnnxModel,
  kExportedProgram,
  // Clusters.
  kNvidiaTopology,
  kNcclXml,
  kHwlocXml,
  kKubernetesNodes,
  kSlurmTopology,
  kSlurmTopologyYaml,
  kTopographJson,
  kNcclTests,
  // What nothing here reads as graph, cluster or plan.
  kForeign,
};

struct RecognisedFile {
  FileKind kind = FileKind::kUnknown;
  // "a PipeDream profile"; empty: unknown.
  std::string_view description;
};

// Recognises text that is no JSON by its beginning. Never fails: what is damaged is of the kind that it begins as.
RecognisedFile RecogniseFile(std::string_view text);

// Recognises JSON by the names of its first level.
RecognisedFile RecogniseJson(const JsonOutline& outline);

// "graph.bin: seems to be a safetensors file, which is no graph; --graph reads ...". `wanted` is "graph", "cluster" or
// "plan".
std::string ForeignFileError(std::string_view source, std::string_view description, std::string_view wanted);

// Such an error for a file of no known kind.
std::string UnknownFileError(std::string_view source, std::string_view wanted);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_READING_FILE_KIND_H_
