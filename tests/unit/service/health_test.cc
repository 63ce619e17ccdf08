// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/health.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::health_test {
namespace {

class RecordingWatcher final : public Health::Watcher {
 public:
  void Notify(bool serving, bool ready) override { heard += !serving ? "-" : ready ? "+" : "!"; }
  void Stop() override { heard += "."; }

  std::string heard;
};

TEST_CASE("a watcher gets the state at once, then each change") {
  Health health;
  CHECK(health.serving());
  RecordingWatcher watcher;
  health.Add(watcher);
  health.SetServing(false);
  health.SetServing(true);
  CHECK(watcher.heard == "+-+");
  CHECK(health.serving());
}

TEST_CASE("a daemon with a problem is serving, but not ready") {
  Health health;
  RecordingWatcher watcher;
  health.Add(watcher);
  health.SetProblem("the disk is full");
  CHECK(health.serving());
  CHECK_FALSE(health.ready());
  CHECK(health.problem() == "the disk is full");
  health.SetProblem("the disk is still full");  // no change
  health.SetProblem("");
  CHECK(health.ready());
  health.SetServing(false);
  CHECK_FALSE(health.ready());
  CHECK(watcher.heard == "+!+-");
}

TEST_CASE("a removed watcher gets nothing more") {
  Health health;
  RecordingWatcher watcher;
  health.Remove(watcher);
  health.Add(watcher);
  health.Remove(watcher);
  health.SetServing(false);
  health.Stop();
  CHECK(watcher.heard == "+");
}

TEST_CASE("Stop ends present and later watchers") {
  Health health;
  RecordingWatcher early;
  health.Add(early);
  health.SetServing(false);
  health.Stop();
  RecordingWatcher late;
  health.Add(late);
  CHECK(early.heard == "+-.");
  CHECK(late.heard == "-.");
}

TEST_CASE("the daemon as a whole and each of its services have a state") {
  CHECK(Health::Knows(""));
  CHECK(Health::Knows(kReadyService));
  for (const std::string_view service : kOwnServices) CHECK(Health::Knows(service));
  CHECK_FALSE(Health::Knows("cccl_cache.v1"));
  CHECK_FALSE(Health::Knows("grpc.health.v1.Health"));
}

}  // namespace
}  // namespace cccl_cache::daemon::health_test
