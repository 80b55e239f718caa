#include "client/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kGibibyte = int64_t{1} << 30;

// A chain of `layers` layers of two operators, cut into `stages` equal stages on devices of their own, two to a host.
class PageTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPages()) GTEST_SKIP() << "this build had no npm, so it makes no pages";
  }

  void Make(int layers, int stages) {
    for (int layer = 0; layer < layers; ++layer) {
      for (const char* part : {"attention", "mlp"}) AddOperator(absl::StrCat("layer.", layer, "/", part), layer);
    }
    auto& device_class = *cluster_.add_device_classes();
    device_class.set_name("a100");
    for (int stage = 0; stage < stages; ++stage) AddStage(stage, layers / stages);
    plan_.set_objective_ms(10);
    plan_.set_lower_bound_ms(10);
    plan_.mutable_provenance()->set_algorithm("ideal_dp");
    auto& memory = *plan_.mutable_problem()->mutable_memory_model();
    memory.set_kind(v1::MemoryModel::KIND_COMPONENTS);
    memory.set_weight_versions(1);
    memory.set_gradient_copies(1);
    memory.set_optimizer_bytes_per_parameter_byte(6);
    plan_.mutable_problem()->set_workload(v1::WORKLOAD_TRAINING);
  }

  void AddOperator(const std::string& name, int layer) {
    if (!graph_.operators().empty()) {
      v1::Tensor& tensor = *graph_.add_tensors();
      tensor.set_name("to " + name);
      tensor.set_producer(graph_.operators().rbegin()->name());
      tensor.add_consumers(name);
      tensor.set_size_bytes(1 << 20);
    }
    v1::Operator& op = *graph_.add_operators();
    op.set_name(name);
    op.set_layer(absl::StrCat("layer.", layer));
    op.set_parameter_bytes(kGibibyte / 8);
    op.set_activation_bytes(kGibibyte / 4);
  }

  void AddStage(int index, int layers) {
    v1::Stage& stage = *plan_.add_stages();
    stage.set_index(index);
    for (int i = index * layers * 2; i < (index + 1) * layers * 2; ++i) stage.add_operators(graph_.operators(i).name());
    stage.add_replicas()->set_device(absl::StrCat("gpu", index));
    stage.set_compute_ms(8);
    stage.set_communication_in_ms(2);
    stage.set_in_flight_micro_batches(2);
    v1::Device& device = *cluster_.add_devices();
    device.set_name(absl::StrCat("gpu", index));
    device.set_host(absl::StrCat("host", index / 2));
    device.set_device_class("a100");
    v1::DeviceUsage& usage = *plan_.add_devices();
    usage.set_device(device.name());
    usage.add_stages(index);
    usage.set_memory_bytes(40 * kGibibyte);
    usage.set_memory_limit_bytes(80 * kGibibyte);
  }

  std::string Page() const {
    const std::vector<PagePlan> plans = {{title_, plan_, graph_, cluster_, simulation_, "not simulated"}};
    return PageText(plans);
  }

  // What the page carries.
  static nlohmann::json DataOf(const std::string& page) {
    const std::string_view begin = "id=\"data\">";
    const std::size_t start = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(start, page.find("</script>", start) - start));
  }
  nlohmann::json View() const { return DataOf(Page())["views"][0]; }

  std::string title_ = "model on cluster";
  v1::Plan plan_;
  v1::Graph graph_;
  v1::Cluster cluster_;
  const Simulation* simulation_ = nullptr;
};

std::size_t CountOf(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(PageTest, ForbidsEverythingButItsOwnScriptAndStyle) {
  Make(4, 2);
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("default-src 'none'; img-src data:; script-src 'sha256-"));
  EXPECT_THAT(page, HasSubstr("; style-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
}

TEST_F(PageTest, IdleTimeIsThatOfAcceleratorsAndSlowCpusAreSaidFirst) {
  Make(4, 2);
  for (v1::DeviceUsage& usage : *plan_.mutable_devices()) usage.set_load_ms(5);
  plan_.mutable_estimate()->set_bubble_fraction(0.25);
  EXPECT_THAT(View()["overview"].dump(), HasSubstr("devices in use idle 25.0 % of the time"));
  auto& cpu_class = *cluster_.add_device_classes();
  cpu_class.set_name("xeon");
  cpu_class.set_kind(v1::DEVICE_KIND_CPU);
  cluster_.mutable_devices(1)->set_device_class("xeon");
  plan_.mutable_devices(0)->set_load_ms(4);
  plan_.add_warnings("something else");
  EXPECT_THAT(View()["overview"].dump(), HasSubstr("accelerators in use idle 60.0 % of the time"));
  EXPECT_THAT(View()["assumptions"][0], HasSubstr("the busiest device is a CPU, gpu1"));
}

TEST_F(PageTest, TasksThatAreNotThereAreCounted) {
  Make(4, 2);
  Simulation simulation;
  simulation.summary.add_resources()->set_name("gpu0");
  simulation.timeline.add_tasks()->set_operation("forward");
  const std::vector<PagePlan> plans = {{title_, plan_, graph_, cluster_, &simulation, "", 999}};
  const nlohmann::json timeline = DataOf(PageText(plans))["views"][0]["timeline"];
  EXPECT_THAT(timeline["notes"].dump(), HasSubstr("The first 1 of 1,000 tasks are shown."));
}

TEST_F(PageTest, ThePolicyCanBeAHeader) {
  Make(4, 2);
  EXPECT_THAT(Page(), HasSubstr("Content-Security-Policy\" content=\"" + PagePolicy() + "\""));
}

TEST_F(PageTest, NamesNeverBecomeMarkup) {
  Make(4, 2);
  const std::string hostile = "</script><script>alert(1)</script><!--<svg onload=alert(2)>&amp;\u2028";
  const std::size_t scripts = CountOf(Page(), "</script");
  graph_.mutable_operators(0)->set_name(hostile);
  graph_.mutable_tensors(0)->set_producer(hostile);
  plan_.mutable_stages(0)->set_operators(0, hostile);
  plan_.mutable_devices(0)->set_device(hostile);
  plan_.add_warnings(hostile);
  title_ = hostile;
  const std::string page = Page();
  EXPECT_EQ(CountOf(page, "</script"), scripts);
  EXPECT_THAT(page, Not(HasSubstr("<svg onload")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;"));
  EXPECT_EQ(DataOf(page)["title"], hostile);
  EXPECT_EQ(DataOf(page)["views"][0]["stage_details"][0]["layers"][0][1][0], hostile);
}

TEST_F(PageTest, BoxesOfLayersStandInTheirStageAndApart) {
  Make(24, 12);
  const nlohmann::json picture = View()["stage_picture"];
  const nlohmann::json& boxes = picture["boxes"];
  ASSERT_EQ(boxes.size(), 36U);
  const auto overlap = [&](const nlohmann::json& a, const nlohmann::json& b) {
    return a["x"].get<double>() < b["x"].get<double>() + b["width"].get<double>() &&
           b["x"].get<double>() < a["x"].get<double>() + a["width"].get<double>() &&
           a["y"].get<double>() < b["y"].get<double>() + b["height"].get<double>() &&
           b["y"].get<double>() < a["y"].get<double>() + a["height"].get<double>();
  };
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_LE(boxes[i]["x"].get<double>() + boxes[i]["width"].get<double>(), picture["width"].get<double>() + 0.1);
    EXPECT_LE(boxes[i]["y"].get<double>() + boxes[i]["height"].get<double>(), picture["height"].get<double>() + 0.1);
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_inside = boxes[j]["outline"].get<bool>() && boxes[i]["colour"] == boxes[j]["colour"];
      EXPECT_EQ(overlap(boxes[i], boxes[j]), is_inside) << boxes[i]["label"] << boxes[j]["label"];
    }
  }
  // A line between each two neighbours of the chain.
  EXPECT_EQ(picture["lines"].size(), 23U);
}

TEST_F(PageTest, TooManyLayersBecomeStages) {
  Make(240, 4);
  const nlohmann::json picture = View()["stage_picture"];
  EXPECT_EQ(picture["boxes"].size(), 4U);
  EXPECT_EQ(picture["notes"][0], "240 layers are too many to draw; they are listed below.");
}

TEST_F(PageTest, PartsOfMemoryAddUpToThePlan) {
  Make(4, 2);
  const nlohmann::json memory = View()["memory"];
  // Of 4 operators: 0.5 GiB of parameters, as much of gradients, 6 times that of the optimizer, 2 x 1 GiB of
  // activations; the plan says 40 GiB.
  const std::vector<std::pair<std::string, double>> parts = {
      {"parameters", 0.5}, {"gradients", 0.5}, {"optimizer", 3}, {"activations", 2}, {"buffers and workspace", 34}};
  ASSERT_EQ(memory["parts"].size(), parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(memory["parts"][i]["name"], parts[i].first);
    EXPECT_DOUBLE_EQ(memory["parts"][i]["values"][0].get<double>(), parts[i].second);
  }
  EXPECT_EQ(memory["limits"][0], 80);
}

TEST_F(PageTest, MemoryWithoutPartsIsOneBar) {
  Make(4, 2);
  plan_.mutable_problem()->mutable_memory_model()->set_kind(v1::MemoryModel::KIND_DECLARED);
  const nlohmann::json parts = View()["memory"]["parts"];
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0]["name"], "all together");
}

TEST_F(PageTest, OfManyTasksTheFirstAreShown) {
  Make(4, 2);
  Simulation simulation;
  simulation.summary.add_resources()->set_name("gpu0");
  simulation.summary.set_micro_batches(15000);
  for (int i = 0; i < 30000; ++i) {
    v1::SimulatedTask& task = *simulation.timeline.add_tasks();
    task.set_operation(i % 2 == 0 ? "forward" : "backward");
    task.set_start_ms(i);
    task.set_end_ms(i + 1);
  }
  simulation_ = &simulation;
  const nlohmann::json timeline = View()["timeline"];
  EXPECT_EQ(timeline["tasks"].size(), 20000U);
  EXPECT_EQ(timeline["end"], 20000);
  EXPECT_EQ(timeline["notes"][1], "The first 20,000 of 30,000 tasks are shown.");
}

TEST_F(PageTest, SaysWhyThereIsNoTimeline) {
  Make(4, 2);
  EXPECT_EQ(View()["timeline"]["notes"][0], "not simulated");
}

TEST_F(PageTest, TwoPlansStandBesideEachOther) {
  Make(4, 2);
  v1::Plan slower = plan_;
  slower.set_objective_ms(12);
  const std::vector<PagePlan> plans = {{"a", plan_, graph_, cluster_, nullptr, ""},
                                       {"b", slower, graph_, cluster_, nullptr, ""}};
  const nlohmann::json data = DataOf(PageText(plans));
  EXPECT_EQ(data["views"].size(), 2U);
  EXPECT_EQ(data["comparison"]["rows"][0],
            nlohmann::json({"time of a micro-batch", "10.000 ms", "12.000 ms", "+20.0 %"}));
}

TEST_F(PageTest, NamesThatTheGraphDoesNotHaveAreShown) {
  Make(4, 2);
  plan_.mutable_stages(0)->set_operators(1, "unknown");
  plan_.mutable_stages(1)->mutable_replicas(0)->set_device("elsewhere");
  const nlohmann::json view = View();
  EXPECT_EQ(view["stage_details"][0]["layers"][1][0], "unknown");
  EXPECT_EQ(view["stages"]["rows"][1][1], "elsewhere");
}

}  // namespace
}  // namespace planwright::client
