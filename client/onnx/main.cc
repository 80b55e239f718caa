// planwright-onnx [--dim=NAME=N]... (see --help): reads a model on standard input, writes what it says on standard
// output: a line of JSON with the warnings, then a serialized planwright.v1.Graph. Exit code 2: standard error says
// what is wrong.
#include <onnx/onnx_pb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "client/onnx/onnx_graph.h"

namespace planwright::onnx_reader {
namespace {

constexpr rlim_t kMebibyte = rlim_t{1} << 20;
// Beside four times the model: the libraries themselves.
constexpr rlim_t kLeastMemory = 1024 * kMebibyte;
constexpr rlim_t kMaxCpuSeconds = 120;

// Sanitizers reserve terabytes of addresses, and more of them while the program runs.
#ifdef PLANWRIGHT_SANITIZED
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

constexpr std::string_view kHelp =
    "usage: planwright-onnx [--dim=NAME=N]... < MODEL\n\n"
    "Reads an ONNX model on standard input and writes what planwright makes of it on standard output: a line of JSON\n"
    "with the warnings, then a serialized planwright.v1.Graph. planwright starts it by itself where --graph names such "
    "a\n"
    "model, since the library that reads models may crash on hostile ones.\n\n"
    "Options:\n"
    "  --dim=NAME=N    what a symbol in the shapes of the model stands for, such as batch=8; may be repeated\n"
    "  --help          this text\n\n"
    "It takes 1 GiB and four times the model of memory and two minutes of processor time at most. Exit code 2: the\n"
    "model was refused, and standard error says why.\n";

int Refuse(std::string_view reason) {
  std::cerr << reason << "\n";
  return 2;
}

void Limit(int resource, rlim_t most) {
  const rlimit limit = {most, most};
  setrlimit(resource, &limit);
}

// "batch=8".
bool ReadDimension(std::string_view text, std::map<std::string, int64_t>& dimensions) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view digits = text.substr(equals + 1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  dimensions[std::string(text.substr(0, equals))] = number;
  return error == std::errc() && end == digits.data() + digits.size() && number > 0;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--help"}) {
    std::cout << kHelp;
    return 0;
  }
  std::map<std::string, int64_t> dimensions;
  for (const std::string& argument : arguments) {
    constexpr std::string_view kFlag = "--dim=";
    if (!argument.starts_with(kFlag) || !ReadDimension(std::string_view(argument).substr(kFlag.size()), dimensions)) {
      return Refuse("usage: planwright-onnx [--dim=NAME=N]... < model.onnx");
    }
  }
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_CPU, kMaxCpuSeconds);
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (kLimitsMemory) Limit(RLIMIT_AS, kLeastMemory + 4 * static_cast<rlim_t>(text.size()));
  onnx::ModelProto model;
  if (!model.ParseFromString(text)) return Refuse("is no ONNX model, or is cut off");
  text.clear();
  std::vector<std::string> warnings;
  const auto graph = GraphOfModel(model, dimensions, warnings);
  if (!graph.ok()) return Refuse({graph.status().message().data(), graph.status().message().size()});
  std::cout << nlohmann::json(warnings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return graph->SerializeToOstream(&std::cout) && std::cout.flush() ? 0 : Refuse("a name is not valid UTF-8");
}

}  // namespace
}  // namespace planwright::onnx_reader

int main(int argc, char** argv) {
  try {
    return planwright::onnx_reader::Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "needs more than is allowed: " << error.what() << "\n";
    return 2;
  }
}
