// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/build_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::build_plan_test {
namespace {

using cccl_cache::NvrtcProgram;
using testing::MakeRequest;
using testing::MakeToolchain;
using namespace std::string_literals;

BuildPlan Plan(std::shared_ptr<cccl_cache::BuildRequest> request, PlanOptions options = {}) {
  const Result<BuildPlan> plan = PlanBuild(std::move(request), MakeToolchain(), options);
  INFO((plan.ok() ? "" : plan.error().message));
  REQUIRE(plan.ok());
  return *plan;
}

std::shared_ptr<cccl_cache::BuildRequest> Request(std::string name,
                                                  std::vector<std::string> options,
                                                  std::string source = "code") {
  auto request = MakeRequest(source);
  auto& program = std::get<NvrtcProgram>(request->program);
  program.name = std::move(name);
  program.options = std::move(options);
  return request;
}

bool Has(const std::vector<std::string>& options, const std::string& option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

TEST_CASE("the compiler sees canonical names in place of the client's paths") {
  const BuildPlan plan = Plan(Request("/home/a/k.cu", {"-I/home/a/include", "-arch=sm_90"}));
  CHECK(plan.job.program_name == "/cccl-root-0/k.cu");
  CHECK(Has(plan.job.options, "--include-path=/cccl-root-1"));
  CHECK(plan.job.visible_working_directory == "/cccl-work");
  CHECK_FALSE(plan.path_dependent);
}

TEST_CASE("the same program in another directory has the same fingerprint") {
  const auto one = Request("/tmp/x1/k.cu", {"-I/home/a/include"});
  const auto other = Request("/tmp/x2/k.cu", {"-I/home/b/include"});
  other->working_directory = "/somewhere/else";
  CHECK(Plan(one).fingerprint == Plan(other).fingerprint);
  CHECK(Plan(one).View() != Plan(other).View());
}

TEST_CASE("toolchains with different headers share keys of links, but no flights of compiles") {
  const auto with_header = [](const std::string& contents) {
    auto toolchain = std::make_shared<Toolchain>(*MakeToolchain());
    toolchain->contents = std::make_shared<const ToolchainHeaders>(
        std::vector<ToolchainHeaders::File>{{"0/a.h", cccl_cache::Sha256(contents), {1, 1}}},
        std::vector<ToolchainHeaders::Directory>{}, false);
    return toolchain;
  };
  auto link = std::make_shared<cccl_cache::BuildRequest>();
  link->program = cccl_cache::LinkProgram{};
  const BuildPlan one = *PlanBuild(link, with_header("one"), {});
  const BuildPlan other = *PlanBuild(link, with_header("other"), {});
  CHECK(one.flight == other.flight);
  CHECK(one.key == other.key);
  const auto compile = Request("/a/k.cu", {});
  const BuildPlan first = *PlanBuild(compile, with_header("one"), {});
  const BuildPlan second = *PlanBuild(compile, with_header("other"), {});
  CHECK(first.fingerprint == second.fingerprint);
  CHECK(first.flight != second.flight);
}

TEST_CASE("a name such as __FILE__ counts as present if the preprocessor can paste it") {
  const std::string paste = "#define C2(a, b) a##b\n";
  CHECK(Plan(Request("/a/k.cu", {}, paste + "C2(__FI, LE__)")).path_dependent);
  CHECK(Plan(Request("/a/k.cu", {"-DX=__FI"}, paste + "C2(X, LE__)")).path_dependent);
  CHECK(Plan(Request("/a/k.cu", {}, paste + "C2(__BASE_, FILE__)")).base_name_token);
  CHECK(Plan(Request("/a/k.cu", {}, paste + "C2(__PRETTY, _FUNCTION__)")).function_token);
  CHECK(
      Plan(Request("/a/k.cu", {}, paste + "C2(__TI, ME__)")).uncacheable_reason.find("__TIME__") !=
      std::string::npos);
  const auto request = Request("/a/k.cu", {}, paste + "C2(__FI, ME__)");
  CHECK_FALSE(Plan(request).path_dependent);
  CHECK(Plan(request).uncacheable_reason.empty());
  std::get<NvrtcProgram>(request->program).name_expressions = {"k<C2(__TI, 1)>"};
  CHECK_FALSE(Plan(request).uncacheable_reason.empty());
}

TEST_CASE("a relative name has another fingerprint without a working directory") {
  const auto somewhere = Request("k.cu", {});
  const auto nowhere = Request("k.cu", {});
  nowhere->working_directory.clear();
  CHECK(Plan(somewhere).fingerprint != Plan(nowhere).fingerprint);
  const auto relative = Request("/a/k.cu", {"-Iinc"});
  const auto lost = Request("/a/k.cu", {"-Iinc"});
  lost->working_directory.clear();
  CHECK(Plan(relative).fingerprint != Plan(lost).fingerprint);
}

TEST_CASE("the fingerprint covers a directory's spelling if the output shows paths") {
  const auto relative = Request("/a/k.cu", {"-lineinfo", "-Iinc"});
  const auto absolute = Request("/a/k.cu", {"-lineinfo", "-I/home/someone/inc"});
  CHECK(Plan(relative).fingerprint != Plan(absolute).fingerprint);
}

TEST_CASE("a build whose output shows paths is keyed by them and compiled under them") {
  const BuildPlan here = Plan(Request("/a/k.cu", {"-lineinfo"}));
  const BuildPlan there = Plan(Request("/b/k.cu", {"-lineinfo"}));
  CHECK(here.path_dependent);
  CHECK(here.job.program_name == "/a/k.cu");
  CHECK(here.job.visible_working_directory == "/home/someone");
  CHECK(here.fingerprint != there.fingerprint);
  CHECK(Plan(Request("/a/k.cu", {}, "f(__FILE__)")).path_dependent);
  CHECK(Plan(Request("/a/k.cu", {"-DHERE=__FILE__"})).path_dependent);
  CHECK_FALSE(Plan(Request("/a/k.cu", {"-DNOW=__TIME__"})).uncacheable_reason.empty());
}

TEST_CASE("the headers in the compiler's library have one name, and no name of a client's") {
  const auto planned = [](int minor, const std::string& directory, const std::string& source) {
    auto toolchain = std::make_shared<Toolchain>(*MakeToolchain());
    toolchain->major = 13;
    toolchain->minor = minor;
    const auto request =
        Request("/a/k.cu", {"-I/a/i", "--use-bundled-headers=" + directory, "-arch=sm_90"}, source);
    return *PlanBuild(request, toolchain, {});
  };
  const BuildPlan plan = planned(3, "/tmp/x1", "code");
  CHECK(plan.job.bundled_headers);
  const std::vector<std::string>& options = plan.job.options;
  const auto place = std::ranges::find(options, "--include-path=/cccl-root-1");
  REQUIRE(options.end() - place == 4);
  CHECK(place[1] == "--include-path=/cccl-root-bundled");
  CHECK(place[2] == "--include-path=/cccl-root-bundled/cccl");
  for (const char* source : {"code", "const char* file = __FILE__;"}) {
    CHECK(planned(3, "/tmp/x1", source).key == planned(3, "/tmp/x2", source).key);
  }
  CHECK(plan.key != Plan(Request("/a/k.cu", {"-I/a/i", "-arch=sm_90"})).key);
}

TEST_CASE("the directory for the compiler's headers is refused if its name would matter") {
  const auto refused = [](int minor, const std::string& directory) {
    auto toolchain = std::make_shared<Toolchain>(*MakeToolchain());
    toolchain->major = 13;
    toolchain->minor = minor;
    const auto plan = PlanBuild(
        Request("/a/k.cu", {"-I/b/i", "--use-bundled-headers=" + directory}), toolchain, {});
    return !plan.ok() && plan.error().code == ErrorCode::kInvalidRequest;
  };
  CHECK_FALSE(refused(3, "/tmp/x1"));
  CHECK_FALSE(refused(3, "/a/x1"));
  CHECK(refused(2, "/tmp/x1"));
  CHECK(refused(3, "/b/i"));
  CHECK(refused(3, "/b"));
  CHECK(refused(3, "/a/"));
}

TEST_CASE("the toolchain's own directories are recognised under any name") {
  const BuildPlan alias = Plan(Request("k.cu", {"-I/usr/local/cuda/include"}));
  const BuildPlan real = Plan(Request("k.cu", {"-I", "/opt/cuda/include/"}));
  const BuildPlan deeper = Plan(Request("k.cu", {"-I/opt/cuda/include/cccl"}));
  const BuildPlan elsewhere = Plan(Request("k.cu", {"-I/opt/other/include"}));
  CHECK(alias.fingerprint == real.fingerprint);
  CHECK(alias.fingerprint != deeper.fingerprint);
  CHECK(alias.fingerprint != elsewhere.fingerprint);
  const auto trusted = [](const BuildPlan& plan) {
    return std::count_if(plan.job.mounts.begin(), plan.job.mounts.end(),
                         [](const Mount& mount) { return mount.trusted; });
  };
  CHECK(trusted(alias) == 1);
  CHECK(trusted(elsewhere) == 0);
}

TEST_CASE("a path of a client with another files view is never the toolchain's") {
  auto request = Request("k.cu", {"-I/opt/cuda/include"});
  const cccl_cache::FilesView own{1, 2, 3};
  const auto trusted = [&](std::optional<cccl_cache::FilesView> view) {
    request->files_view = view;
    const BuildPlan plan = Plan(request, {.own_view = own});
    return std::ranges::any_of(plan.job.mounts, &Mount::trusted);
  };
  CHECK(trusted(own));
  CHECK_FALSE(trusted(cccl_cache::FilesView{4, 2, 3}));
  std::get<NvrtcProgram>(request->program).options.clear();
  std::get<NvrtcProgram>(request->program).append_toolchain_headers = true;
  CHECK(trusted(cccl_cache::FilesView{4, 2, 3}));
}

TEST_CASE("one directory given twice has another fingerprint than two directories") {
  const BuildPlan twice = Plan(Request("k.cu", {"-I/a", "-I/a", "-I/c"}));
  const BuildPlan two = Plan(Request("k.cu", {"-I/a", "-I/b", "-I/c"}));
  const BuildPlan other_twice = Plan(Request("k.cu", {"-I/a", "-I/c", "-I/c"}));
  CHECK(twice.fingerprint != two.fingerprint);
  CHECK(twice.fingerprint != other_twice.fingerprint);
  CHECK(twice.fingerprint == Plan(Request("k.cu", {"-I/x", "-I/x", "-I/y"})).fingerprint);
}

TEST_CASE("a path that only looks like the toolchain's is not trusted") {
  for (const char* path :
       {"-I/opt/cuda/include/../../../etc", "-I/opt/cuda/include2", "-Iopt/cuda/include"}) {
    const BuildPlan plan = Plan(Request("k.cu", {path}));
    for (const Mount& mount : plan.job.mounts) CHECK_FALSE(mount.trusted);
  }
}

TEST_CASE("appended toolchain headers are searched after the client's directories") {
  auto request = Request("k.cu", {"-I/home/a"});
  std::get<NvrtcProgram>(request->program).append_toolchain_headers = true;
  const BuildPlan plan = Plan(request);
  CHECK(Has(plan.job.options, "--include-path=/cccl-root-2"));
  CHECK(Has(plan.job.options, "--include-path=/cccl-root-3"));
  CHECK(plan.job.mounts.back().target == "/opt/cuda/include/cccl");
}

TEST_CASE("the client's directory names are kept for the compiler's log") {
  const BuildPlan plan = Plan(Request("src/k.cu", {"-Iinc", "-I/abs/inc/"}));
  CHECK(plan.client_prefixes == std::vector<std::string>{"src/", "inc/", "/abs/inc/"});
  CHECK(Plan(Request("", {})).client_prefixes == std::vector<std::string>{""});
  CHECK(Plan(Request("", {"-I/abs/inc//"})).client_prefixes.at(1) == "/abs/inc//");
}

TEST_CASE(
    "a seed and --no-cache are added where the compiler knows them, unless the client gave them") {
  const BuildPlan plan = Plan(Request("k.cu", {}));
  const auto seeds = [](const BuildPlan& each) {
    return std::count_if(each.job.options.begin(), each.job.options.end(), [](const auto& option) {
      return option.find("frandom-seed") != std::string::npos;
    });
  };
  CHECK(seeds(plan) == 1);
  CHECK(Has(plan.job.options, "--no-cache"));
  const BuildPlan own = Plan(Request("k.cu", {"-frandom-seed=mine"}));
  CHECK(seeds(own) == 1);
  const auto completed = [](const BuildPlan& each) {
    CompileJob job = each.job;
    AddSeed(each, &job);
    return job.options;
  };
  CHECK(completed(own) == own.job.options);
  const auto& program = std::get<NvrtcProgram>(plan.job.request->program);
  CHECK(completed(plan).front() == "-frandom-seed=" + RandomSeed(program, plan.options));
  auto old = std::make_shared<Toolchain>(*MakeToolchain());
  old->capabilities = {};
  const Result<BuildPlan> without = PlanBuild(Request("k.cu", {}), old, {});
  REQUIRE(without.ok());
  CHECK(seeds(*without) == 0);
  CHECK_FALSE(Has(without->job.options, "--no-cache"));
}

TEST_CASE("an option without its value never takes an option of the daemon") {
  for (const char* last : {"-Xptxas", "-Xnvvm", "-maxrregcount", "-D", "-U", "-include", "-jtd",
                           "--std", "-unknown"}) {
    auto request = Request("k.cu", {"-I/home/a", "-DX", last});
    std::get<NvrtcProgram>(request->program).append_toolchain_headers = true;
    const std::vector<std::string> options = Plan(request).job.options;
    CHECK(options.back() == last);
    const auto place = [&](std::string_view option) {
      return std::ranges::find_if(options,
                                  [&](const auto& each) { return each.starts_with(option); }) -
             options.begin();
    };
    CHECK(place("-frandom-seed=") < place("--include-path=/cccl-root-1"));
    CHECK(place("--include-path=/cccl-root-1") < place("--include-path=/cccl-root-2"));
    CHECK(place("--include-path=/cccl-root-2") < place("--define-macro=X"));
  }
}

TEST_CASE("options from the client's environment are part of the build") {
  auto request = Request("k.cu", {});
  std::get<NvrtcProgram>(request->program).environment = {{"NVRTC_APPEND_FLAGS", " -DA=1  -DB "},
                                                          {"NVRTCWIZ", "3153394"}};
  CHECK(Plan(request).fingerprint == Plan(Request("k.cu", {"-DA=1", "-DB"})).fingerprint);
}

TEST_CASE("PlanBuild refuses a text with a NUL byte and names its offset") {
  const Result<BuildPlan> plan =
      PlanBuild(Request("k.cu", {}, std::string("ab\0c", 4)), MakeToolchain(), {});
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().message.find("offset 2") != std::string::npos);
}

TEST_CASE("NVRTC_APPEND_FLAGS is appended to the options if NVRTC would use it") {
  auto request = testing::MakeRequest("code");
  auto& program = std::get<NvrtcProgram>(request->program);
  program.options = {"-arch=sm_90"};
  program.environment = {{"NVRTC_APPEND_FLAGS", " -G\t  -lineinfo \n"}, {"OTHER", "-x"}};
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_90"});
  program.environment.push_back({"NVRTCWIZ", "1"});
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_90"});
  program.environment.back().value = "3153394";
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_90", "-G\t", "-lineinfo", "\n"});
  request->program = cccl_cache::LinkProgram{.options = {"-arch=sm_80"}};
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-arch=sm_80"});
  request->program = cccl_cache::NvvmProgram{.options = {"-opt=3"}};
  CHECK(OptionsOf(*request) == std::vector<std::string>{"-opt=3"});
}

TEST_CASE("CheckTexts names the text that has a NUL byte, and its offset") {
  auto request = testing::MakeRequest("int a;\0int b;"s);
  const Status source = CheckTexts(*request);
  REQUIRE_FALSE(source);
  CHECK(source.error().code == ErrorCode::kInvalidRequest);
  CHECK(source.error().message.find("nvrtc.source has a NUL byte at offset 6") == 0);
  auto& program = std::get<NvrtcProgram>(request->program);
  program.source = "int a;";
  CHECK(CheckTexts(*request));
  program.headers = {{"fine.h", "1"}, {"a.h", "12\0"s}};
  const Status header = CheckTexts(*request);
  REQUIRE_FALSE(header);
  CHECK(header.error().message.find("nvrtc.headers[\"a.h\"] has a NUL byte at offset 2") == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_plan_test
