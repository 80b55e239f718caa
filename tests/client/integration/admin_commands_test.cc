// What administrators end and delete from the shell, and what others are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/integration/child.h"
#include "tests/integration/daemon_process.h"
#include "tests/support/unwrapped.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The tokens "admin-token", "planner-token" of team-a and "reader-token" of team-a, by their SHA-256.
constexpr char kRoles[] = R"json({"tokens": [
  {"name": "root", "role": "admin",
   "sha256": "10a4c7c9fc5206d6f36dc6944a81bb6f4a3cb0e25014ae3b12e6c3e52712292a"},
  {"name": "ci", "tenant": "team-a", "role": "planner",
   "sha256": "5e85d4b77f1514ef8f44826456cddc57cfb735c901f5ef483cf6824debc6e9c0"},
  {"name": "look", "tenant": "team-a", "role": "reader",
   "sha256": "ba5005a40cf5212e4ac0190104cc127edab013294bb71279a975b27a80982d45"}]})json";

// Takes far longer than a test may.
const std::vector<std::string>& LongPlan() {
  static const std::vector<std::string> kFlags = {"--graph=zoo:inception-v3", "--cluster=zoo:pcie:4",
                                                  "--split=non_contiguous", "--time_limit=100s"};
  return kFlags;
}

class AdminCommandsTest : public testing::Test {
 protected:
  AdminCommandsTest() {
    for (const char* role : {"admin", "planner", "reader"}) Write(role, absl::StrCat(role, "-token\n"));
  }
  ~AdminCommandsTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  // The arguments with those that say whom to ask and who asks.
  std::vector<std::string> As(const std::string& role, std::vector<std::string> arguments) const {
    arguments.push_back("--server=" + address_);
    arguments.push_back("--token_file=" + (folder_ / role).string());
    return arguments;
  }
  Finished Run(const std::string& role, std::vector<std::string> arguments) const {
    return Planwright(As(role, std::move(arguments)));
  }

  // The name that is printed by a command of the planner's.
  std::string Made(std::vector<std::string> arguments) const {
    const Finished made = Run("planner", std::move(arguments));
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }

  std::string Submit() const {
    std::vector<std::string> submit = LongPlan();
    submit.insert(submit.begin(), "submit");
    return Made(submit);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("admin-commands-" + std::to_string(getpid()));
  DaemonProcess daemon_{{"--store=sqlite:" + (folder_ / "planwright.db").string(),
                         "--auth_config=" + Write("auth.json", kRoles), "--drain_timeout=1ms"}};
  const std::string address_ = daemon_.address();
};

TEST_F(AdminCommandsTest, EndsACallOfATenant) {
  std::vector<std::string> plan = LongPlan();
  plan.insert(plan.begin(), {PLANWRIGHT_PROGRAM, "plan", "--progress"});
  Child caller(As("planner", plan));
  ASSERT_TRUE(caller.WaitForError("incumbent")) << caller.Wait().err;
  const Finished listed = Run("admin", {"admin", "calls", "--tenant=team-a", "--output=json"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const json calls = json::parse(listed.out)["calls"];
  ASSERT_EQ(calls.size(), 1U) << listed.out;
  EXPECT_EQ(calls[0]["tenant"], "team-a");
  EXPECT_EQ(calls[0]["caller"], "ci");
  const std::string call = calls[0]["name"];

  const Finished ended = Run("admin", {"admin", "calls", "--cancel=" + call});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "asked " + call + " to stop\n");
  const Finished planned = caller.Wait();
  // As for the one who presses ^C.
  EXPECT_EQ(planned.exit_code, 130) << planned.err;
  EXPECT_THAT(planned.err, HasSubstr("error: cancelled"));
  EXPECT_EQ(planned.out, "");
  EXPECT_FALSE(daemon_.WaitForLog("search cancelled").empty());
}

TEST_F(AdminCommandsTest, EndsAnOperationOfATenant) {
  const std::string operation = Submit();
  ASSERT_FALSE(daemon_.WaitForLog("operation taken").empty());
  const std::string cancel = "--cancel=" + operation;
  EXPECT_THAT(Run("admin", {"admin", "operations", cancel}).err, HasSubstr("--tenant is missing"));
  // It is nobody else's.
  const Finished of_others = Run("admin", {"admin", "operations", "--tenant=default", cancel});
  EXPECT_EQ(of_others.exit_code, 2);
  EXPECT_THAT(of_others.err, HasSubstr("`planwright admin operations` lists what there is."));

  const Finished ended = Run("admin", {"admin", "operations", "--tenant=team-a", cancel});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "asked " + operation + " to stop\n");
  // What was found by then is kept.
  const Finished waited = Run("planner", {"wait", operation, "--output=json"});
  EXPECT_THAT(waited.out, HasSubstr("STOP_REASON_CANCELLED")) << waited.err;
  const Finished again = Run("admin", {"admin", "operations", "--tenant=team-a", cancel, "--output=json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["operation"]["state"], "STATE_CANCELLED");
}

TEST_F(AdminCommandsTest, DeletesWhatATenantKeeps) {
  const Finished registered = Run("planner", {"register", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4"});
  ASSERT_EQ(registered.exit_code, 0) << registered.err;
  const std::size_t line = registered.out.find('\n');
  const std::string graph = registered.out.substr(0, line);
  const std::string cluster = registered.out.substr(line + 1, registered.out.size() - line - 2);
  const std::vector<std::string> plan = {"plan", "--graph=" + graph, "--cluster=" + cluster};
  std::vector<std::string> kept = plan;
  kept.emplace_back("--plan_id=my-plan");
  ASSERT_EQ(Run("planner", kept).exit_code, 0);
  const std::vector<std::pair<std::string, std::string>> items = {
      {"plans", "plans/my-plan"}, {"graphs", graph}, {"clusters", cluster}};
  for (const auto& [kind, name] : items) {
    SCOPED_TRACE(name);
    EXPECT_THAT(Run("admin", {"admin", kind, "--tenant=team-a"}).out, HasSubstr(name));
    EXPECT_THAT(Run("admin", {"admin", kind, "--tenant=default"}).out, Not(HasSubstr(name)));
    const std::string deletion = "--delete=" + name;
    EXPECT_THAT(Run("admin", {"admin", kind, deletion}).err, HasSubstr("--tenant is missing"));
    EXPECT_EQ(Run("admin", {"admin", kind, "--tenant=default", deletion}).exit_code, 2);
    const Finished deleted = Run("admin", {"admin", kind, "--tenant=team-a", deletion});
    EXPECT_EQ(deleted.exit_code, 0) << deleted.err;
    EXPECT_EQ(deleted.out, "deleted " + name + "\n");
    const Finished again = Run("admin", {"admin", kind, "--tenant=team-a", deletion});
    EXPECT_EQ(again.exit_code, 2);
    EXPECT_THAT(again.err, HasSubstr(absl::StrCat("`planwright admin ", kind, "` lists what there is.")));
  }
  // Nor is it answered from memory.
  EXPECT_EQ(Run("planner", {"plans", "--show=plans/my-plan"}).exit_code, 2);
  EXPECT_EQ(Run("planner", plan).exit_code, 2);
}

TEST_F(AdminCommandsTest, RefusesCallersWithoutTheRole) {
  const std::string operation = Submit();
  ASSERT_FALSE(daemon_.WaitForLog("operation taken").empty());
  ASSERT_EQ(Made({"plan", "--graph=zoo:bert-base", "--cluster=zoo:pcie:4", "--plan_id=my-plan"}).empty(), false);
  struct Asked {
    const char* method;
    std::vector<std::string> arguments;
  };
  const std::vector<Asked> all = {
      {"ListCalls", {"admin", "calls"}},
      {"CancelCall", {"admin", "calls", "--cancel=calls/any"}},
      {"ListTenants", {"admin", "tenants"}},
      {"SetTenantLimits", {"admin", "limits", "--tenant=team-a", "--max_running=1"}},
      {"ResetTenantLimits", {"admin", "limits", "--tenant=team-a", "--reset"}},
      {"ListTenantOperations", {"admin", "operations"}},
      {"CancelTenantOperation", {"admin", "operations", "--tenant=team-a", "--cancel=" + operation}},
      {"ListTenantItems", {"admin", "plans", "--tenant=team-a"}},
      {"DeleteTenantItem", {"admin", "plans", "--tenant=team-a", "--delete=plans/my-plan"}}};
  for (const char* role : {"planner", "reader"}) {
    for (const Asked& asked : all) {
      SCOPED_TRACE(absl::StrCat(role, " ", asked.method));
      const Finished refused = Run(role, asked.arguments);
      EXPECT_EQ(refused.exit_code, 4);
      EXPECT_EQ(refused.out, "");
      EXPECT_THAT(Unwrapped(refused.err),
                  StartsWith(absl::StrCat("error: ", asked.method, " needs the role admin, the caller has ", role)));
      nlohmann::json line;
      do {
        line = daemon_.WaitForLog("rpc");
      } while (!line.empty() && line.value("method", "") != asked.method);
      EXPECT_EQ(line.value("code", ""), "PermissionDenied");
    }
  }
  // Readers look at what their tenant keeps and change nothing.
  EXPECT_THAT(Run("reader", {"plans"}).out, HasSubstr("plans/my-plan"));
  EXPECT_EQ(Run("reader", {"plans", "--show=plans/my-plan"}).exit_code, 0);
  EXPECT_THAT(Run("reader", {"plans", "--delete=plans/my-plan"}).err, StartsWith("error: DeletePlan needs the role"));
  EXPECT_THAT(Run("reader", {"operations", "--cancel=" + operation}).err,
              StartsWith("error: CancelOperation needs the role"));
  EXPECT_THAT(Run("reader", {"register", "--cluster=zoo:pcie:4"}).err,
              StartsWith("error: RegisterCluster needs the role"));
  // Who is nobody is told nothing.
  Write("nobody", "guessed-token\n");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"admin", "calls"}, {"plans"}, {"plans", "--show=plans/my-plan"}}) {
    const Finished refused = Run("nobody", arguments);
    EXPECT_EQ(refused.exit_code, 4);
    EXPECT_THAT(refused.out + refused.err, Not(HasSubstr("my-plan")));
  }
  // All of it is as it was.
  EXPECT_THAT(Run("planner", {"plans"}).out, HasSubstr("plans/my-plan"));
  EXPECT_THAT(Run("planner", {"operations"}).out, HasSubstr("running"));
}

// Who asks to end something and is shown a list would take it for done.
TEST_F(AdminCommandsTest, RefusesFlagsThatItWouldNotLookAt) {
  const auto error_of = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "admin");
    const Finished refused = Run("admin", arguments);
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_EQ(refused.out, "");
    return refused.err;
  };
  EXPECT_THAT(error_of({"plans", "--tenant=team-a", "--cancel=calls/1"}), HasSubstr("--cancel is for calls and"));
  EXPECT_THAT(error_of({"calls", "--delete=plans/my-plan"}), HasSubstr("--delete is for plans, graphs and"));
  EXPECT_THAT(error_of({"graphs", "--delete=plans/my-plan"}),
              HasSubstr("--delete=plans/my-plan is not one of the graphs"));
  EXPECT_THAT(error_of({"tenants", "--tenant=team-a", "--max_running=0"}), HasSubstr("`planwright admin limits`"));
  EXPECT_THAT(error_of({"tenants", "--tenant=team-a", "--reset"}), HasSubstr("`planwright admin limits`"));
  EXPECT_THAT(error_of({"limits", "--tenant=team-a"}), HasSubstr("no limit is given"));
  EXPECT_THAT(error_of({"limits", "--max_running=1"}), HasSubstr("--tenant is missing"));
  EXPECT_THAT(error_of({}), HasSubstr("it is not said what to show"));
  EXPECT_THAT(error_of({"nonsense"}), HasSubstr("there is no \"nonsense\" to show"));
  EXPECT_THAT(error_of({"calls", "--cancel=nothing"}), HasSubstr("name: must be \"calls/{id}\""));
  EXPECT_THAT(error_of({"calls", "--cancel=calls/nothing"}), HasSubstr("calls/nothing has ended"));
  EXPECT_THAT(error_of({"plans", "--tenant=team-a", "--delete=nothing"}), HasSubstr("is not one of the plans"));
}

}  // namespace
}  // namespace planwright::client
