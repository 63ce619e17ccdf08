// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/build_cache.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "tests/unit/core/fake_private_entries.h"
#include "tests/unit/core/waiters.h"

namespace cccl_cache::daemon::build_cache_test {
namespace {

using Catch::Matchers::Contains;
using cccl_cache::Digest;
using cccl_cache::Sha256;
using testing::MakeArtifact;
using testing::MakePlan;
using testing::MakeRequest;
using testing::MapTier;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;
const Digest kKey = Sha256("key");

struct Scene {
  MapTier upper{TierName::kMemory};
  MapTier lower{TierName::kDisk};
  EvictionLog eviction_log;
  testing::FakePrivateEntries own;
  BuildCache cache{{&upper, &lower}, eviction_log, {}, &own};
};

FlightResult Compiled(const std::string& bytes = "output") {
  FlightResult flight_result;
  flight_result.output = testing::Succeed(bytes);
  return flight_result;
}

FlightResult Failed(const std::string& log = "an error") {
  FlightResult flight_result;
  flight_result.output = testing::Fail(log);
  return flight_result;
}

Closure OneFile(const std::string& text = "x") {
  Closure closure;
  closure.entries.push_back({{1, "x.h"}, FileKind::kFile, Sha256(text), 0});
  return closure;
}

std::shared_ptr<const BuildPlan> Plan(const std::string& source, uid_t uid = kAlice) {
  return MakePlan(MakeRequest(source), {.uid = uid});
}

/// Returns the plan of a program with this user directory in -I.
std::shared_ptr<const BuildPlan> PlanWithDirectory(const std::string& source,
                                                   const std::string& directory) {
  auto request = MakeRequest(source);
  std::get<cccl_cache::NvrtcProgram>(request->program).options.push_back("-I" + directory);
  return MakePlan(std::move(request), {.uid = kAlice});
}

std::string BytesOf(const std::optional<FlightResult>& flight_result) {
  return flight_result ? flight_result->output.artifact->parts.at(0).bytes : "-";
}

TEST_CASE("a hit in a lower tier is copied to the upper tier") {
  Scene scene;
  scene.lower.Put(kKey, MakeArtifact("disk"));
  CHECK_FALSE(scene.cache.FindInMemory(kKey));
  const auto found = scene.cache.Find(kKey, kAlice);
  CHECK(BytesOf(found) == "disk");
  CHECK(found->tier == TierName::kDisk);
  CHECK(found->key == kKey);
  CHECK(found->output.succeeded);
  CHECK_FALSE(found->private_to_user);
  CHECK_FALSE(found->keepable());
  REQUIRE(scene.cache.FindInMemory(kKey));
  CHECK(scene.cache.FindInMemory(kKey)->tier == TierName::kMemory);
}

TEST_CASE("a hit in an upper tier is not copied to the lower one") {
  Scene scene;
  scene.upper.Put(kKey, MakeArtifact("memory"));
  CHECK(BytesOf(scene.cache.Find(kKey, kAlice)) == "memory");
  CHECK(scene.lower.size() == 0);
}

TEST_CASE("a user's own entry comes before shared ones, and no other user sees it") {
  Scene scene;
  scene.upper.Put(kKey, MakeArtifact("shared"));
  REQUIRE(scene.own.Put(kAlice, kKey, MakeArtifact("own"), 1));
  const auto found = scene.cache.Find(kKey, kAlice);
  CHECK(BytesOf(found) == "own");
  CHECK(found->private_to_user);
  CHECK(BytesOf(scene.cache.Find(kKey, kBob)) == "shared");
  CHECK(scene.cache.WhereIs(kKey, kAlice) == TierName::kDisk);
  CHECK(scene.cache.WhereIs(kKey, kBob) == TierName::kMemory);
}

TEST_CASE("FindInMemory finds no shared entry if the user may have an own one on the disk") {
  Scene scene;
  scene.upper.Put(kKey, MakeArtifact("shared"));
  REQUIRE(scene.own.Put(kAlice, kKey, MakeArtifact("own"), 1));
  CHECK_FALSE(scene.cache.FindInMemory(kKey, kAlice));
  CHECK(BytesOf(scene.cache.FindInMemory(kKey, kBob)) == "shared");
}

TEST_CASE("a look-up may wait if a tier may, or if the user has an own entry") {
  MapTier upper(TierName::kMemory);
  EvictionLog eviction_log;
  testing::FakePrivateEntries own;
  BuildCache cache({&upper}, eviction_log, {}, &own);
  const auto plan = Plan("a");
  CHECK_FALSE(cache.MayWait(*plan, kAlice));
  REQUIRE(own.Put(kAlice, plan->key, MakeArtifact("own"), 1));
  CHECK(cache.MayWait(*plan, kAlice));
  CHECK_FALSE(cache.MayWait(*plan, kBob));
  const auto other = Plan("b");
  REQUIRE(own.Put(kAlice, ManifestKey(other->fingerprint), MakeArtifact("own"), 1));
  CHECK(cache.MayWait(*other, kAlice));
  CHECK(Scene().cache.MayWait(*plan, kBob));
}

TEST_CASE("a cache without private entries gives all users the shared ones") {
  MapTier upper(TierName::kMemory);
  EvictionLog eviction_log;
  BuildCache cache({&upper}, eviction_log, {});
  upper.Put(kKey, MakeArtifact("shared"));
  CHECK(BytesOf(cache.Find(kKey, kAlice)) == "shared");
  CHECK(BytesOf(cache.FindInMemory(kKey, kAlice)) == "shared");
  CHECK(cache.WhereIs(kKey, kAlice) == TierName::kMemory);
  CHECK(cache.WhereIs(Sha256("none"), kAlice) == std::nullopt);
}

TEST_CASE("the disk is an artifact's tier only if the entry can be read") {
  Scene scene;
  scene.lower.Put(kKey, nullptr);  // its key exists, but its checksum is wrong
  CHECK(scene.cache.WhereIs(kKey, kAlice) == std::nullopt);
  scene.lower.Put(kKey, MakeArtifact("disk"));
  CHECK(scene.cache.WhereIs(kKey, kAlice) == TierName::kDisk);
}

TEST_CASE("a compiled artifact is stored in all tiers under the key of its closure") {
  Scene scene;
  const auto plan = Plan("a");
  const Manifest nothing;
  FlightResult flight_result = Compiled("closed");
  scene.cache.Keep(*plan, {.uid = kAlice}, flight_result, &nothing);
  CHECK(BytesOf(scene.cache.FindInMemory(plan->key)) == "closed");
  CHECK(scene.lower.Holds(plan->key));
  CHECK(scene.cache.ManifestOf(*plan, kBob).all->closures.empty());
  flight_result = Compiled("of a file");
  flight_result.closure = OneFile();
  scene.cache.Keep(*plan, {.uid = kAlice}, flight_result, &nothing);
  const Digest key = KeyOf(plan->fingerprint, OneFile());
  CHECK(BytesOf(scene.cache.FindInMemory(key)) == "of a file");
  CHECK(scene.lower.Holds(ManifestKey(plan->fingerprint)));
  const auto manifest = scene.cache.SharedManifestInMemory(*plan);
  REQUIRE(manifest != nullptr);
  REQUIRE(manifest->closures.size() == 1);
  CHECK(manifest->closures[0].key == key);
}

TEST_CASE("a result that must not be kept leaves no artifact and no failure") {
  Scene scene;
  const auto plan = Plan("a");
  FlightResult flight_result = GENERATE(0, 1) == 0 ? Compiled() : Failed();
  SECTION("the output may contain the time") { flight_result.uncacheable_reason = "the time"; }
  SECTION("the toolchain changed") { flight_result.toolchain_changed = true; }
  SECTION("the output shows paths") { flight_result.shows_paths = true; }
  SECTION("the compile was cancelled") { flight_result.error = Error{ErrorCode::kCancelled, ""}; }
  SECTION("the artifact is a hit") { flight_result.tier = TierName::kMemory; }
  scene.cache.Keep(*plan, {.uid = kAlice}, flight_result, nullptr);
  CHECK_FALSE(scene.cache.Find(plan->key, kAlice));
  CHECK_FALSE(scene.cache.FailureOf(*plan, kAlice));
}

TEST_CASE("a container user's closures count as others' after a restart") {
  constexpr uid_t kContained = kFirstContainerUser;
  Scene scene;
  FlightResult flight_result = Compiled();
  flight_result.looked_outside = true;
  flight_result.closure = OneFile();
  const auto plan = Plan("a", kContained);
  scene.cache.Keep(*plan, {.uid = kContained}, flight_result, nullptr);
  const auto manifest = scene.cache.SharedManifestInMemory(*plan);
  CHECK(scene.cache.WhoseClosures(*manifest, kContained) == std::vector{ClosureOf::kRequester});
  CHECK(scene.cache.WhoseClosures(*manifest, kAlice) == std::vector{ClosureOf::kOthers});
  BuildCache next_run({&scene.upper, &scene.lower}, scene.eviction_log, {});
  const auto read = next_run.SharedManifestInMemory(*plan);
  REQUIRE(read->closures.size() == 1);
  CHECK(next_run.WhoseClosures(*read, kContained) == std::vector{ClosureOf::kOthers});
}

TEST_CASE("a failure that depends only on the request is remembered for all users") {
  Scene scene;
  const auto plan = Plan("a");
  scene.cache.Keep(*plan, {.uid = kAlice}, Failed("an error"), nullptr);
  REQUIRE(scene.cache.FailureOf(*Plan("a", kBob), kBob));
  CHECK(scene.cache.FailureOf(*plan, kAlice)->output.artifact->log == "an error");
  CHECK(scene.cache.FailureOf(*plan, kAlice)->closure.entries.empty());
  CHECK_FALSE(scene.cache.FailureOf(*Plan("b"), kAlice));
}

TEST_CASE("a failure that depends on files is remembered for its user, with the closure") {
  Scene scene;
  const auto plan = Plan("a");
  FlightResult outside = Failed();
  outside.looked_outside = true;
  outside.closure = OneFile();
  scene.cache.Keep(*plan, {.uid = kAlice}, outside, nullptr);
  REQUIRE(scene.cache.FailureOf(*plan, kAlice));
  CHECK(scene.cache.FailureOf(*plan, kAlice)->closure == OneFile());
  CHECK_FALSE(scene.cache.FailureOf(*plan, kBob));
  scene.cache.Keep(*plan, {.uid = kOverflowUid}, outside, nullptr);
  CHECK_FALSE(scene.cache.FailureOf(*plan, kOverflowUid));
}

TEST_CASE("the closure of a remembered failure counts toward its user's bytes") {
  Scene scene;
  FlightResult outside = Failed();
  outside.looked_outside = true;
  outside.closure.entries.assign(1000, OneFile().entries.front());
  const auto remembered = [&](int program) {
    return scene.cache.FailureOf(*Plan(std::to_string(program)), kAlice) != nullptr;
  };
  for (int i = 0; i < 1000; ++i) {
    scene.cache.Keep(*Plan(std::to_string(i)), {.uid = kAlice}, outside, nullptr);
  }
  CHECK(remembered(999));
  CHECK_FALSE(remembered(0));
}

TEST_CASE("a failure's log and lowered names are charged to the user") {
  Scene scene;
  auto artifact = std::make_shared<Artifact>();
  artifact->lowered_names = {{"f<int>", std::string(16 << 20, 'x')}};
  FlightResult failed = Failed();
  failed.output.artifact = artifact;
  scene.cache.Keep(*Plan("a"), {.uid = kAlice}, failed, nullptr);
  CHECK_FALSE(scene.cache.FailureOf(*Plan("a"), kAlice));
}

TEST_CASE("a failure with a long log is not remembered") {
  Scene scene;
  scene.cache.Keep(*Plan("a"), {.uid = kAlice}, Failed(std::string(64 << 10, 'x')), nullptr);
  CHECK(scene.cache.FailureOf(*Plan("a"), kAlice));
  scene.cache.Keep(*Plan("b"), {.uid = kAlice}, Failed(std::string((64 << 10) + 1, 'x')), nullptr);
  CHECK_FALSE(scene.cache.FailureOf(*Plan("b"), kAlice));
}

TEST_CASE("an input is quarantined only for its user and directories") {
  Scene scene;
  const auto plan = Plan("a");
  FlightResult died;
  died.error = Error{ErrorCode::kWorkerCrashed, "SIGSEGV"};
  died.closure = {{{{0, "x.h"}, FileKind::kAbsent, {}, 0}}};
  scene.cache.Keep(*plan, {.uid = kAlice}, died, nullptr);
  CHECK_FALSE(scene.cache.QuarantineOf(*plan, kAlice));
  died.blames_input = true;
  scene.cache.Keep(*plan, {.uid = kAlice}, died, nullptr);
  REQUIRE(scene.cache.QuarantineOf(*plan, kAlice));
  CHECK(scene.cache.QuarantineOf(*plan, kAlice)->error.message == "SIGSEGV");
  CHECK(scene.cache.QuarantineOf(*plan, kAlice)->closure == died.closure);
  CHECK_FALSE(scene.cache.QuarantineOf(*plan, kBob));
  CHECK_FALSE(scene.cache.QuarantineOf(*Plan("a", kBob), kAlice));
  CHECK_FALSE(scene.cache.QuarantineOf(*Plan("b"), kAlice));
}

TEST_CASE(
    "LooksOutside is true after a compile that read user files, and for a user's -I directory") {
  Scene scene;
  const auto plan = Plan("a");
  CHECK_FALSE(scene.cache.LooksOutside(*plan));
  FlightResult flight_result = Compiled();
  flight_result.looked_outside = true;
  scene.cache.Keep(*plan, {.uid = kAlice}, flight_result, nullptr);
  CHECK(scene.cache.LooksOutside(*plan));
  CHECK_FALSE(scene.cache.LooksOutside(*Plan("b")));
  CHECK(scene.cache.LooksOutside(*PlanWithDirectory("c", "/home/someone/include")));
}

TEST_CASE("the record that a program may show paths holds for its user only") {
  Scene scene;
  FlightResult flight_result;
  flight_result.may_show_paths = true;
  scene.cache.Keep(*Plan("a"), {.uid = kAlice}, flight_result, nullptr);
  CHECK(scene.cache.MayShowPaths(*Plan("a"), kAlice, nullptr));
  CHECK_FALSE(scene.cache.MayShowPaths(*Plan("a"), kBob, nullptr));
  CHECK_FALSE(scene.cache.MayShowPaths(*Plan("b"), kAlice, nullptr));
  scene.cache.Keep(*PlanWithDirectory("a", "/here"), {.uid = kAlice}, flight_result, nullptr);
  CHECK_FALSE(scene.cache.MayShowPaths(*PlanWithDirectory("b", "/here"), kAlice, nullptr));
}

TEST_CASE("a build may show paths if its matching closure does; a link never may") {
  Scene scene;
  const KnownClosure shows{OneFile(), true};
  const KnownClosure does_not{OneFile(), false};
  CHECK(scene.cache.MayShowPaths(*Plan("a"), kAlice, &shows));
  CHECK_FALSE(scene.cache.MayShowPaths(*Plan("a"), kAlice, &does_not));
  auto link = std::make_shared<cccl_cache::BuildRequest>();
  link->program = cccl_cache::LinkProgram{.inputs = {{cccl_cache::LinkInputType::kCubin, "a", "a"}},
                                          .options = {"-arch=sm_90"}};
  CHECK_FALSE(scene.cache.MayShowPaths(*MakePlan(link), kAlice, &shows));
}

TEST_CASE("a build that shows paths is recorded as such, and its artifact is not kept") {
  Scene scene;
  const auto plan = Plan("a");
  FlightResult flight_result = Compiled();
  flight_result.shows_paths = true;
  flight_result.closure = OneFile();
  const Manifest nothing;
  scene.cache.Keep(*plan, {.uid = kAlice}, flight_result, &nothing);
  const auto manifest = scene.cache.SharedManifestInMemory(*plan);
  REQUIRE(manifest != nullptr);
  CHECK(manifest->closures.at(0).shows_paths);
  CHECK_FALSE(scene.cache.Find(KeyOf(plan->fingerprint, OneFile()), kAlice));
}

TEST_CASE("a manifest on the disk that was not read is not overwritten") {
  Scene scene;
  const auto plan = Plan("a");
  FlightResult flight_result = Compiled();
  flight_result.closure = OneFile();
  scene.cache.Keep(*plan, {.uid = kAlice}, flight_result, nullptr);
  CHECK(scene.upper.Holds(ManifestKey(plan->fingerprint)));
  CHECK_FALSE(scene.lower.Holds(ManifestKey(plan->fingerprint)));
}

TEST_CASE("Insert stores an artifact on the disk, for all users") {
  Scene scene;
  const Digest fingerprint = Sha256("fingerprint");
  const auto insert = [&](const Closure& closure) {
    const auto inserted = scene.cache.Insert(fingerprint, closure, MakeArtifact("inserted"));
    REQUIRE(inserted.ok());
    return *inserted;
  };
  CHECK(insert({}) == Inserted::kNow);
  CHECK(insert({}) == Inserted::kBefore);
  CHECK(insert(OneFile()) == Inserted::kNow);
  const Digest key = KeyOf(fingerprint, OneFile());
  CHECK(scene.lower.Holds(key));
  CHECK_FALSE(scene.upper.Holds(key));
  CHECK(BytesOf(scene.cache.Find(key, kBob)) == "inserted");
}

TEST_CASE("Insert adds the closure even if the artifact was already present") {
  Scene scene;
  const auto plan = Plan("a");
  scene.lower.Put(KeyOf(plan->fingerprint, OneFile()), MakeArtifact("before"));
  const auto inserted = scene.cache.Insert(plan->fingerprint, OneFile(), MakeArtifact("inserted"));
  REQUIRE(inserted.ok());
  CHECK(*inserted == Inserted::kBefore);
  CHECK(scene.cache.ManifestOf(*plan, kAlice).all->closures.size() == 1);
}

class FullTier final : public Tier {
 public:
  [[nodiscard]] TierName name() const override { return TierName::kDisk; }
  ArtifactPtr Get(const Digest&) override { return nullptr; }
  bool Holds(const Digest&) override { return false; }
  void Put(const Digest&, ArtifactPtr) override {}
  void Remove(const Digest&) override {}
};

TEST_CASE("Insert returns an error with the remedy if the disk is full") {
  FullTier disk;
  EvictionLog eviction_log;
  BuildCache cache({&disk}, eviction_log, {});
  const auto inserted = cache.Insert(Sha256("fingerprint"), {}, MakeArtifact("inserted"));
  REQUIRE_FALSE(inserted.ok());
  CHECK(inserted.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(inserted.error().message, Contains("insert the file again once it has room"));
}

TEST_CASE("a build that a user inserts is private, and found by its files") {
  Scene scene;
  const auto plan = Plan("a");
  const auto insert = [&] {
    return scene.cache.InsertFor(kAlice, plan->fingerprint, OneFile(), MakeArtifact("own"), 1);
  };
  REQUIRE(insert().ok());
  CHECK(*insert() == Inserted::kBefore);
  const Digest key = KeyOf(plan->fingerprint, OneFile());
  CHECK(BytesOf(scene.cache.Find(key, kAlice)) == "own");
  CHECK_FALSE(scene.cache.Find(key, kBob));
  CHECK(scene.cache.ManifestOf(*plan, kAlice).all->closures.size() == 1);
  CHECK(scene.cache.ManifestOf(*plan, kAlice).shared->closures.empty());
  CHECK(scene.cache.ManifestOf(*plan, kBob).all->closures.empty());
  CHECK(scene.upper.size() + scene.lower.size() == 0);
}

TEST_CASE("ManifestInMemory finds nothing if the user has an own manifest on the disk") {
  Scene scene;
  const auto plan = Plan("a");
  REQUIRE(scene.cache.Insert(plan->fingerprint, OneFile(), MakeArtifact("shared")).ok());
  CHECK(scene.cache.ManifestInMemory(*plan, kAlice).all != nullptr);
  REQUIRE(
      scene.cache.InsertFor(kAlice, plan->fingerprint, OneFile("y"), MakeArtifact("own"), 1).ok());
  CHECK(scene.cache.ManifestInMemory(*plan, kAlice).all == nullptr);
  CHECK(scene.cache.ManifestInMemory(*plan, kBob).all != nullptr);
  CHECK(scene.cache.ManifestOf(*plan, kAlice).all->closures.size() == 2);
}

TEST_CASE("Drop removes an entry from all tiers and logs a shadow check as the cause") {
  Scene scene;
  scene.upper.Put(kKey, MakeArtifact("wrong"));
  scene.lower.Put(kKey, MakeArtifact("wrong"));
  scene.cache.Drop(kKey);
  CHECK_FALSE(scene.cache.Find(kKey, kAlice));
  REQUIRE(scene.eviction_log.Find(kKey));
  CHECK(scene.eviction_log.Find(kKey)->cause == EvictionCause::kShadowCheck);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_cache_test
