// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/build_options.h"

#include <CLI/App.hpp>
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace build_options_test {

using namespace cccl_cache::cli;
using cccl_cache::BuildOptions;
using cccl_cache::Error;
using cccl_cache::Kind;
using cccl_cache::Priority;
using cccl_cache::cli::ChooseToolchain;

namespace {

struct Parsed {
  CompileOptions options;
  std::vector<std::string> files;
  std::string wrong;  ///< the error; empty: none
};

Parsed Parse(std::vector<std::string> words) {
  Parsed parsed;
  CLI::App app;
  app.add_option("FILE", parsed.files);
  AddCompileOptions(&app, {"cubin", "ptx"}, "a file", &parsed.options);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    parsed.wrong = error.what();
  }
  return parsed;
}

CompileOptions For(const std::string& emit) {
  CompileOptions options;
  options.architecture = "sm_90";
  options.emit = emit;
  return options;
}

}  // namespace

TEST_CASE("the first kind is the default of --emit, and --arch has no default") {
  const Parsed parsed = Parse({"--arch", "sm_90", "a.cu"});
  CHECK(parsed.wrong.empty());
  CHECK(parsed.options.emit == "cubin");
  CHECK(parsed.options.architecture == "sm_90");
  CHECK(Has(Parse({"a.cu"}).wrong, "--arch"));
}

TEST_CASE("an argument after a repeatable option stays an argument") {
  const Parsed parsed =
      Parse({"--arch", "sm_90", "--option", "-lineinfo", "a.cu", "--option=-G", "b.cu"});
  CHECK(parsed.options.options == std::vector<std::string>{"-lineinfo", "-G"});
  CHECK(parsed.files == std::vector<std::string>{"a.cu", "b.cu"});
}

TEST_CASE("an unknown kind, priority or fallback is named, with the known ones") {
  CHECK(Has(Parse({"--arch", "sm_90", "--emit", "elf"}).wrong, "\"elf\" is not one of cubin, ptx"));
  CHECK(Has(Parse({"--arch", "sm_90", "--fallback", "remote"}).wrong,
            "\"remote\" is not one of local, error"));
  CHECK(Has(Parse({"--arch", "sm_90", "--priority", "high"}).wrong,
            "\"high\" is not one of interactive, normal, warm-up"));
}

TEST_CASE("a plan has the command line's priority, or leaves it to the environment") {
  const std::pair<const char*, Priority> priorities[] = {{"", Priority::kDefault},
                                                         {"interactive", Priority::kInteractive},
                                                         {"normal", Priority::kNormal},
                                                         {"warm-up", Priority::kWarmUp}};
  for (const auto& [name, priority] : priorities) {
    CompileOptions options = For("cubin");
    options.priority = name;
    CHECK(PlanCompile(options, Compiler::kNvrtc, false)->build.priority == priority);
  }
}

TEST_CASE("a plan asks for one kind of artifact, with this process' working directory") {
  const std::pair<const char*, Kind> kinds[] = {{"cubin", Kind::kCubin},
                                                {"ptx", Kind::kPtx},
                                                {"ltoir", Kind::kLtoIr},
                                                {"optixir", Kind::kOptixIr}};
  for (const auto& [emit, kind] : kinds) {
    const auto plan = PlanCompile(For(emit), Compiler::kNvrtc, false);
    REQUIRE(plan.ok());
    CHECK(plan->kind == kind);
    CHECK(plan->build.wanted == std::vector<Kind>{kind});
    CHECK(plan->build.working_directory == std::filesystem::current_path());
    CHECK(plan->architecture == "sm_90");
    CHECK_FALSE(plan->local_fallback);
  }
}

TEST_CASE("with a named toolchain no driver version is sent, and a wrong name is a usage error") {
  CompileOptions options = For("cubin");
  options.toolchain = "12";
  const auto plan = PlanCompile(options, Compiler::kNvrtc, false);
  REQUIRE(plan.ok());
  CHECK(plan->build.toolchain_major == 12);
  CHECK(plan->build.driver_version == 0);
  options.toolchain = "newest";
  const auto wrong = PlanCompile(options, Compiler::kNvrtc, false);
  REQUIRE_FALSE(wrong.ok());
  CHECK(Listen([&] { return FailPlan(wrong.error(), {}); }).exit_code == kUsage);
}

TEST_CASE("a system error is no usage error") {
  const Error error = {CCCL_CACHE_UNAVAILABLE, "no driver"};
  CHECK(Listen([&] { return FailPlan(error, {}); }).exit_code == kOther);
}

TEST_CASE("the error of a missing or busy daemon suggests --fallback local") {
  const Error none = {CCCL_CACHE_NO_DAEMON, "nobody listens"};
  const std::string hint = "nobody listens; --fallback local compiles without one";
  const auto errors = [&](const CompilePlan& plan, const CommonOptions& common) {
    const Said said = Listen([&] { return FailBuild(none, plan, common); });
    CHECK(said.exit_code == kNoDaemon);
    return said.errors;
  };
  CHECK(Has(errors({}, {}), hint));
  CompilePlan local;
  local.local_fallback = true;
  CHECK_FALSE(Has(errors(local, {}), "--fallback"));
  CHECK_FALSE(Has(errors({}, {.explain = true}), "--fallback"));
  const auto errors_of = [](const Error& error, const CompilePlan& plan) {
    return Listen([&] { return FailBuild(error, plan, {}); }).errors;
  };
  CHECK_FALSE(Has(errors_of({CCCL_CACHE_DENIED, "not you"}, {}), "--fallback"));
  const Error busy = {CCCL_CACHE_OVERLOADED, "the queue is full"};
  CHECK(Has(errors_of(busy, {}), "the queue is full; --fallback local compiles without waiting"));
  CHECK_FALSE(Has(errors_of(busy, local), "--fallback"));
}

TEST_CASE("a build that finds the queue full waits for room, and no other failure is waited for") {
  const FreshLibrary fresh;
  Library().failures = {{"build_nvrtc", CCCL_CACHE_OVERLOADED}};
  Library().result.outcome = CCCL_CACHE_FAILED;
  const auto run = [] {
    return Listen([] { return RunCompile(cccl_cache::NvrtcBuild{}, CompilePlan(), {}); }).exit_code;
  };
  CHECK(run() == kRefused);
  Library().retry_after_ms = 10;
  CHECK(run() == kDoesNotCompile);
  Library().failures["build_nvrtc"] = CCCL_CACHE_UNAVAILABLE;  // a toolchain that hangs, say
  CHECK(run() == kOther);
  Library().failures["build_nvrtc"] = CCCL_CACHE_OVERLOADED;
  Library().failures["batch_next"] = CCCL_CACHE_DEADLINE;
  CHECK(run() == kOther);
}

TEST_CASE("only --fallback local lets the client library compile locally") {
  const FreshLibrary fresh;
  Library().failures = {{"build_nvrtc", CCCL_CACHE_NO_DAEMON}};
  CompilePlan plan;
  const auto run = [&] {
    return Listen([&] { return RunCompile(cccl_cache::NvrtcBuild{}, plan, {.socket = "/s"}); });
  };
  CHECK(run().exit_code == kNoDaemon);
  CHECK(Library().fallback == CCCL_CACHE_FALLBACK_ERROR);
  CHECK(Library().socket == "/s");
  plan.local_fallback = true;
  CHECK(run().exit_code == kNoDaemon);
  CHECK(Library().fallback == CCCL_CACHE_FALLBACK_LOCAL);
}

TEST_CASE("a library that can't be opened fails as a build does") {
  const FreshLibrary fresh;
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  const Said said = Listen([] { return RunCompile(cccl_cache::NvrtcBuild{}, CompilePlan{}, {}); });
  CHECK(said.exit_code == kNoDaemon);
  CHECK(Has(said.errors, "open failed; --fallback local"));
}

namespace {

BuildOptions Chosen(const std::string& spec) {
  BuildOptions options;
  INFO(spec);
  CHECK(ChooseToolchain(spec, &options).ok());
  return options;
}

}  // namespace

TEST_CASE("a toolchain is named by major, version, or the beginning of its id") {
  CHECK(Chosen("13").toolchain_major == 13);
  CHECK(Chosen("12.9").toolchain_version == "12.9");
  CHECK(Chosen("12.9").toolchain_major == 0);
  CHECK(Chosen("0123abcd").toolchain_id == "0123abcd");
  CHECK(Chosen(std::string(64, 'f')).toolchain_id == std::string(64, 'f'));
  // Too many digits for a version, enough for an id.
  CHECK(Chosen("12345678").toolchain_id == "12345678");
}

TEST_CASE("without --toolchain the daemon chooses the toolchain") {
  const BuildOptions options = Chosen("");
  CHECK(options.toolchain_major == 0);
  CHECK(options.toolchain_version.empty());
  CHECK(options.toolchain_id.empty());
}

TEST_CASE("an unknown form of toolchain is refused with the known ones") {
  for (const std::string& spec :
       {std::string("newest"), std::string("12."), std::string(".9"), std::string("12.9.1"),
        std::string("0123abc"), std::string("0123ABCD"), std::string(65, 'a'), std::string("-1"),
        std::string("1234.5")}) {
    INFO(spec);
    BuildOptions options;
    const auto chosen = ChooseToolchain(spec, &options);
    REQUIRE_FALSE(chosen.ok());
    CHECK(chosen.error().status == CCCL_CACHE_INVALID_REQUEST);
    CHECK(Has(chosen.error().message, "--toolchain " + spec + " is neither a major (13)"));
  }
}

}  // namespace build_options_test
