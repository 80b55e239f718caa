#include "core/joint/calibration/efficiency_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/known.h"
#include "core/joint/cost/training_efficiency.h"

namespace planwright {
namespace {

// Errors beyond this count as their size, not its square.
constexpr double kHuberWidth = 0.1;
constexpr double kWeightOfOthers = 0.25;
// Weights in the loss: of the square of a source's logarithmic factor, of the square of a parameter's way in shares of
// its range, and of errors within a series.
constexpr double kFactorWeight = 0.3;
constexpr double kParameterWeight = 0.05;
constexpr double kSeriesWeight = 0.5;
constexpr double kFirstStep = 0.16;
constexpr double kLastStep = 0.004;

// A parameter's range, on a logarithmic or on a linear scale.
struct Parameter {
  double low;
  double high;
  bool is_linear;
};

// In the order of Values.
constexpr auto kParameters = std::to_array<Parameter>({
    {0.3, 0.9, false},   // products
    {10, 1'000, false},  // half_extent
    {0.1, 0.8, false},   // attention
    {1, 2, false},       // eight_bit_gain
    {0.3, 0.95, false},  // memory
    {0.2, 1, false},     // network
    {0, 0.95, true},     // hidden_in_layers
    {0, 0.95, true},     // hidden_among_data
    {0, 0.95, true},     // hidden_at_step_end
    {0.5, 20, false},    // launch, microseconds
});
using Point = std::array<double, kParameters.size()>;

constexpr double kPicosecondsPerMicrosecond = 1e6;

Point Values(const TrainingEfficiency& efficiency) {
  return {efficiency.products,
          efficiency.half_extent,
          efficiency.attention,
          efficiency.eight_bit_gain,
          efficiency.memory,
          efficiency.network,
          efficiency.hidden_in_layers,
          efficiency.hidden_among_data,
          efficiency.hidden_at_step_end,
          static_cast<double>(efficiency.launch.count()) / kPicosecondsPerMicrosecond};
}

TrainingEfficiency EfficiencyOf(const Point& values) {
  return {.products = values[0],
          .half_extent = values[1],
          .attention = values[2],
          .eight_bit_gain = values[3],
          .memory = values[4],
          .network = values[5],
          .hidden_in_layers = values[6],
          .hidden_among_data = values[7],
          .hidden_at_step_end = values[8],
          .launch = Picoseconds(std::llround(values[9] * kPicosecondsPerMicrosecond))};
}

// Share of the way through a parameter's range.
double ToShare(const Parameter& parameter, double value) {
  const double inside = std::clamp(value, parameter.low, parameter.high);
  if (parameter.is_linear) return (inside - parameter.low) / (parameter.high - parameter.low);
  return std::log(inside / parameter.low) / std::log(parameter.high / parameter.low);
}

double FromShare(const Parameter& parameter, double share) {
  if (parameter.is_linear) return parameter.low + share * (parameter.high - parameter.low);
  return parameter.low * std::pow(parameter.high / parameter.low, share);
}

double Huber(double error) {
  const double size = std::abs(error);
  return size <= kHuberWidth ? size * size : kHuberWidth * (2 * size - kHuberWidth);
}

// A run of the fit, and the logarithm of predicted over measured time.
struct Sample {
  const TrainingRun* run = nullptr;
  RunSetting setting;
  // As measured.
  double step_seconds = 0;
  double weight = 1;
  double error = 0;
};

struct Mean {
  double sum = 0;
  double weight = 0;

  double Value(double shrinkage) const { return sum / (weight + shrinkage); }
};

class Fitter {
 public:
  Fitter(const std::vector<TrainingRun>& runs, const EfficiencyFit& start) : start_(start.classes) {
    for (const auto& [family, efficiency] : start.classes) begin_[family] = SharesOf(efficiency);
    now_ = begin_;
    for (const TrainingRun& run : runs) AddSample(run, start.classes.at(run.family));
  }

  std::map<std::string, double> Slowness() {
    for (const auto& [family, shares] : now_) Predict(family);
    return Result().slowness;
  }

  EfficiencyFit Fit() {
    for (const auto& [family, shares] : now_) Predict(family);
    std::vector<std::string> rich;
    std::vector<std::string> poor;
    for (const auto& [family, shares] : now_) (CountOf(family) < kLeastRuns ? poor : rich).push_back(family);
    Search(rich, kParameters.size());
    Search(poor, 1);
    return Result();
  }

 private:
  static Point SharesOf(const TrainingEfficiency& efficiency) {
    Point shares = Values(efficiency);
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = ToShare(kParameters[i], shares[i]);
    return shares;
  }

  // A number that the search has not moved stays as it was, also outside its range.
  TrainingEfficiency Now(const std::string& family) const {
    const Point& shares = now_.at(family);
    Point values = Values(start_.at(family));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (shares[i] != begin_.at(family)[i]) values[i] = FromShare(kParameters[i], shares[i]);
    }
    return EfficiencyOf(values);
  }

  void AddSample(const TrainingRun& run, const TrainingEfficiency& efficiency) {
    if (!run.step_seconds.has_value()) return;
    const RunSetting setting = AssumedSetting(run, efficiency);
    if (!PredictRun(run, efficiency, setting).has_value()) return;
    const double weight = (run.is_core ? 1 : kWeightOfOthers) * (run.micro_batch.has_value() ? 1 : kWeightOfOthers);
    samples_[run.family].push_back(
        {.run = &run, .setting = setting, .step_seconds = *run.step_seconds, .weight = weight});
  }

  void Predict(const std::string& family) {
    const TrainingEfficiency efficiency = Now(family);
    for (Sample& sample : samples_[family]) {
      const RunPrediction prediction = Known(PredictRun(*sample.run, efficiency, sample.setting));
      sample.error = std::log(prediction.step_seconds / sample.step_seconds);
    }
  }

  std::map<std::string, Mean> Means(const std::string TrainingRun::*key) const {
    std::map<std::string, Mean> means;
    for (const auto& [family, samples] : samples_) {
      for (const Sample& sample : samples) {
        Mean& mean = means[sample.run->*key];
        mean.sum += sample.weight * sample.error;
        mean.weight += sample.weight;
      }
    }
    return means;
  }

  // Logarithm of how much faster than measured the runs of each source are predicted. A single source has none: the
  // classes take it up, as they are what a plan is made with.
  std::map<std::string, double> Factors() const {
    const auto means = Means(&TrainingRun::source);
    std::map<std::string, double> factors;
    for (const auto& [source, mean] : means) factors[source] = means.size() == 1 ? 0 : mean.Value(kFactorWeight);
    return factors;
  }

  double Loss() const {
    const auto factors = Factors();
    const auto series = Means(&TrainingRun::series);
    double loss = 0;
    for (const auto& [source, factor] : factors) loss += kFactorWeight * factor * factor;
    for (const auto& [family, samples] : samples_) {
      for (const Sample& sample : samples) {
        const double error = sample.error - factors.at(sample.run->source);
        const double within = sample.error - series.at(sample.run->series).Value(0);
        loss += sample.weight * (Huber(error) + kSeriesWeight * Huber(within));
      }
    }
    for (const auto& [family, shares] : now_) {
      for (std::size_t i = 0; i < shares.size(); ++i) {
        loss += kParameterWeight * std::pow(shares[i] - begin_.at(family)[i], 2);
      }
    }
    return loss;
  }

  int CountOf(const std::string& family) const {
    const auto found = samples_.find(family);
    return found == samples_.end() ? 0 : static_cast<int>(found->second.size());
  }

  // Improves the first `count` parameters of each family until steps as small as kLastStep help no more.
  void Search(const std::vector<std::string>& families, std::size_t count) {
    double least = Loss();
    for (double step = kFirstStep; step >= kLastStep;) {
      const double before = least;
      for (const std::string& family : families) least = Improve(family, count, step, least);
      if (!(least < before - 1e-4 * before)) step /= 2;
    }
  }

  double Improve(const std::string& family, std::size_t count, double step, double least) {
    Point& shares = now_.at(family);
    for (std::size_t i = 0; i < count; ++i) {
      for (const double way : {step, -step}) {
        const double old = shares[i];
        shares[i] = std::clamp(old + way, 0.0, 1.0);
        Predict(family);
        const double loss = Loss();
        if (loss < least) {
          least = loss;
          break;
        }
        shares[i] = old;
      }
      Predict(family);
    }
    return least;
  }

  EfficiencyFit Result() const {
    EfficiencyFit fit;
    for (const auto& [family, shares] : now_) fit.classes[family] = Now(family);
    for (const auto& [source, factor] : Factors()) fit.slowness[source] = std::exp(-factor);
    return fit;
  }

  std::map<std::string, std::vector<Sample>> samples_;
  std::map<std::string, TrainingEfficiency> start_;
  std::map<std::string, Point> begin_;
  std::map<std::string, Point> now_;
};

}  // namespace

double EfficiencyFit::SlownessOf(const std::string& source) const {
  const auto found = slowness.find(source);
  return found == slowness.end() ? 1 : found->second;
}

EfficiencyFit EfficiencyInForce(const std::vector<TrainingRun>& runs) {
  EfficiencyFit fit;
  for (const TrainingRun& run : runs) fit.classes.emplace(run.family, TrainingEfficiencyOf(run.device));
  return fit;
}

EfficiencyFit DefaultEfficiency(const std::vector<TrainingRun>& runs) {
  EfficiencyFit fit;
  for (const TrainingRun& run : runs) fit.classes.emplace(run.family, TrainingEfficiency{});
  return fit;
}

EfficiencyFit FitEfficiency(const std::vector<TrainingRun>& runs, const EfficiencyFit& start) {
  return Fitter(runs, start).Fit();
}

std::map<std::string, double> SlownessOfSources(const std::vector<TrainingRun>& runs, const EfficiencyFit& fit) {
  return Fitter(runs, fit).Slowness();
}

}  // namespace planwright
