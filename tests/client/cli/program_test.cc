#include "client/cli/program.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/library/error_details.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/support/unwrapped.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Answers as the test says and remembers what it was asked.
struct FakeService {
  ServerConnection connection;
  std::function<absl::StatusOr<v1::CreatePlanResponse>()> plan = [] {
    v1::CreatePlanResponse response;
    response.mutable_plan()->set_objective_ms(12.5);
    return response;
  };
  std::function<absl::StatusOr<v1::EvaluatePlanResponse>()> evaluation = [] { return v1::EvaluatePlanResponse(); };
  std::function<absl::StatusOr<v1::GetServerInfoResponse>()> info = [] { return v1::GetServerInfoResponse(); };
  std::function<absl::StatusOr<v1::GetGraphResponse>()> graph = [] { return v1::GetGraphResponse(); };
  std::function<absl::StatusOr<v1::GetClusterResponse>()> cluster = [] { return v1::GetClusterResponse(); };
  std::string server = "never connected";
  v1::CreatePlanRequest plan_request;
  v1::EvaluatePlanRequest evaluate_request;
  CallOptions call;
};

class FakeClient final : public PlanningClient {
 public:
  explicit FakeClient(FakeService& service) : service_(service) {}

  absl::StatusOr<v1::CreatePlanResponse> CreatePlan(const v1::CreatePlanRequest& request,
                                                    const CallOptions& options) override {
    service_.plan_request = request;
    service_.call = options;
    return service_.plan();
  }
  absl::StatusOr<v1::BatchCreatePlansResponse> BatchCreatePlans(const v1::BatchCreatePlansRequest&,
                                                                const CallOptions&) override {
    return absl::UnimplementedError("the program does not send batches");
  }
  absl::StatusOr<v1::EvaluatePlanResponse> EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                                        const CallOptions& options) override {
    service_.evaluate_request = request;
    service_.call = options;
    return service_.evaluation();
  }
  absl::Status SimulatePlan(const v1::SimulatePlanRequest& /*request*/, const CallOptions& /*options*/,
                            const SimulationListener& /*listener*/) override {
    return absl::UnimplementedError("not faked");
  }
  absl::StatusOr<v1::GetGraphResponse> GetGraph(const v1::GetGraphRequest&, const CallOptions&) override {
    return service_.graph();
  }
  absl::StatusOr<v1::GetClusterResponse> GetCluster(const v1::GetClusterRequest&, const CallOptions&) override {
    return service_.cluster();
  }
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const v1::GetServerInfoRequest&,
                                                          const CallOptions& options) override {
    service_.call = options;
    return service_.info();
  }
  absl::StatusOr<std::string> WriteProgram(const v1::CreatePlanRequest& request, ProgramFormat format,
                                           ProgramForm form) override {
    service_.plan_request = request;
    return absl::StrCat(form == ProgramForm::kPrinted ? "printed, " : "", "as ",
                        format == ProgramFormat::kMps ? "MPS" : "LP");
  }

 private:
  FakeService& service_;
};

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    environment_.connect = [this](const ServerConnection& connection) {
      service_.server = connection.address;
      service_.connection = connection;
      return std::make_unique<FakeClient>(service_);
    };
    environment_.interrupt = stop_.get_token();
  }

  ExitCode Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    return RunProgram(arguments, environment_);
  }
  // With a graph and a cluster that need no file.
  ExitCode Plan(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"plan", "--graph=zoo:g", "--cluster=zoo:c"});
    return Run(flags);
  }
  ExitCode PlanFailsWith(const absl::Status& status) {
    service_.plan = [status] { return status; };
    return Plan({});
  }

  FakeService service_;
  std::stop_source stop_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  Environment environment_{.in = in_,
                           .out = out_,
                           .err = err_,
                           .err_is_terminal = false,
                           .default_connection = {},
                           .interrupt = {},
                           .connect = {}};
};

template <typename Detail>
absl::Status WithDetail(const absl::Status& status, const Detail& detail) {
  google::rpc::Status wire;
  wire.add_details()->PackFrom(detail);
  return WithErrorDetails(status, wire.SerializeAsString());
}

TEST_F(ProgramTest, SaysHowAServerIsReachedAndWhoAsks) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/bad.pem") << "authorities\n";
  std::ofstream(folder + "/token") << "from-a-file\n";
  std::ofstream(folder + "/empty") << "\n";
  std::ofstream(folder + "/bytes") << "\xc3\xa9 secret\n";
  environment_.default_connection.token = "from-the-environment";
  EXPECT_EQ(Plan({"--server=h:1"}), ExitCode::kOk);
  EXPECT_FALSE(service_.connection.use_tls);
  EXPECT_EQ(service_.connection.token, "from-the-environment");
  EXPECT_EQ(Plan({"--server=h:1", "--tls", "--token_file=" + folder + "/token"}), ExitCode::kOk);
  EXPECT_TRUE(service_.connection.use_tls);
  EXPECT_EQ(service_.connection.token, "from-a-file");
  EXPECT_EQ(Plan({"--server=h:1", "--token_file=" + folder + "/empty"}), ExitCode::kUsage);
  EXPECT_EQ(Plan({"--server=h:1", "--token_file=" + folder + "/bytes"}), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), StartsWith("error: --token_file: must be printable ASCII\n"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("cret")));
  EXPECT_EQ(Plan({"--server=h:1", "--tls_cert_file=" + folder + "/none"}), ExitCode::kUsage);
  EXPECT_EQ(Plan({"--server=h:1", "--tls_ca_file=" + folder + "/bad.pem"}), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), StartsWith("error: --tls_ca_file: must hold certificates in PEM form\n"));
  EXPECT_EQ(Plan({"--server=h:1", "--tls_cert_file=" + folder + "/bad.pem"}), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), StartsWith("error: --tls_cert_file: needs --tls_key_file too\n"));
}

TEST_F(ProgramTest, PlansInProcessUnlessAServerIsNamed) {
  EXPECT_EQ(Plan({}), ExitCode::kOk);
  EXPECT_EQ(service_.server, "");
  EXPECT_THAT(out_.str(), StartsWith("zoo:g on zoo:c: 12.500 ms per micro-batch\n"));
  EXPECT_THAT(err_.str(), IsEmpty());
  Plan({"--server=h:1"});
  EXPECT_EQ(service_.server, "h:1");
  environment_.default_connection.address = "env:2";
  Plan({});
  EXPECT_EQ(service_.server, "env:2");
  Plan({"--server=h:1", "--local"});
  EXPECT_EQ(service_.server, "");
}

TEST_F(ProgramTest, WarnsOfOperatorsThatMoveWithTheirLayers) {
  const auto warnings_of = [this](const char* graph, const char* granularity) {
    EXPECT_EQ(Run({"plan", absl::StrCat("--graph=", graph), "--cluster=zoo:c", "--global_batch=8", granularity}),
              ExitCode::kOk);
    return Unwrapped(out_.str());
  };
  const auto is_warned = HasSubstr("--granularity=operator does not count for transformers");
  EXPECT_THAT(warnings_of("zoo:llama3-8b", "--granularity=operator"), is_warned);
  EXPECT_THAT(warnings_of("zoo:llama3-8b", "--granularity=layer"), Not(is_warned));
  EXPECT_THAT(warnings_of("zoo:bert-large", "--granularity=operator"), Not(is_warned));
  EXPECT_THAT(warnings_of("zoo:resnet50", "--granularity=operator"), Not(is_warned));
}

TEST_F(ProgramTest, FlagsBecomeTheRequest) {
  EXPECT_EQ(Plan({"--time_limit=1500ms", "--gap=0.05", "--seed", "9", "--threads=2", "--ideal_limit=1000",
                  "--algorithm=linearized_dp", "--work_limit=77", "--split=noncontiguous", "--stages=3",
                  "--memory_model=components", "--memory_preset=sgd", "--tokens_within=1728e9/2d"}),
            ExitCode::kOk);
  const v1::CreatePlanRequest& request = service_.plan_request;
  EXPECT_EQ(request.problem().joint().target_tokens_per_second(), 1e7);
  EXPECT_EQ(request.graph_reference(), "zoo:g");
  EXPECT_EQ(request.cluster_reference(), "zoo:c");
  EXPECT_EQ(request.options().time_limit().seconds(), 1);
  EXPECT_EQ(request.options().time_limit().nanos(), 500'000'000);
  EXPECT_EQ(request.options().relative_gap(), 0.05);
  EXPECT_EQ(request.options().seed(), 9);
  EXPECT_EQ(request.options().threads(), 2);
  EXPECT_EQ(request.options().ideal_limit(), 1000);
  EXPECT_EQ(request.options().work_limit(), 77);
  EXPECT_EQ(request.options().algorithm(), v1::ALGORITHM_LINEARIZED_DP);
  EXPECT_EQ(request.problem().split(), v1::SPLIT_NON_CONTIGUOUS);
  EXPECT_EQ(request.problem().num_stages(), 3);
  EXPECT_EQ(request.problem().memory_model().kind(), v1::MemoryModel::KIND_COMPONENTS);
  EXPECT_EQ(request.problem().memory_model().preset(), "sgd");
}

TEST_F(ProgramTest, AnEarlierPlanBecomesThePlacementToStartFrom) {
  in_.str(R"({"stages": [{"operators": ["a", "b"], "replicas": [{"device": "g1"}, {"device": "g0"}],
                          "ring_order": ["g0", "g1"]}]})");
  EXPECT_EQ(Plan({"--start_from=-", "--replan_tolerance=0.25", "--exclude=g1"}), ExitCode::kOk);
  const v1::PlanningProblem& problem = service_.plan_request.problem();
  ASSERT_EQ(problem.start_from().stages_size(), 1);
  const v1::Placement::PlacedStage& stage = problem.start_from().stages(0);
  EXPECT_THAT(stage.operators(), ElementsAre("a", "b"));
  EXPECT_THAT(stage.devices(), ElementsAre("g1", "g0"));
  EXPECT_THAT(stage.ring_order(), ElementsAre("g0", "g1"));
  EXPECT_EQ(problem.replan_tolerance(), 0.25);
  EXPECT_EQ(Plan({"--start_from=/no/such/plan"}), ExitCode::kUsage);
}

TEST_F(ProgramTest, TheDeadlineLeavesRoomForTheAnswer) {
  Plan({});
  EXPECT_EQ(service_.plan_request.options().time_limit().seconds(), 60);
  // The server keeps 5 % of the deadline for the answer.
  EXPECT_GT(service_.call.deadline, CallOptions::Clock::now() + std::chrono::seconds(64));
}

TEST_F(ProgramTest, TheServiceJudgesTimeLimitsThatNoClockCanTake) {
  for (const char* time_limit : {"-5s", "300000000000s"}) {
    in_.clear();
    in_.str(absl::StrCat(R"({"graph": {}, "cluster": {}, "options": {"time_limit": ")", time_limit, "\"}}"));
    EXPECT_EQ(Run({"plan", "--graph=-"}), ExitCode::kOk);
    EXPECT_GT(service_.call.deadline, CallOptions::Clock::now() + std::chrono::seconds(3)) << time_limit;
  }
}

TEST_F(ProgramTest, ExceptionsAreErrors) {
  service_.plan = []() -> absl::StatusOr<v1::CreatePlanResponse> { throw std::bad_alloc(); };
  EXPECT_EQ(Plan({}), ExitCode::kInternal);
  EXPECT_THAT(err_.str(), StartsWith("error: out of memory\nMake the request smaller"));
  service_.plan = []() -> absl::StatusOr<v1::CreatePlanResponse> { throw std::runtime_error("broken"); };
  EXPECT_EQ(Plan({}), ExitCode::kInternal);
  EXPECT_THAT(err_.str(), StartsWith("error: broken\n"));
}

TEST_F(ProgramTest, ReadsTheGraphFromStandardInput) {
  in_.str(R"({"graph": {"operators": [{"name": "a"}]}, "cluster": {}, "problem": {"micro_batches": 4},
              "options": {"seed": "5", "time_limit": "3s"}})");
  EXPECT_EQ(Run({"plan", "--graph=-", "--seed=6"}), ExitCode::kOk);
  EXPECT_EQ(service_.plan_request.graph().operators(0).name(), "a");
  EXPECT_EQ(service_.plan_request.problem().micro_batches(), 4);
  EXPECT_EQ(service_.plan_request.options().seed(), 6);
  EXPECT_EQ(service_.plan_request.options().time_limit().seconds(), 3);
  EXPECT_THAT(out_.str(), StartsWith("standard input: 12.500 ms"));
}

TEST_F(ProgramTest, JsonIsThePlanItself) {
  EXPECT_EQ(Plan({"--output=json"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), StartsWith("{\n"));
  EXPECT_THAT(out_.str(), HasSubstr("\n \"objective_ms\": 12.5,\n"));
}

TEST_F(ProgramTest, WritesToAFileWhenTold) {
  const std::string path = ::testing::TempDir() + "/program_test_plan.txt";
  EXPECT_EQ(Plan({"--output_file", path}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), IsEmpty());
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "zoo:g on zoo:c: 12.500 ms per micro-batch");
  std::filesystem::remove(path);
}

TEST_F(ProgramTest, GoldenUsageErrors) {
  const auto error_of = [this](const std::vector<std::string>& arguments) {
    EXPECT_EQ(Run(arguments), ExitCode::kUsage);
    EXPECT_THAT(out_.str(), IsEmpty());
    return err_.str();
  };
  EXPECT_EQ(error_of({}), "error: a command is missing\n`planwright help` lists the commands.\n");
  EXPECT_EQ(error_of({"paln"}),
            "error: \"paln\" is not a command; did you mean plan?\n`planwright help` lists the commands.\n");
  EXPECT_EQ(error_of({"plan"}),
            "error: --graph is missing\nName a file, or one of the models that `planwright models` lists.\n");
  EXPECT_EQ(error_of({"plan", "--graph=zoo:g"}),
            "error: --cluster is missing\nName a file, or one of the clusters that `planwright topologies` lists.\n");
  EXPECT_EQ(error_of({"plan", "--grph=zoo:g"}),
            "error: --grph is not a flag of this command; did you mean --graph?\n"
            "`planwright help plan` explains the flags.\n");
  EXPECT_EQ(error_of({"plan", "--objective=speed"}),
            "error: --objective: must be one of max_throughput, min_latency, min_devices, is \"speed\"\n"
            "`planwright help plan` explains the flags.\n");
  EXPECT_EQ(error_of({"plan", "--tokens_within=2e12"}),
            "error: --tokens_within: must be tokens and the time for them, such as 2e12/30d, is \"2e12\"\n"
            "`planwright help plan` explains the flags.\n");
  EXPECT_EQ(error_of({"plan", "--tokens_within=2e12/30d", "--target_tokens_per_second=1e6"}),
            "error: --target_tokens_per_second: must not be given beside --tokens_within: both say the speed\n"
            "`planwright help plan` explains the flags.\n");
  EXPECT_EQ(error_of({"plan", "--target_tokens_per_second=1e6", "--tokens_within=2e12/30d"}),
            "error: --tokens_within: must not be given beside --target_tokens_per_second: both say the speed\n"
            "`planwright help plan` explains the flags.\n");
  EXPECT_EQ(error_of({"plan", "--graph=/nowhere.json"}),
            "error: cannot read /nowhere.json: No such file or directory\n"
            "Check the path; built-in models and clusters are written zoo:NAME.\n");
  EXPECT_EQ(error_of({"evaluate", "--graph=zoo:g"}),
            "error: --plan is missing\nName a file that holds a plan, or plans/ID of a server.\n");
  EXPECT_EQ(error_of({"evaluate", "--graph=-", "--plan=-"}),
            "error: graph and plan cannot both come from standard input\nPut one of them into a file.\n");
  EXPECT_EQ(service_.server, "never connected");
}

TEST_F(ProgramTest, SizesOfAModelThatIsNamedBelongIntoItsName) {
  Run({"plan", "--graph=zoo:gpt-13b", "--cluster=zoo:c", "--sequence=4096", "--micro_batch=2"});
  EXPECT_EQ(Unwrapped(err_.str()),
            "error: --time_unit, --dim, --sequence and --micro_batch are for files\n"
            "Write sizes into the name: --graph='zoo:gpt-13b?sequence=4096&micro_batch=2'.\n");
  Run({"plan", "--graph=zoo:gpt-13b?tied=no", "--cluster=zoo:c", "--micro_batch=2"});
  EXPECT_THAT(err_.str(), HasSubstr("--graph='zoo:gpt-13b?tied=no&micro_batch=2'.\n"));
  Run({"plan", "--graph=zoo:gpt-13b", "--cluster=zoo:c", "--dim=batch=2"});
  EXPECT_THAT(err_.str(), HasSubstr("What is named has times and sizes: leave them out.\n"));
}

// A file that has nothing to mend is not to be mended.
TEST_F(ProgramTest, AConfigurationWithoutSizesNamesTheFlagsOnce) {
  in_.str(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
              "intermediate_size": 128, "vocab_size": 100})");
  EXPECT_EQ(Run({"plan", "--graph=-", "--cluster=zoo:c"}), ExitCode::kUsage);
  EXPECT_EQ(Unwrapped(err_.str()),
            "error: a config.json does not say sequence and micro-batch: add --sequence=N --micro_batch=N\n");
}

TEST_F(ProgramTest, SaysWhereAPlanOfATransformerIsPipelinesOnly) {
  const auto report_of = [this](const char* graph, v1::Workload workload, int devices) {
    service_.plan = [=] {
      v1::CreatePlanResponse response;
      response.mutable_plan()->mutable_problem()->set_workload(workload);
      for (int i = 0; i < devices; ++i) response.mutable_plan()->add_devices()->set_device("d");
      return response;
    };
    Run({"plan", absl::StrCat("--graph=", graph), "--cluster=zoo:c"});
    return out_.str();
  };
  const auto note = HasSubstr("pipelines only: --global_batch=SAMPLES also chooses");
  EXPECT_THAT(report_of("zoo:gpt-13b", v1::WORKLOAD_TRAINING, 2), note);
  EXPECT_THAT(report_of("zoo:gpt-13b", v1::WORKLOAD_TRAINING, 1), Not(note));
  EXPECT_THAT(report_of("zoo:gpt-13b", v1::WORKLOAD_INFERENCE, 2), Not(note));
  EXPECT_THAT(report_of("zoo:resnet50", v1::WORKLOAD_TRAINING, 2), Not(note));
}

TEST_F(ProgramTest, PrintsEveryViolationOfAFile) {
  in_.str(R"({"maxSizePerFPGA": 1, "maxFPGAs": -1, "maxCPUs": 0, "nodes": [{}], "edges": []})");
  EXPECT_EQ(Run({"plan", "--graph=-"}), ExitCode::kUsage);
  EXPECT_EQ(err_.str(),
            "error: maxFPGAs: must be an integer from 0 to 2147483647, is -1\n"
            "error: nodes[0].id: is missing\n"
            "error: nodes[0].supportedOnFpga: is missing\n"
            "error: nodes[0].cpuLatency: is missing\n"
            "error: nodes[0].fpgaLatency: is missing\n"
            "error: nodes[0].isBackwardNode: is missing\n"
            "Mend standard input and try again.\n");
}

TEST_F(ProgramTest, PrintsEveryViolationThatTheServiceNames) {
  google::rpc::BadRequest bad_request;
  auto* violation = bad_request.add_field_violations();
  violation->set_field("problem.split");
  violation->set_description("NON_CONTIGUOUS is not supported by this version");
  EXPECT_EQ(PlanFailsWith(WithDetail(absl::InvalidArgumentError("x"), bad_request)), ExitCode::kUsage);
  EXPECT_EQ(err_.str(),
            "error: problem.split: NON_CONTIGUOUS is not supported by this version\n"
            "Mend what is named above and try again.\n");
}

TEST_F(ProgramTest, NamesTheFlagsBesideTheFieldsThatTheySet) {
  google::rpc::BadRequest bad_request;
  const auto add = [&](const char* field, const char* description) {
    auto* violation = bad_request.add_field_violations();
    violation->set_field(field);
    violation->set_description(description);
  };
  add("problem.joint.target_tokens_per_second", "must not be set unless problem.objective is MIN_DEVICES");
  add("problem.joint.global_batch", "must be set for the joint search");
  add("problem.joint.micro_batch_samples[1]", "must divide the global batch");
  add("problem.num_replicas", "must be 1");
  add("problem.schedule", "must be unset");
  add("problem.micro_batches", "must divide the global batch of 512, is 7");
  add("options.relative_gap", "must be in [0, 1)");
  add("problem.replan_tolerance", "must be unset beside problem.joint");
  service_.plan = [&] { return WithDetail(absl::InvalidArgumentError("x"), bad_request); };
  const char* const rest =
      "error: problem.joint.global_batch (--global_batch): must be set for the joint search\n"
      "error: problem.joint.micro_batch_samples[1] (--samples): must divide the global batch\n"
      "error: problem.num_replicas: must be 1\n"
      "error: problem.schedule (--schedule): must be unset\n"
      "error: problem.micro_batches (--micro_batches): must divide the global batch of 512, is 7\n"
      "error: options.relative_gap (--gap): must be in [0, 1)\n"
      "error: problem.replan_tolerance (--replan_tolerance): must be unset beside problem.joint\n"
      "Mend what is named above and try again.\n";
  Plan({"--tokens-within", "2e12/30d", "--samples=1,3", "--schedule=gpipe", "--micro_batches=7", "--gap=2",
        "--replan_tolerance=0.1"});
  EXPECT_EQ(Unwrapped(err_.str()),
            absl::StrCat("error: problem.joint.target_tokens_per_second (--tokens_within): must not be set unless "
                         "problem.objective is MIN_DEVICES\n",
                         rest));
  Plan({"--target_tokens_per_second=1e6", "--samples=1,3", "--schedule=gpipe", "--micro_batches=7", "--gap=2",
        "--replan_tolerance=0.1"});
  EXPECT_EQ(Unwrapped(err_.str()),
            absl::StrCat("error: problem.joint.target_tokens_per_second (--target_tokens_per_second): must not be set "
                         "unless problem.objective is MIN_DEVICES\n",
                         rest));
}

TEST_F(ProgramTest, TheHelpOfADeadlineInTokensSaysItsUnits) {
  EXPECT_EQ(Run({"help", "plan"}), ExitCode::kOk);
  const std::string help = out_.str();
  const std::string flag = help.substr(help.find("--tokens_within"), 500);
  EXPECT_THAT(flag, HasSubstr("ms, us, s, m, h and d"));
  EXPECT_THAT(flag, HasSubstr("a bare number is"));
}

TEST_F(ProgramTest, ExplainsWhyNoPlanExists) {
  v1::InfeasibleDetail detail;
  detail.add_reasons()->set_description("operator \"embed\" needs 20 GiB, no device has more than 16 GiB");
  detail.set_minimum_devices(0);
  EXPECT_EQ(PlanFailsWith(WithDetail(absl::FailedPreconditionError("x"), detail)), ExitCode::kInfeasible);
  EXPECT_EQ(err_.str(),
            "error: infeasible: operator \"embed\" needs 20 GiB, no device has more than 16 GiB\n"
            "No plan exists with these settings on this cluster: give it more of what is missing, or allow more "
            "choices.\n");
  detail.mutable_reasons(0)->set_resource("choices");
  PlanFailsWith(WithDetail(absl::FailedPreconditionError("x"), detail));
  EXPECT_THAT(err_.str(), HasSubstr("No plan exists with these settings, whatever the cluster: change them.\n"));
  detail.set_minimum_devices(3);
  PlanFailsWith(WithDetail(absl::FailedPreconditionError("x"), detail));
  EXPECT_THAT(err_.str(),
              HasSubstr("No plan exists with these settings on this cluster; memory suffices from 3 devices on.\n"));
}

TEST_F(ProgramTest, SaysHowManyReasonsAreNotListed) {
  v1::InfeasibleDetail detail;
  detail.add_reasons()->set_description("GPUs are too small");
  google::rpc::ErrorInfo info;
  (*info.mutable_metadata())["reasons"] = "8";
  PlanFailsWith(WithDetail(WithDetail(absl::FailedPreconditionError("x"), detail), info));
  EXPECT_THAT(err_.str(), StartsWith("error: infeasible: GPUs are too small\nerror: ... and 7 more\n"));
}

TEST_F(ProgramTest, HintsFollowWhatIsMissing) {
  const auto hint = [&](const absl::Status& status) {
    PlanFailsWith(status);
    return err_.str();
  };
  EXPECT_THAT(hint(absl::FailedPreconditionError("old")), Not(HasSubstr("No plan exists")));
  EXPECT_THAT(hint(absl::UnauthenticatedError("who?")), HasSubstr("--token_file or PLANWRIGHT_TOKEN"));
  EXPECT_THAT(hint(absl::UnavailableError("Socket closed")), HasSubstr("--tls_ca_file"));
  EXPECT_THAT(hint(absl::UnavailableError("Ssl handshake failed: WRONG_VERSION_NUMBER")), HasSubstr("plaintext"));
}

TEST_F(ProgramTest, ExitCodesFollowTheCode) {
  EXPECT_EQ(PlanFailsWith(absl::NotFoundError("no such model")), ExitCode::kUsage);
  EXPECT_EQ(PlanFailsWith(absl::DeadlineExceededError("no plan")), ExitCode::kNoPlan);
  EXPECT_EQ(PlanFailsWith(absl::UnavailableError("gone")), ExitCode::kServer);
  EXPECT_EQ(PlanFailsWith(absl::FailedPreconditionError("no store")), ExitCode::kServer);
  EXPECT_EQ(PlanFailsWith(absl::AlreadyExistsError("another plan")), ExitCode::kUsage);
  EXPECT_EQ(PlanFailsWith(absl::ResourceExhaustedError("full")), ExitCode::kServer);
  EXPECT_EQ(PlanFailsWith(absl::UnauthenticatedError("who?")), ExitCode::kServer);
  EXPECT_EQ(PlanFailsWith(absl::InternalError("oops")), ExitCode::kInternal);
  EXPECT_EQ(PlanFailsWith(absl::UnknownError("oops")), ExitCode::kInternal);
}

TEST_F(ProgramTest, SaysWhichLimitToRaise) {
  google::rpc::ErrorInfo info;
  info.set_reason("NO_PLAN_FOUND");
  const auto hint = [&] {
    PlanFailsWith(WithDetail(absl::DeadlineExceededError("none found"), info));
    return err_.str();
  };
  EXPECT_EQ(hint(), "error: none found\n");
  (*info.mutable_metadata())["limit"] = "time_limit";
  EXPECT_EQ(hint(), "error: none found\nAllow more time with --time_limit.\n");
  (*info.mutable_metadata())["limit"] = "work_limit";
  EXPECT_EQ(hint(), "error: none found\nAllow more work with --work_limit.\n");
}

TEST_F(ProgramTest, AServerThatDoesNotAnswerCannotBeReached) {
  service_.info = [] { return absl::DeadlineExceededError("Deadline Exceeded"); };
  EXPECT_EQ(Run({"server-info", "--server=h:1"}), ExitCode::kServer);
  EXPECT_THAT(err_.str(), StartsWith("error: h:1 does not answer\n"));
}

TEST_F(ProgramTest, AnInterruptedSearchPrintsItsBestPlan) {
  service_.plan = [this] {
    stop_.request_stop();
    return v1::CreatePlanResponse();
  };
  EXPECT_EQ(Plan({}), ExitCode::kInterrupted);
  EXPECT_TRUE(service_.call.stop.stop_requested());
  EXPECT_THAT(out_.str(), StartsWith("zoo:g on zoo:c: "));
  EXPECT_EQ(err_.str(), "interrupted: this is the best plan so far\n");
}

TEST_F(ProgramTest, AnInterruptedCallSaysSo) {
  service_.plan = [this] {
    stop_.request_stop();
    return absl::CancelledError("CANCELLED");
  };
  EXPECT_EQ(Plan({"--server=h:1"}), ExitCode::kInterrupted);
  EXPECT_EQ(err_.str(), "error: interrupted\nThe search on the server was cancelled; there is no plan.\n");
}

TEST_F(ProgramTest, ProgressGoesToStandardError) {
  service_.plan = [this] {
    service_.call.progress->OnIncumbent(30);
    return v1::CreatePlanResponse();
  };
  EXPECT_EQ(Plan({"--progress"}), ExitCode::kOk);
  EXPECT_THAT(err_.str(), HasSubstr("incumbent 30.000 ms"));
}

TEST_F(ProgramTest, AsksForTheMemoryOfTrainingTransformers) {
  const auto asked = [this](std::vector<std::string> flags, const std::string& graph) {
    flags.insert(flags.begin(), {"plan", "--graph=" + graph, "--cluster=zoo:c"});
    EXPECT_EQ(Run(flags), ExitCode::kOk) << err_.str();
    const v1::PlanningProblem& problem = service_.plan_request.problem();
    return absl::StrCat(problem.memory_model().preset(), " ", v1::ScheduleKind_Name(problem.schedule()));
  };
  EXPECT_EQ(asked({}, "zoo:bert-large"), "adam_mixed SCHEDULE_KIND_ONE_F_ONE_B");
  EXPECT_THAT(out_.str(), HasSubstr("--memory_preset=sgd counts less"));
  EXPECT_EQ(asked({"--schedule=gpipe"}, "zoo:gpt-1.3b"), "adam_mixed SCHEDULE_KIND_GPIPE");
  EXPECT_EQ(asked({"--split=non_contiguous"}, "zoo:gpt-1.3b"), "adam_mixed SCHEDULE_KIND_UNSPECIFIED");
  EXPECT_EQ(asked({"--reserved_bytes=1GiB"}, "zoo:llama2-7b"), "adam_mixed SCHEDULE_KIND_ONE_F_ONE_B");
  EXPECT_EQ(asked({"--memory_preset=sgd"}, "zoo:bert-large"), "sgd SCHEDULE_KIND_UNSPECIFIED");
  EXPECT_EQ(asked({"--workload=inference"}, "zoo:bert-large"), " SCHEDULE_KIND_UNSPECIFIED");
  EXPECT_EQ(asked({"--objective=min_latency"}, "zoo:bert-large"), " SCHEDULE_KIND_UNSPECIFIED");
  EXPECT_EQ(asked({"--schedule=periodic"}, "zoo:bert-large"), " SCHEDULE_KIND_PERIODIC");
  EXPECT_EQ(asked({}, "zoo:mixtral-8x7b"), "adam_mixed SCHEDULE_KIND_ONE_F_ONE_B");
  EXPECT_EQ(asked({}, "zoo:resnet50"), " SCHEDULE_KIND_UNSPECIFIED");
  // However the model is given.
  const std::string shape = ::testing::TempDir() + "/program_test_shape.json";
  std::ofstream(shape) << R"({"operators": [{"name": "layer.0/a"}], "transformer": {"layers": 1}})";
  EXPECT_EQ(asked({}, shape), "adam_mixed SCHEDULE_KIND_ONE_F_ONE_B");
}

TEST_F(ProgramTest, RefusesTimesThatDoNotCount) {
  const std::string shape = ::testing::TempDir() + "/program_test_shape.json";
  std::ofstream(shape) << R"({"operators": [{"name": "layer.0/a"}], "transformer": {"layers": 1}})";
  const std::string times = ::testing::TempDir() + "/program_test_times.csv";
  std::ofstream(times) << "name,forward_ms,backward_ms\nlayer.0/a,1,2\n";
  const std::string layers = ::testing::TempDir() + "/program_test_layers.csv";
  // As spreadsheets write it.
  std::ofstream(layers) << "\xEF\xBB\xBFlayer,micro_batch,forward_ms,backward_ms\nlayer,1,1,2\n";
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"plan", "--graph=" + shape, "--cluster=zoo:c"});
    return Run(flags);
  };
  EXPECT_EQ(run({"--profile=" + times}), ExitCode::kOk) << err_.str();
  EXPECT_EQ(run({"--profile=" + times, "--global_batch=4"}), ExitCode::kUsage);
  EXPECT_THAT(Unwrapped(err_.str()), HasSubstr("--profile has times of operators, which do not count"));
  EXPECT_EQ(run({"--layer_times=" + layers, "--global_batch=4"}), ExitCode::kOk) << err_.str();
  EXPECT_EQ(run({"--layer_times=" + layers}), ExitCode::kUsage);
  EXPECT_THAT(Unwrapped(err_.str()), HasSubstr("--layer_times counts beside --global_batch only"));
}

TEST_F(ProgramTest, HintsAtDegreesWhereATransformerHasNoPlanInTime) {
  service_.plan = [] { return absl::DeadlineExceededError("no plan was found within the work limit"); };
  EXPECT_NE(Run({"plan", "--graph=zoo:llama3-70b", "--cluster=zoo:c"}), ExitCode::kOk);
  EXPECT_THAT(Unwrapped(err_.str()), HasSubstr("--global_batch=SAMPLES may divide operators among tensor ranks"));
  EXPECT_NE(Run({"plan", "--graph=zoo:resnet50", "--cluster=zoo:c"}), ExitCode::kOk);
  EXPECT_THAT(err_.str(), Not(HasSubstr("--global_batch")));
}

TEST_F(ProgramTest, SavesThePlanBesideTheReport) {
  const std::string path = ::testing::TempDir() + "/program_test_saved.json";
  EXPECT_EQ(Plan({absl::StrCat("--save=", path)}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("12.500 ms per micro-batch"));
  std::ifstream file(path);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(json, HasSubstr("\"objective_ms\": 12.5"));
  std::filesystem::remove(path);
}

TEST_F(ProgramTest, DescribesAModel) {
  service_.graph = [] {
    v1::GetGraphResponse response;
    response.mutable_graph()->add_operators()->set_name("a");
    return response;
  };
  EXPECT_EQ(Run({"models", "--show=bert-large"}), ExitCode::kOk) << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("zoo:bert-large: 1 operator, per micro-batch\n"));
  EXPECT_EQ(Run({"models", "--show=zoo:bert-large", "--output=json"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"name\": \"a\""));
  EXPECT_EQ(Run({"import", "--graph=zoo:bert-large", "--output=text"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), StartsWith("zoo:bert-large: 1 operator, per micro-batch\n"));
}

TEST_F(ProgramTest, WarnsOfClustersInWhichACpuIsTheBusiest) {
  service_.plan = [] {
    v1::CreatePlanResponse response;
    v1::DeviceUsage& usage = *response.mutable_plan()->add_devices();
    usage.set_device("host0/cpu0");
    usage.add_stages(0);
    usage.set_load_ms(5);
    response.mutable_plan()->add_devices()->set_device("host0/gpu0");
    return response;
  };
  service_.cluster = [] {
    v1::GetClusterResponse response;
    v1::DeviceClass& cpu = *response.mutable_cluster()->add_device_classes();
    cpu.set_name("xeon");
    cpu.set_kind(v1::DEVICE_KIND_CPU);
    v1::Device& device = *response.mutable_cluster()->add_devices();
    device.set_name("host0/cpu0");
    device.set_device_class("xeon");
    return response;
  };
  EXPECT_EQ(Plan({}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("the busiest device is a CPU, host0/cpu0"));
}

class EvaluateTest : public ProgramTest {
 protected:
  // Evaluates the plan under the problem of the graph's file, which says DECLARED.
  ExitCode Evaluate(const std::string& plan, std::vector<std::string> flags = {}) {
    const std::string path = ::testing::TempDir() + "/program_test_graph.json";
    std::ofstream(path) << R"({"maxSizePerFPGA": 1, "maxFPGAs": 1, "maxCPUs": 0, "edges": [], "nodes": [
      {"id": 1, "supportedOnFpga": 1, "fpgaLatency": 1, "cpuLatency": 1, "isBackwardNode": 0}]})";
    in_.clear();
    in_.str(plan);
    flags.insert(flags.begin(), {"evaluate", absl::StrCat("--graph=", path), "--plan=-"});
    return Run(flags);
  }
};

TEST_F(EvaluateTest, NamesOfKeptPlansAreNoFiles) {
  EXPECT_EQ(Run({"evaluate", "--graph=zoo:vgg16", "--cluster=zoo:pcie:2", "--plan=plans/kept"}), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("kept by a server"));
}

TEST_F(EvaluateTest, AnInvalidPlanHasItsOwnExitCode) {
  service_.evaluation = [] {
    v1::EvaluatePlanResponse response;
    response.add_violations()->set_field("plan.stages");
    return response;
  };
  EXPECT_EQ(Evaluate("{}"), ExitCode::kInfeasible);
  EXPECT_THAT(out_.str(), StartsWith("The plan is not valid: 1 violation.\n  -  plan.stages:\n"));
  service_.evaluation = [] {
    v1::EvaluatePlanResponse response;
    response.set_valid(true);
    return response;
  };
  EXPECT_EQ(Evaluate("{}", {"--output=json"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("\"valid\": true,\n"));
}

TEST_F(EvaluateTest, ThePlansOwnProblemCountsMoreThanTheFiles) {
  Evaluate(R"({"fpgas": [{"load": -1, "nodes": [1]}], "cpus": []})");
  EXPECT_EQ(service_.evaluate_request.problem().memory_model().kind(), v1::MemoryModel::KIND_DECLARED);
  EXPECT_EQ(service_.evaluate_request.plan().stages(0).replicas(0).device(), "acc0");
  Evaluate(R"({"problem": {"memory_model": {"kind": "KIND_COMPONENTS"}, "overlap": "OVERLAP_SERIAL"}})");
  EXPECT_EQ(service_.evaluate_request.problem().memory_model().kind(), v1::MemoryModel::KIND_COMPONENTS);
  Evaluate(R"({"problem": {"overlap": "OVERLAP_SERIAL"}})", {"--overlap=overlapped"});
  EXPECT_EQ(service_.evaluate_request.problem().overlap(), v1::OVERLAP_OVERLAPPED);
}

TEST_F(EvaluateTest, DevicesOfAPlanMayHaveSeveralStages) {
  const auto split = [this](const char* second, std::vector<std::string> flags = {}) {
    Evaluate(absl::StrCat(R"({"stages": [{"operators": ["1"], "replicas": [{"device": "acc0"}]},
                                         {"operators": [], "replicas": [{"device": ")",
                          second, R"("}]}]})"),
             std::move(flags));
    return service_.evaluate_request.problem().split();
  };
  EXPECT_EQ(split("acc1"), v1::SPLIT_UNSPECIFIED);
  EXPECT_EQ(split("acc0"), v1::SPLIT_NON_CONTIGUOUS);
  EXPECT_EQ(split("acc0", {"--split=contiguous"}), v1::SPLIT_CONTIGUOUS);
}

TEST_F(EvaluateTest, NumbersOfAChangedPlanAreForgottenWhenTold) {
  const std::string plan = R"({"objective_ms": 7, "estimate": {"bubble_fraction": 0.5},
      "stages": [{"operators": ["1"], "compute_ms": 3, "replicas": [{"device": "acc0", "load_ms": 7}],
                  "joint": {"tensor_degree": 1, "forward_ms": 2, "chunks": [{"layers": ["layer.0"]}]}}],
      "schedule": {"kind": "SCHEDULE_KIND_ONE_F_ONE_B", "period_ms": 7}, "devices": [{"device": "acc0", "load_ms": 7}],
      "joint": {"micro_batches": 4, "simulated_step_ms": 7}})";
  Evaluate(plan);
  EXPECT_EQ(service_.evaluate_request.plan().objective_ms(), 7);
  Evaluate(plan, {"--recost"});
  v1::Plan chosen;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(stages {
             operators: "1"
             replicas { device: "acc0" }
             joint {
               tensor_degree: 1
               chunks { layers: "layer.0" }
             }
           }
           schedule { kind: SCHEDULE_KIND_ONE_F_ONE_B }
           joint { micro_batches: 4 })pb",
      &chosen));
  EXPECT_EQ(service_.evaluate_request.plan().DebugString(), chosen.DebugString());
  Evaluate(R"({"stages": [{"operators": ["1"]}]})", {"--recost"});
  EXPECT_FALSE(service_.evaluate_request.plan().has_schedule());
}

TEST_F(EvaluateTest, LimitsOfThePlansModeMeanNothingInAnother) {
  const std::string contiguous = R"({"problem": {"split": "SPLIT_CONTIGUOUS", "max_stages_per_device": 1}})";
  Evaluate(contiguous, {"--overlap=overlapped"});
  EXPECT_TRUE(service_.evaluate_request.problem().has_max_stages_per_device());
  Evaluate(contiguous, {"--split=non_contiguous"});
  EXPECT_FALSE(service_.evaluate_request.problem().has_max_stages_per_device());
  Evaluate(contiguous, {"--objective=min_latency", "--max_subgraphs_per_device=2"});
  EXPECT_FALSE(service_.evaluate_request.problem().has_max_stages_per_device());
  EXPECT_EQ(service_.evaluate_request.problem().max_subgraphs_per_device(), 2);
}

// What the plan resolved for one preset is not what another one means.
TEST_F(EvaluateTest, APresetReplacesWhatThePlanCounts) {
  const std::string sgd = R"({"problem": {"workload": "WORKLOAD_TRAINING", "memory_model": {
    "kind": "KIND_COMPONENTS", "weight_versions": 1, "gradient_copies": 1, "optimizer_bytes_per_parameter_byte": 0,
    "reserved_bytes": 7}}})";
  const auto memory = [&] { return service_.evaluate_request.problem().memory_model(); };
  Evaluate(sgd, {"--memory_preset=adam_mixed", "--weight_versions=3"});
  EXPECT_EQ(memory().preset(), "adam_mixed");
  EXPECT_EQ(memory().weight_versions(), 3);
  EXPECT_FALSE(memory().has_gradient_copies() || memory().has_optimizer_bytes_per_parameter_byte());
  EXPECT_EQ(memory().reserved_bytes(), 7);
  Evaluate(sgd, {"--optimizer_bytes_per_parameter_byte=6"});
  EXPECT_TRUE(memory().has_weight_versions() && memory().has_gradient_copies());
  EXPECT_EQ(memory().optimizer_bytes_per_parameter_byte(), 6);
  Evaluate(sgd, {"--workload=inference"});
  EXPECT_FALSE(memory().has_gradient_copies());
  Evaluate(sgd, {"--memory_model=declared"});
  EXPECT_FALSE(memory().has_weight_versions() || memory().reserved_bytes() > 0);
}

TEST_F(EvaluateTest, FlagsReplaceWhatThePlanSaysWithNothingToo) {
  const std::string plan = R"({"problem": {
    "allreduce": {"amortize_over_micro_batches": true, "factor": "FACTOR_HALF"},
    "memory_model": {"kind": "KIND_COMPONENTS", "reserved_bytes": 7},
    "devices_to_use": {"hosts": ["h0"], "match_labels": {"rack": "a"}}}})";
  const auto problem = [&] { return service_.evaluate_request.problem(); };
  Evaluate(plan, {"--amortize_allreduce=false", "--reserved_bytes=0"});
  EXPECT_FALSE(problem().allreduce().amortize_over_micro_batches());
  EXPECT_EQ(problem().allreduce().factor(), v1::AllReduce::FACTOR_HALF);
  EXPECT_EQ(problem().memory_model().reserved_bytes(), 0);
  EXPECT_EQ(problem().memory_model().kind(), v1::MemoryModel::KIND_COMPONENTS);
  Evaluate(plan, {"--hosts=h1,h2", "--labels=zone=b"});
  EXPECT_TRUE(problem().allreduce().amortize_over_micro_batches());
  EXPECT_EQ(problem().memory_model().reserved_bytes(), 7);
  EXPECT_THAT(problem().devices_to_use().hosts(), testing::ElementsAre("h1", "h2"));
  EXPECT_EQ(problem().devices_to_use().match_labels().size(), 1);
}

TEST_F(EvaluateTest, ATargetOfFewestDevicesMeansNothingElsewhere) {
  const std::string fewest = R"({"problem": {"objective": "OBJECTIVE_MIN_DEVICES", "target_period_ms": 5}})";
  Evaluate(fewest, {"--overlap=overlapped"});
  EXPECT_EQ(service_.evaluate_request.problem().target_period_ms(), 5);
  Evaluate(fewest, {"--objective=max_throughput"});
  EXPECT_FALSE(service_.evaluate_request.problem().has_target_period_ms());
}

TEST_F(ProgramTest, HelpTeaches) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"help", "plan"}, {"plan", "--help"}, {"plan", "--graph=x", "-h"}}) {
    EXPECT_EQ(Run(arguments), ExitCode::kOk);
    EXPECT_THAT(out_.str(), HasSubstr("Examples:\n  planwright plan --graph=zoo:"));
    EXPECT_THAT(out_.str(), HasSubstr("--split=contiguous|non_contiguous"));
  }
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"help"}, {"--help"}, {"-h"}, {"help", "help"}}) {
    EXPECT_EQ(Run(arguments), ExitCode::kOk);
    EXPECT_THAT(out_.str(), HasSubstr("\n  evaluate "));
    EXPECT_THAT(out_.str(), HasSubstr("Exit codes: 0 done;"));
  }
  EXPECT_EQ(Run({"help", "pla"}), ExitCode::kUsage);
}

TEST_F(ProgramTest, ExportsTheIntegerProgramOfAProblem) {
  EXPECT_EQ(Run({"export", "--problem", "--to=lp", "--graph=zoo:g", "--cluster=zoo:c", "--split=noncontiguous"}),
            ExitCode::kOk);
  EXPECT_EQ(out_.str(), "as LP");
  EXPECT_EQ(service_.server, "");
  EXPECT_EQ(service_.plan_request.graph_reference(), "zoo:g");
  EXPECT_EQ(service_.plan_request.problem().split(), v1::SPLIT_NON_CONTIGUOUS);
  EXPECT_EQ(Run({"export", "--problem", "--to=mps", "--graph=zoo:g", "--cluster=zoo:c"}), ExitCode::kOk);
  EXPECT_EQ(out_.str(), "as MPS");
  EXPECT_EQ(Run({"export", "--problem", "--to=mps", "--form=printed", "--graph=zoo:g", "--cluster=zoo:c"}),
            ExitCode::kOk);
  EXPECT_EQ(out_.str(), "printed, as MPS");
}

TEST_F(ProgramTest, SaysWhatAnExportOfAProblemLacks) {
  const std::vector<std::string> problem = {"export", "--problem", "--graph=zoo:g", "--cluster=zoo:c"};
  const auto fails_with = [&](std::vector<std::string> flags, const char* message) {
    flags.insert(flags.begin(), problem.begin(), problem.end());
    EXPECT_EQ(Run(flags), ExitCode::kUsage);
    EXPECT_THAT(err_.str(), HasSubstr(message));
  };
  fails_with({"--to=dot"}, "--problem needs --to=mps or --to=lp");
  fails_with({"--to=lp", "--plan=plan.json"}, "--problem and --plan exclude each other");
  fails_with({"--to=lp", "--server=h:1"}, "servers do not write integer programs");
  fails_with({"--to=lp", "--form=big"}, "--form: \"big\" is no form");
  EXPECT_EQ(Run({"export", "--to=mps", "--plan=plan.json"}), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--to=mps is for problems"));
}

TEST_F(ProgramTest, PrintsItsVersion) {
  EXPECT_EQ(Run({"version"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(),
              ::testing::MatchesRegex(absl::StrCat("planwright ", PLANWRIGHT_VERSION, "( .[0-9a-f]+.)?\n")));
  EXPECT_EQ(Run({"--version"}), ExitCode::kOk);
}

TEST_F(ProgramTest, ModelsAndTopologiesAreViewsOfTheServersInfo) {
  service_.info = [] {
    v1::GetServerInfoResponse info;
    info.add_models()->set_name("bert-large");
    info.add_clusters()->set_name("pcie:N");
    return info;
  };
  EXPECT_EQ(Run({"models"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("  zoo:bert-large\n"));
  EXPECT_EQ(Run({"topologies", "--output=json"}), ExitCode::kOk);
  EXPECT_EQ(out_.str(), "{\n \"clusters\": [\n  {\n   \"name\": \"pcie:N\"\n  }\n ]\n}\n");
}

TEST_F(ProgramTest, TopologiesShowsAndWritesOneCluster) {
  service_.cluster = [] {
    v1::GetClusterResponse response;
    response.mutable_cluster()->mutable_interconnect()->mutable_grid()->add_dimensions(1);
    return response;
  };
  EXPECT_EQ(Run({"topologies", "--show=mesh2d:1"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), StartsWith("zoo:mesh2d:1: 0 devices\n"));
  out_.str("");
  EXPECT_EQ(Run({"topologies", "--show=zoo:mesh2d:1", "--output=json"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), StartsWith("{\n \"interconnect\": {\n  \"grid\": {\n   \"dimensions\": ["));
}

TEST_F(ProgramTest, TopologiesShowsAFileToo) {
  in_.str(R"({"device_classes": [{"name": "a"}], "devices": [{"name": "d", "device_class": "a"}],
              "interconnect": {"hierarchy": {"levels": [{"fan_out": 2147483647}, {"fan_out": 2147483647},
                                                        {"fan_out": 2147483647}]}}})");
  EXPECT_EQ(Run({"topologies", "--show=-"}), ExitCode::kOk) << err_.str();
  EXPECT_THAT(out_.str(), StartsWith("-: 1 device\n"));
  EXPECT_EQ(service_.server, "never connected");
  in_.str("{");
  EXPECT_EQ(Run({"topologies", "--show=-"}), ExitCode::kUsage);
}

TEST_F(ProgramTest, NoLineOfAnErrorIsLongerThanATerminal) {
  EXPECT_EQ(Plan({"--algorithm=parmezan"}), ExitCode::kUsage);
  std::istringstream lines(err_.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  EXPECT_THAT(err_.str(), StartsWith("error: --algorithm: must be one of auto, "));
  EXPECT_THAT(err_.str(), HasSubstr("\n       mip, "));
}

TEST_F(ProgramTest, DigestsInTitlesAreShort) {
  const std::string digest(64, 'a');
  EXPECT_EQ(Run({"plan", "--graph=graphs/" + digest, "--cluster=clusters/" + digest}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), StartsWith("graphs/aaaaaaaaaaaaaaa.. on clusters/aaaaaaaaaaaaa..: 12.500 ms"));
}

TEST_F(ProgramTest, FilesInAFolderCalledGraphsAreFiles) {
  EXPECT_EQ(service_.plan_request.graph_reference(), "");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(::testing::TempDir());
  std::filesystem::create_directories("graphs");
  std::ofstream("graphs/g.json") << R"({"operators": [{"name": "op"}]})";
  EXPECT_EQ(Run({"plan", "--graph=graphs/g.json", "--cluster=zoo:c"}), ExitCode::kOk) << err_.str();
  std::filesystem::remove_all("graphs");
  std::filesystem::current_path(before);
  EXPECT_EQ(service_.plan_request.graph().operators_size(), 1);
}

TEST_F(ProgramTest, TopologiesSaysWhereNamesAreListed) {
  service_.cluster = [] { return absl::NotFoundError("the zoo has no cluster \"mash\""); };
  EXPECT_EQ(Run({"topologies", "--show=mash"}), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("`planwright topologies` lists what there is."));
}

}  // namespace
}  // namespace planwright::client
