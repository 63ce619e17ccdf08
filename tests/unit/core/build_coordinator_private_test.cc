// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Entries that a user inserted serve only that user's builds, and precede shared entries.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/lookup/manifest.h"
#include "daemon/core/model/compiler.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_private_test {
namespace {

using testing::CoordinatorBench;
using testing::FakeCompiler;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;
using testing::Succeed;

ArtifactPtr Made(const std::string& bytes) { return Succeed(bytes).artifact; }

std::string BytesOf(const BuildAnswer& answer) { return answer.artifact->parts.at(0).bytes; }

/// Returns the answer of another coordinator to a build of "a".
BuildAnswer KnownFrom(FakeCompiler::Behaviour behaviour) {
  CoordinatorBench elsewhere(std::move(behaviour));
  elsewhere.files.disk->Write("/home/someone/local.h", "same");
  return elsewhere.BuildOne("a");
}

Result<CompileOutput> ReadsOneFile(const CompileJob& job, int) {
  const Result<FileAnswer> local = job.files->Ask(job.visible_working_directory + "/local.h");
  if (!local) return local.error();
  return Succeed("compiled");
}

TEST_CASE("a build that a user inserted is that user's hit and no other's") {
  const auto key = KnownFrom(SourceAsOutput).key;
  CoordinatorBench bench(SourceAsOutput);
  REQUIRE(bench.own.Put(kBob.uid, key, Made("bob's"), 1));
  const BuildAnswer own = bench.BuildOne("a", kBob);
  CHECK(own.outcome == Outcome::kHit);
  CHECK(own.key == key);
  CHECK(BytesOf(own) == "bob's");
  const BuildAnswer other = bench.BuildOne("a", kAlice);
  CHECK(other.outcome == Outcome::kBuilt);
  CHECK(BytesOf(other) == "a");
}

TEST_CASE("a user's own entry comes before the shared one, which stays unchanged") {
  CoordinatorBench bench(SourceAsOutput);
  const auto key = bench.BuildOne("a", kAlice).key;
  REQUIRE(bench.own.Put(kBob.uid, key, Made("bob's"), 1));
  CHECK(BytesOf(bench.BuildOne("a", kBob)) == "bob's");
  CHECK(BytesOf(bench.BuildOne("a", kAlice)) == "a");
  CHECK(bench.Count(Counter::kCompiles) == 1);
}

TEST_CASE("a user's own entry with a closure is a hit while the files match") {
  CoordinatorBench elsewhere(ReadsOneFile);
  elsewhere.files.disk->Write("/home/someone/local.h", "same");
  const BuildAnswer built = elsewhere.BuildOne("a");
  const auto manifest = elsewhere.disk.Get(ManifestKey(built.fingerprint));
  REQUIRE(manifest != nullptr);
  const auto closure = DecodeManifest(manifest->log)->closures.at(0).closure;

  CoordinatorBench bench(ReadsOneFile);
  bench.files.disk->Write("/home/someone/local.h", "same");
  REQUIRE(
      bench.coordinator->cache().InsertFor(kBob.uid, built.fingerprint, closure, Made("bob's"), 1));
  CHECK(BytesOf(bench.BuildOne("a", kBob)) == "bob's");
  CHECK(bench.BuildOne("a", kAlice).outcome == Outcome::kBuilt);
  bench.files.disk->Write("/home/someone/local.h", "another");
  CHECK(BytesOf(bench.BuildOne("a", kBob)) == "compiled");
}

TEST_CASE("a build that is inserted for all users is every user's hit, and is not replaced") {
  const auto known = KnownFrom(SourceAsOutput);
  CoordinatorBench bench(SourceAsOutput);
  BuildCache& cache = bench.coordinator->cache();
  CHECK(*cache.Insert(known.fingerprint, {}, Made("all's")) == Inserted::kNow);
  CHECK(*cache.Insert(known.fingerprint, {}, Made("later")) == Inserted::kBefore);
  CHECK(BytesOf(bench.BuildOne("a", kAlice)) == "all's");
  CHECK(BytesOf(bench.BuildOne("a", kBob)) == "all's");
  CHECK(bench.Count(Counter::kCompiles) == 0);
}

TEST_CASE("a hit saves its compile time, and hits of unknown time are counted separately") {
  const auto known = KnownFrom(SourceAsOutput);
  for (const std::chrono::microseconds time :
       {std::chrono::microseconds(0), std::chrono::microseconds(4321)}) {
    CoordinatorBench bench(SourceAsOutput);
    auto inserted = std::make_shared<Artifact>(*Made("all's"));
    inserted->compile_time = time;
    REQUIRE(bench.coordinator->cache().Insert(known.fingerprint, {}, inserted));
    CHECK(bench.BuildOne("a", kAlice).outcome == Outcome::kHit);
    CHECK(bench.Count(Counter::kSavedMicroseconds) == static_cast<uint64_t>(time.count()));
    CHECK(bench.Count(Counter::kSavedUnknown) == (time.count() == 0 ? 1 : 0));
  }
}

class FullTier final : public Tier {
 public:
  [[nodiscard]] TierName name() const override { return TierName::kDisk; }
  ArtifactPtr Get(const cccl_cache::Digest&) override { return nullptr; }
  bool Holds(const cccl_cache::Digest&) override { return false; }
  void Put(const cccl_cache::Digest&, ArtifactPtr) override {}
  void Remove(const cccl_cache::Digest&) override {}
};

TEST_CASE("Insert does not report an entry as present if the disk has no room") {
  FullTier full;
  EvictionLog eviction_log;
  BuildCache cache({&full}, eviction_log, {});
  const auto refused = cache.Insert(cccl_cache::Sha256("fingerprint"), {}, Made("all's"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_private_test
