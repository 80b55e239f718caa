// What a plan is called by what was asked for.
#ifndef PLANWRIGHT_SERVER_CODEC_PLAN_KEY_H_
#define PLANWRIGHT_SERVER_CODEC_PLAN_KEY_H_

#include <string>
#include <string_view>

#include "core/model/problem.h"
#include "planwright/v1/problem.pb.h"

namespace planwright::server {

// What decides which plan is found, apart from how much is spent on finding it.
struct PlanSubject {
  // GraphDigest and ClusterDigest.
  std::string_view graph_digest;
  std::string_view cluster_digest;
  // Every default resolved (ResolveProblem), in its wire form, which names operators and devices.
  const v1::PlanningProblem& problem;
  const SolverOptions& options;
  // Changes whenever the same request may give another plan.
  std::string_view program_version;
};

// 64 hexadecimal digits: SHA-256 over a canonical encoding (canonical_hash.h), the same for every order of lists whose
// order means nothing. Of the options, those count that decide what is searched for or how. How hard a search tries
// (work, time, gap) changes the answer too, but does not count: whether a plan is good enough is judged when it is
// found (Satisfies, plan_reuse.h).
std::string PlanKey(const PlanSubject& subject);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_PLAN_KEY_H_
