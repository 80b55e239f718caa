// Measured times that go beside a graph: a table of three columns, the first line of which names them.
//
//   name,forward_ms,backward_ms
//   layer.0/attention,1.25,2.5
//
// Separated by commas; names that hold some stand in double quotes, in which "" is one. Lines that are empty or begin
// with '#' are skipped. The other columns may be called forward_us and so on: ns, us, ms, s.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PROFILE_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PROFILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::client {

struct ProfileRow {
  std::string name;
  double forward_ms = 0;
  double backward_ms = 0;
};

// The rows of a table. Errors: INVALID_ARGUMENT with every violation and its line.
absl::StatusOr<std::vector<ProfileRow>> ReadProfile(std::string_view text, std::string_view source);

// How rows and operators met.
struct ProfileMatch {
  // Operators that got times.
  int64_t matched = 0;
  // Rows that name nothing in the graph.
  int64_t unmatched = 0;
  // Rows that several operators could be.
  int64_t ambiguous = 0;
  // Operators without times from anywhere, FORWARD ones that are no inputs.
  int64_t without_times = 0;
  // The name in the first row that names nothing.
  std::string first_unmatched;
};

// Gives operators the times of the rows that name them, as those of kUnnamedClass (class_times.h), in place of all that
// they had. A row names the operator of its name, else the only one whose name ends with it after a '/' or '.'. Of
// several rows for one operator the first counts, and the others are ambiguous. A graph with BACKWARD operators gets
// backward times there.
ProfileMatch ApplyProfile(const std::vector<ProfileRow>& rows, v1::Graph& graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_PROFILE_H_
