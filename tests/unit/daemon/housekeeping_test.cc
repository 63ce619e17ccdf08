// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/housekeeping.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <string>

#include "tests/support/wait_until.h"
#include "tests/unit/service/fakes.h"

namespace cccl_cache::daemon::housekeeping_test {
namespace {

/// A MetaStore in memory. Thread-safe.
class Facts final : public MetaStore {
 public:
  std::optional<std::string> GetMeta(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    const auto found = facts_.find(name);
    return found == facts_.end() ? std::nullopt : std::optional(found->second);
  }
  void PutMeta(std::string_view name, std::string_view value) override {
    const std::lock_guard lock(mutex_);
    facts_.insert_or_assign(std::string(name), value);
    ++puts;
  }

  std::atomic<int> puts = 0;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> facts_;
};

/// The housekeeping of one run of a daemon. Several runs may share `facts`.
struct Run {
  explicit Run(Facts& facts)
      : housekeeping({.toolchains = toolchains,
                      .compiler = compiler,
                      .meta = facts,
                      .statistics = statistics,
                      .hours = hours,
                      .eviction_log = eviction_log,
                      .log = log,
                      .store_problem = [this] { return store_fails ? "no space" : ""; },
                      .lease_problem = [] { return std::string(); },
                      .tell_problem =
                          [this](std::string problem) {
                            const std::lock_guard lock(mutex);
                            told = std::move(problem);
                          },
                      .look_at_shelves = [] {}}) {}

  /// Waits until the last reported problem contains `words` or, if not `holds`, does not.
  [[nodiscard]] bool Tells(std::string_view words, bool holds = true) {
    return WaitUntil([&] {
      const std::lock_guard lock(mutex);
      return (told.find(words) != std::string::npos) == holds;
    });
  }

  FakeToolchains toolchains;  // without a toolchain
  WorkerCompiler compiler{"/no/worker", {}, [](std::string_view) {}};
  Statistics statistics;
  HourlyCounts hours;
  EvictionLog eviction_log;
  Log log{LogLevel::kError, LogFormat::kText};
  std::mutex mutex;
  std::string told;  // guarded by mutex
  std::atomic<bool> store_fails = false;
  Housekeeping housekeeping;  ///< last member: its thread uses the others
};

const cccl_cache::Digest kKey = cccl_cache::Sha256("key");

TEST_CASE("counters continue from the last run") {
  Facts facts;
  {
    Run run(facts);
    run.statistics.Add(Counter::kBuilds, 5);
  }
  Run next(facts);
  CHECK(next.statistics.Get(Counter::kBuilds) == 5);
}

TEST_CASE("the cause of an eviction is known after a restart") {
  Facts facts;
  {
    Run run(facts);
    run.eviction_log.Note(kKey, EvictionCause::kCorrupt);
  }
  Run next(facts);
  const auto eviction = next.eviction_log.Find(kKey);
  REQUIRE(eviction.has_value());
  CHECK(eviction->cause == EvictionCause::kCorrupt);
}

TEST_CASE("a daemon without a toolchain reports a problem") {
  Facts facts;
  CHECK(Run(facts).Tells("no toolchain"));
}

TEST_CASE("a store that can't be written is a problem until it can") {
  Facts facts;
  Run run(facts);
  run.store_fails = true;
  CHECK(run.Tells("no space"));
  run.statistics.Add(Counter::kStoreErrors);
  run.store_fails = false;
  CHECK(run.Tells("no space", false));
  CHECK(run.Tells("damaged", false));
}

TEST_CASE("corrupt entries, store errors and shadow mismatches are a problem") {
  for (const Counter counter :
       {Counter::kCorruptEntries, Counter::kStoreErrors, Counter::kShadowMismatches}) {
    Facts facts;
    Run run(facts);
    REQUIRE(run.Tells("no toolchain"));
    CHECK(run.Tells("damaged", false));
    run.statistics.Add(counter);
    CHECK(run.Tells("damaged"));
  }
}

TEST_CASE("counters that did not change are not written") {
  Facts facts;
  { const Run run(facts); }
  CHECK(facts.puts == 0);
  {
    Run run(facts);
    run.statistics.Add(Counter::kBuilds, 1);
  }
  CHECK(facts.puts == 1);
  { const Run run(facts); }
  CHECK(facts.puts == 1);
}

TEST_CASE("damaged rows are ignored") {
  Facts facts;
  facts.PutMeta("counters", "\xff no counters");
  facts.PutMeta("departures", "no departures");
  const Run run(facts);
  CHECK(run.statistics.Get(Counter::kBuilds) == 0);
  CHECK_FALSE(run.eviction_log.Find(kKey).has_value());
}

}  // namespace
}  // namespace cccl_cache::daemon::housekeeping_test
