// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// When a registry scans, and which callers wait for it.
#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "daemon/toolchain/registry.h"
#include "tests/support/wait_until.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

namespace toolchain_registry_looks_test {

using namespace cccl_cache::daemon;
using cccl_cache::BuildKind;

namespace {

/// If shut, makes the probe of CUDA 13 wait until the test opens it.
class Gate final : public Compiler {
 public:
  Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits&,
                                std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    if (!shut_ || job.toolchain->major != 13) return CompileOutput{.succeeded = true};
    ++waiting_;
    changed_.notify_all();
    const bool opened = changed_.wait(lock, stop, [this] { return !shut_; });
    if (!opened) return Error{ErrorCode::kCancelled, "stopped"};
    return CompileOutput{.succeeded = true};
  }

  void Shut() {
    const std::lock_guard lock(mutex_);
    shut_ = true;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    shut_ = false;
    changed_.notify_all();
  }
  bool WaitUntilReached() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool shut_ = false;
  int waiting_ = 0;
};

/// Stores nothing. At the first query for a digest, which follows the survey, calls a function that
/// changes the files.
class ChangeDuringLook final : public MetaStore {
 public:
  explicit ChangeDuringLook(std::function<void()> change) : change_(std::move(change)) {}
  std::optional<std::string> GetMeta(std::string_view) override {
    if (const auto change = std::exchange(change_, nullptr)) change();
    return std::nullopt;
  }
  void PutMeta(std::string_view, std::string_view) override {}

 private:
  std::function<void()> change_;
};

bool Ready(std::future<void>& future) {
  return future.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
}

/// Scans, and returns when the scan has ended or counts as hung.
void Rescanned(ToolchainRegistry& registry) {
  std::promise<void> looked;
  registry.Rescan([&] { looked.set_value(); });
  std::future<void> look = looked.get_future();
  REQUIRE(Ready(look));
}

}  // namespace

TEST_CASE("requests for an unknown toolchain cause scans at a bounded rate") {
  Node node;
  RegistryOptions options = OnlyWhenAsked(Roots({node.tree.Path("cuda"), node.tree.Path("new")}));
  SECTION("after the interval") {
    options.unknown_interval = std::chrono::milliseconds(0);
    TestedRegistry registry(options, node.meta, node.compiler);
    REQUIRE(registry.Default().ok());
    CHECK_FALSE(registry->Select({.major = 12}, 0, BuildKind::kNvrtc));
    node.tree.Toolkit("new", 12, 9);
    CHECK(registry.Select({.major = 12}, BuildKind::kNvrtc).ok());
  }
  SECTION("within the interval") {
    TestedRegistry registry(options, node.meta, node.compiler);
    REQUIRE(registry.Default().ok());
    node.tree.Toolkit("new", 12, 9);
    const auto chosen = registry.Select({.major = 12}, BuildKind::kNvrtc);
    REQUIRE_FALSE(chosen.ok());
    CHECK(chosen.error().code == ErrorCode::kToolchainNotFound);
    registry.Rescan();
    CHECK(registry.Select({.major = 12}, BuildKind::kNvrtc).ok());
  }
}

TEST_CASE("an unknown library is an error at once, also before the first scan ends") {
  Node node;
  std::promise<void> read;
  ChangeDuringLook meta([&] { read.get_future().wait(); });
  RegistryOptions options = OnlyWhenAsked(Roots({node.tree.Path("cuda")}));
  options.unknown_interval = std::chrono::milliseconds(0);
  ToolchainRegistry registry(options, meta, node.compiler, [](const ToolchainReport&) {});
  const std::string unknown = "library:," + cccl_cache::Sha256("unknown").Hex();
  const auto select = [&](const std::string& id) {
    const auto chosen = registry.Select({.id = id}, 0, BuildKind::kNvrtc);
    if (!chosen) return std::string("waits");
    return chosen->ok() ? (**chosen)->version() : std::string(Name(chosen->error().code));
  };
  CHECK(select(unknown) == "toolchain-not-found");
  CHECK(select("12345678") == "waits");
  read.set_value();
  const std::vector<ToolchainPtr> present = registry.Present();
  REQUIRE(present.size() == 1);
  CHECK(select(unknown) == "toolchain-not-found");
  CHECK(select("12345678") == "waits");
  CHECK(select("library:," + present[0]->nvrtc->id.Hex()) == "13.0");
}

TEST_CASE("a toolchain that changes while it is identified is awaited, not reported absent") {
  Node node;
  ChangeDuringLook meta([&] { node.tree.Write("cuda/lib/libnvrtc.so.13", "COMPILER"); });
  ToolchainRegistry registry(OnlyWhenAsked(Roots({node.tree.Path("cuda")})), meta, node.compiler,
                             [](const ToolchainReport&) {});
  REQUIRE(registry.Present().empty());
  CHECK_FALSE(registry.Select({}, 0, BuildKind::kNvrtc));
  std::promise<void> looked;
  registry.Rescan([&] { looked.set_value(); });
  std::future<void> look = looked.get_future();
  REQUIRE(Ready(look));
  const auto chosen = registry.Select({}, 0, BuildKind::kNvrtc);
  REQUIRE(chosen);
  CHECK(chosen->ok());
}

TEST_CASE("new installations are found without a request") {
  Node node;
  RegistryOptions options = OnlyWhenAsked(Roots({node.tree.Path("cuda"), node.tree.Path("new")}));
  options.rescan_interval = std::chrono::milliseconds(1);
  TestedRegistry registry(options, node.meta, node.compiler);
  REQUIRE(registry.Only());
  node.tree.Toolkit("new", 12, 9);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (registry->Present().size() < 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  CHECK(registry->Present().size() == 2);
}

TEST_CASE("a toolchain with a slow probe serves later, without a request") {
  Node node;
  node.compiler.late_compiles = 1;
  RegistryOptions options = OnlyWhenAsked(Roots({node.tree.Path("cuda")}));
  options.rescan_interval = std::chrono::milliseconds(1);
  options.probe_again = std::chrono::milliseconds(1);
  TestedRegistry registry(options, node.meta, node.compiler);
  CHECK(WaitUntil([&] { return registry->Present().size() == 1; }));
  CHECK_THAT(registry.Reports().front().text, Catch::Contains("is not used: its NVRTC did not"));
}

TEST_CASE("no caller waits while a toolchain is identified") {
  Node node;
  node.tree.Wheels12("wheels", 9);
  Gate compiler;
  ToolchainRegistry registry(
      OnlyWhenAsked(Roots({node.tree.Path("wheels"), node.tree.Path("cuda")})), node.meta, compiler,
      [](const ToolchainReport&) {});
  REQUIRE(registry.Present().size() == 2);
  compiler.Shut();
  node.tree.Write("cuda/lib/libnvrtc.so.13", "COMPILER");
  // The scan waits at the gate, which this thread opens after its requests.
  REQUIRE_FALSE(registry.Select({.major = 13}, 0, BuildKind::kNvrtc));
  std::promise<void> looked;
  std::future<void> look = looked.get_future();
  std::thread::id looker;
  registry.Rescan([&] {
    looker = std::this_thread::get_id();
    looked.set_value();
  });
  REQUIRE(compiler.WaitUntilReached());
  CHECK_FALSE(registry.Select({.major = 13}, 0, BuildKind::kNvrtc));
  CHECK(registry.Select({.major = 12}, 0, BuildKind::kNvrtc)->ok());
  CHECK(registry.Present().size() == 2);
  compiler.Open();
  REQUIRE(Ready(look));
  CHECK(looker != std::this_thread::get_id());
  CHECK(registry.Select({.major = 13}, 0, BuildKind::kNvrtc)->ok());
}

TEST_CASE("no caller waits for the first scan") {
  Node node;
  Gate compiler;
  compiler.Shut();
  ToolchainRegistry registry(OnlyWhenAsked(Roots({node.tree.Path("cuda")})), node.meta, compiler,
                             [](const ToolchainReport&) {});
  REQUIRE(compiler.WaitUntilReached());
  CHECK_FALSE(registry.Looked());
  CHECK_FALSE(registry.Select({}, 0, BuildKind::kNvrtc));
  compiler.Open();
  CHECK(registry.Present().size() == 1);
  CHECK(registry.Looked());
}

TEST_CASE("a hung scan delays no caller, and known toolchains still serve") {
  Node node;
  node.tree.Wheels12("wheels", 9);
  Gate compiler;
  RegistryOptions options =
      OnlyWhenAsked(Roots({node.tree.Path("wheels"), node.tree.Path("cuda")}));
  options.scan_time = std::chrono::milliseconds(20);
  ToolchainRegistry registry(options, node.meta, compiler, [](const ToolchainReport&) {});
  while (registry.Present().size() < 2) Rescanned(registry);
  compiler.Shut();
  node.tree.Write("cuda/lib/libnvrtc.so.13", "COMPILER");
  std::optional<Result<ToolchainPtr>> chosen;
  while (!(chosen = registry.Select({.major = 13}, 0, BuildKind::kNvrtc))) {
    std::promise<void> told;
    registry.WhenKnown({.major = 13}, 0, BuildKind::kNvrtc, [&] { told.set_value(); });
    std::future<void> telling = told.get_future();
    REQUIRE(Ready(telling));  // although the scan waits at the gate
  }
  CHECK(chosen->error().code == ErrorCode::kUnavailable);
  // The error names the hung step as soon as this scan, or a later one, has reached the probe.
  CHECK(WaitUntil([&] {
    Rescanned(registry);
    const auto again = registry.Select({.major = 13}, 0, BuildKind::kNvrtc);
    return again && !again->ok() &&
           again->error().message.find("tries a toolchain's NVRTC") != std::string::npos;
  }));
  CHECK(registry.Select({.major = 12}, 0, BuildKind::kNvrtc)->ok());
  compiler.Open();
  while (!registry.Select({.major = 13}, 0, BuildKind::kNvrtc).value_or(Error{}).ok()) {
    Rescanned(registry);
  }
}

TEST_CASE("a stop ends the first scan and answers its waiters") {
  Node node;
  Gate compiler;
  compiler.Shut();
  std::vector<std::string> reports;
  ToolchainRegistry registry(
      OnlyWhenAsked(Roots({node.tree.Path("cuda")})), node.meta, compiler,
      [&](const ToolchainReport& report) { reports.push_back(report.text); });
  REQUIRE(compiler.WaitUntilReached());
  std::optional<Error> told;
  registry.Rescan([&] {
    const auto chosen = registry.Select({}, 0, BuildKind::kNvrtc);
    if (chosen) told = chosen->error();
  });
  auto present = std::async(std::launch::async, [&] { return registry.Present(); });
  registry.Stop();
  REQUIRE(told);
  CHECK(told->code == ErrorCode::kUnavailable);
  CHECK(present.get().empty());
  CHECK(reports.empty());  // a place that was not searched is not reported as missing
  bool called = false;
  registry.Rescan([&] { called = true; });
  CHECK(called);
}

TEST_CASE("known toolchains still serve after a stop") {
  Node node;
  TestedRegistry registry(Roots({node.tree.Path("cuda")}), node.meta, node.compiler);
  const ToolchainPtr toolchain = registry.Only();
  registry->Stop();
  CHECK(registry.Default().ok());
  CHECK(registry->Unchanged(*toolchain));
  node.tree.Write("cuda/lib/libnvrtc.so.13", "COMPILER");
  const auto chosen = registry.Default();
  REQUIRE_FALSE(chosen.ok());
  CHECK(chosen.error().code == ErrorCode::kUnavailable);
}

}  // namespace toolchain_registry_looks_test
