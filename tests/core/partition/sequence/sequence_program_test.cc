#include "core/partition/sequence/sequence_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/core/partition/sequence/chain_case.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

UnitOrder SingleOperators(const OperatorGraph& graph) {
  UnitOrder units;
  for (std::size_t op = 0; op < graph.operators.size(); ++op) units.push_back({OperatorId(op)});
  return units;
}

// The best of all ways to cut the order and to leave out devices of the sequence.
class ProgramOracle {
 public:
  ProgramOracle(const SequenceCase& given, std::size_t replicas) : given_(given), replicas_(replicas) {
    Extend({}, 0, 0);
  }

  std::optional<Picoseconds> best() const { return best_; }

 private:
  void Extend(const Placement& begun, std::size_t unit, std::size_t device) {
    const std::size_t units = given_.instance.graph.operators.size();
    if (unit == units) {
      if (!given_.IsFeasible(begun)) return;
      const Picoseconds cost = given_.Cost(begun);
      best_ = std::min(cost, best_.value_or(cost));
      return;
    }
    for (std::size_t first = device; first + replicas_ <= given_.instance.cluster.devices.size(); ++first) {
      Placement next = begun;
      next.stages.emplace_back();
      for (std::size_t copy = 0; copy < replicas_; ++copy) next.stages.back().devices.emplace_back(first + copy);
      for (std::size_t end = unit; end < units; ++end) {
        next.stages.back().operators.emplace_back(end);
        Extend(next, end + 1, first + replicas_);
      }
    }
  }

  const SequenceCase& given_;
  const std::size_t replicas_;
  std::optional<Picoseconds> best_;
};

std::optional<Picoseconds> BestOfProgram(const SequenceCase& given, int32_t replicas) {
  const SearchRequest request = given.Request();
  const IntervalTable table(request, SingleOperators(given.instance.graph));
  const bool through_host = std::holds_alternative<HostStagedInterconnect>(given.instance.cluster.interconnect);
  const SequenceRule rule(given.problem, through_host, 0);
  DeviceSequence sequence;
  for (std::size_t i = 0; i < given.instance.cluster.devices.size(); ++i) sequence.emplace_back(i);
  const SequenceOutcome outcome =
      RunSequenceProgram(request, table, rule, sequence, AllowedBegins(request, table.units()),
                         {.replicas = {replicas}, .skips_any = true}, SolveLimits());
  EXPECT_FALSE(outcome.is_interrupted);
  std::optional<Picoseconds> best;
  for (const SequenceFinding& finding : outcome.found) {
    EXPECT_TRUE(given.IsFeasible(finding.placement));
    const Picoseconds cost = given.Cost(finding.placement);
    best = std::min(cost, best.value_or(cost));
  }
  return best;
}

// But for the rounding of each transfer and of shares of a step.
void ExpectEqualButForRounding(std::optional<Picoseconds> found, std::optional<Picoseconds> best) {
  ASSERT_EQ(found.has_value(), best.has_value());
  if (best.has_value()) {
    EXPECT_LE(std::abs((*found - *best).count()), 5);
  }
}

TEST(SequenceProgramTest, FindsTheBestPipelineOfAChainAlongASequence) {
  int found = 0;
  int cut = 0;
  for (uint64_t seed = 0; seed < NumCases(150); ++seed) {
    SCOPED_TRACE(seed);
    const SequenceCase given(RandomChain(seed, 6, 4));
    const std::optional<Picoseconds> best = ProgramOracle(given, 1).best();
    ExpectEqualButForRounding(BestOfProgram(given, 1), best);
    ++(best.has_value() ? found : cut);
    if (HasFailure()) return;
  }
  EXPECT_GT(found, 60);
  EXPECT_GT(cut, 5);
}

TEST(SequenceProgramTest, FindsTheBestPipelineOfTeamsAlongASequence) {
  int found = 0;
  for (uint64_t seed = 0; seed < NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    Instance instance = RandomChain(seed, 5, 6);
    instance.problem.replication = Replication::kUniform;
    instance.problem.num_stages.reset();
    // One maximum only.
    instance.problem.allreduce.amortize_over_micro_batches = !instance.problem.micro_batches.has_value();
    if (instance.problem.micro_batches.has_value()) {
      for (Operator& op : instance.graph.operators) op.parameter_bytes = 0;
    }
    const SequenceCase given(std::move(instance));
    const std::optional<Picoseconds> best = ProgramOracle(given, 2).best();
    const std::optional<Picoseconds> of_program = BestOfProgram(given, 2);
    if (given.costs.network().num_link_classes() == 1) {
      ExpectEqualButForRounding(of_program, best);
    } else {
      // The slowest link stands for all of a team.
      EXPECT_GE(of_program.value_or(Picoseconds::max()), best.value_or(Picoseconds(0)));
    }
    found += best.has_value() ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(found, 40);
}

// The last stage keeps what one micro-batch stores, the first one that of two.
TEST(SequenceProgramTest, CountsMemoryByThePlaceOfAStage) {
  Instance instance;
  for (int i = 0; i < 4; ++i) {
    Operator& op = instance.graph.operators.emplace_back(MeasuredOperator("l" + std::to_string(i), 1, 2));
    op.activation_bytes = 10;
    if (i > 0)
      instance.graph.tensors.push_back(SizedTensor("t" + std::to_string(i), i - 1, {static_cast<std::size_t>(i)}, 0));
  }
  instance.cluster = SmallCluster(2, 0, UniformInterconnect{1e9, Picoseconds(0)});
  instance.cluster.device_classes[0].memory_bytes = 30;
  instance.problem.schedule = ScheduleKind::kOneFOneB;
  instance.problem.micro_batches = 8;
  const SequenceCase given(std::move(instance));
  const std::optional<Picoseconds> best = BestOfProgram(given, 1);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best, ProgramOracle(given, 1).best());
}

// Twelve operators on devices whose memory does not count.
SequenceCase ChainWithoutLimits() {
  Instance instance = RandomChain(3, 12, 6);
  instance.cluster.device_classes[0].memory_bytes.reset();
  instance.problem = {};
  return SequenceCase(std::move(instance));
}

TEST(SequenceProgramTest, StopsAtItsLimitOfWork) {
  const SequenceCase given = ChainWithoutLimits();
  const SearchRequest request = given.Request();
  const IntervalTable table(request, SingleOperators(given.instance.graph));
  const SequenceRule rule(given.problem, false, 0);
  SolveLimits limits;
  limits.work = 20;
  const SequenceOutcome outcome = RunSequenceProgram(request, table, rule, {DeviceId(0), DeviceId(1)}, {}, {}, limits);
  EXPECT_LE(outcome.work, 20);
  EXPECT_TRUE(outcome.is_interrupted);
}

TEST(SequenceProgramTest, StopsWherePairsTakeMoreThanTheMemory) {
  const SequenceCase given = ChainWithoutLimits();
  const SearchRequest request = given.Request();
  const IntervalTable table(request, SingleOperators(given.instance.graph));
  const SequenceRule rule(given.problem, false, 0);
  const auto run = [&](int64_t memory_bytes) {
    SolveLimits limits;
    limits.memory_bytes = memory_bytes;
    return RunSequenceProgram(request, table, rule, {DeviceId(0), DeviceId(1)}, {}, {}, limits);
  };
  // One gap between two devices before each of 12 units and behind them.
  const auto states = static_cast<int64_t>(13 * sizeof(int32_t));
  const SequenceOutcome none = run(states - 1);
  const SequenceOutcome few = run(states + 1);
  const SequenceOutcome all = run(1 << 20);
  EXPECT_TRUE(none.is_interrupted);
  EXPECT_TRUE(few.is_interrupted);
  EXPECT_FALSE(all.is_interrupted);
  EXPECT_LT(none.work, few.work);
  EXPECT_LT(few.work, all.work);
}

}  // namespace
}  // namespace planwright
