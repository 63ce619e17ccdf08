// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/run/compile_runner.h"
#include "tests/unit/core/fake_files.h"

namespace cccl_cache::daemon {
namespace {

using testing::FakeDisk;
using testing::FakeRequesterFiles;

constexpr Account kUser(1);

std::shared_ptr<ClosureRecorder> RecorderOver(const std::shared_ptr<FakeDisk>& disk) {
  return std::make_shared<ClosureRecorder>(
      std::make_unique<FakeRequesterFiles>(disk, RootDirectories{{"/include"}, "/work"}),
      ClosureRecorder::Names{{{"/cccl-root-0", 0}}}, ClosureRecorder::Events{});
}

/// A preamble for which a.h was read.
ParsedPreamblePtr Parsed(const std::shared_ptr<FakeDisk>& disk) {
  const auto recorder = RecorderOver(disk);
  REQUIRE(recorder->Ask("/cccl-root-0/a.h").ok());
  return std::make_shared<ParsedPreamble>(ParsedPreamble{nullptr, recorder->Finish()});
}

struct Scene {
  Scene() { disk->Write("/include/a.h", "a"); }
  ~Scene() { disk->Wake(); }

  const std::shared_ptr<FakeDisk> disk = std::make_shared<FakeDisk>();
};

TEST_CASE("a preamble whose files are as they were is adopted, another is not") {
  Scene scene;
  const ParsedPreamblePtr parsed = Parsed(scene.disk);
  BlockingPool checks({});
  const auto same = RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {});
  REQUIRE(same);
  CHECK(**same);
  scene.disk->Write("/include/a.h", "b");
  const auto changed = RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {});
  REQUIRE(changed);
  CHECK_FALSE(**changed);
}

TEST_CASE("a preamble without files is adopted though the user's threads are taken") {
  Scene scene;
  BlockingPool checks({.threads = 0});
  const auto parsed = std::make_shared<ParsedPreamble>();
  const auto adopted = RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {});
  REQUIRE(adopted);
  CHECK(**adopted);
}

TEST_CASE("a preamble is done without where the disk hangs, or the user's threads are taken") {
  Scene scene;
  const ParsedPreamblePtr parsed = Parsed(scene.disk);
  BlockingPool no_threads({.threads = 0});
  CHECK_FALSE(RevalidateClosure(no_threads, kUser, RecorderOver(scene.disk), parsed, {}));
  scene.disk->Hang();
  BlockingPool checks({});
  CHECK_FALSE(RevalidateClosure(checks, kUser, RecorderOver(scene.disk), parsed, {}));
}

}  // namespace
}  // namespace cccl_cache::daemon
