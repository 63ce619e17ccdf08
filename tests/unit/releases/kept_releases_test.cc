// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/releases/kept_releases.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/unit/core/fakes.h"

namespace kept_releases_test {

using namespace cccl_cache::daemon;
using cccl_cache::Digest;
using cccl_cache::Sha256;

namespace {

namespace fs = std::filesystem;

constexpr uid_t kAlice = 4001;
constexpr uid_t kBob = 4002;
const std::string kLibrary(1000, 'l');
const std::string kBuiltins(500, 'b');
const std::string kLinker(1200, 'j');

KnownRelease::File FileOf(const std::string& bytes) { return {bytes.size(), Sha256(bytes)}; }

const std::vector<KnownRelease>& Known() {
  static const std::vector<KnownRelease> known = {{"13.0.88", FileOf(kLibrary), FileOf(kBuiltins)},
                                                  {"12.9.86", FileOf(kLinker), std::nullopt}};
  return known;
}

/// After a scan, has a toolchain for each kept release, unless `rejects` is set.
class FoundToolchains final : public Toolchains {
 public:
  explicit FoundToolchains(std::string directory) : directory_(std::move(directory)) {}

  std::optional<Result<ToolchainPtr>> Select(const cccl_cache::ToolchainSelector&, uint32_t,
                                             cccl_cache::BuildKind) override {
    return Error{ErrorCode::kToolchainNotFound, "none"};
  }
  void WhenKnown(const cccl_cache::ToolchainSelector&, uint32_t, cccl_cache::BuildKind,
                 std::function<void()> done) override {
    done();
  }
  bool Looked() override { return true; }
  bool Unchanged(const Toolchain&) override { return true; }
  std::vector<ToolchainPtr> Present() override {
    const std::lock_guard lock(mutex_);
    return present;
  }
  std::vector<RejectedToolchain> Rejected() override {
    if (!rejects) return {};
    return {{directory_ + "/nvjitlink-12.9.86", "it can't be mapped"}};
  }

  void Look() {
    const std::lock_guard lock(mutex_);
    ++looks;
    present.clear();
    for (const KnownRelease& release : Known()) {
      if (rejects || !fs::exists(directory_ + "/" + release.directory())) continue;
      Toolchain toolchain;
      toolchain.id = Sha256(release.version);
      auto& library = release.builtins ? toolchain.nvrtc : toolchain.nvjitlink;
      library =
          CompilerLibrary{.path = {}, .preload = {}, .version = {}, .id = release.component()};
      present.push_back(std::make_shared<const Toolchain>(toolchain));
    }
  }

  std::vector<ToolchainPtr> present;
  bool rejects = false;
  int looks = 0;

 private:
  const std::string directory_;
  std::mutex mutex_;
};

struct Scene {
  explicit Scene(Allowance bytes = {.per_account = 1 << 20, .in_all = 1 << 20}) : limit(bytes) {
    Restart();
  }
  void Restart() {
    releases.reset();
    releases = std::make_unique<KeptReleases>(
        KeptReleases::Options{.directory = directory / "releases",
                              .known = Known(),
                              .bytes = limit,
                              .find_account = [](uid_t) { return std::nullopt; },
                              .look_again =
                                  [this](const std::function<void()>& done) {
                                    if (during_first_look) {
                                      std::exchange(during_first_look, nullptr)();
                                    }
                                    toolchains.Look();
                                    done();
                                  }},
        toolchains);
  }
  auto Receive(uid_t uid, const std::vector<Digest>& files) {
    return releases->Receive(Peer{.uid = uid, .gid = 0, .groups = {}}, files);
  }
  /// Starts to receive a release that the daemon accepts.
  std::unique_ptr<IncomingRelease> Begin(uid_t uid, const std::vector<Digest>& files) {
    auto offer = Receive(uid, files);
    REQUIRE(offer.ok());
    return std::get<std::unique_ptr<IncomingRelease>>(*std::move(offer));
  }
  /// Returns the names in the directory of releases.
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    if (!fs::exists(directory / "releases")) return names;
    for (const auto& each : fs::directory_iterator(directory / "releases")) {
      names.push_back(each.path().filename().string().substr(0, 5));
    }
    return names;
  }

  const Allowance limit;
  TemporaryDirectory directory;
  FoundToolchains toolchains{directory / "releases"};
  std::function<void()> during_first_look;
  std::unique_ptr<KeptReleases> releases;
};

const std::vector<Digest> kNvrtc = {Sha256(kLibrary), Sha256(kBuiltins)};
const std::vector<Digest> kNvjitlink = {Sha256(kLinker)};

std::string Add(Scene& scene, uid_t uid) {
  auto offer = scene.Receive(uid, kNvjitlink);
  if (!offer.ok()) return std::string(Name(offer.error().code));
  if (std::holds_alternative<std::string>(*offer)) return "present";
  auto& incoming = *std::get<std::unique_ptr<IncomingRelease>>(*offer);
  REQUIRE(incoming.Append(kLinker).ok());
  const auto kept = incoming.Finish();
  return kept.ok() ? "added" : kept.error().message;
}

}  // namespace

TEST_CASE("a complete release is kept in files that only the daemon can read") {
  Scene scene;
  const auto incoming = scene.Begin(kAlice, kNvrtc);
  const std::string all = kLibrary + kBuiltins;
  for (size_t at = 0; at < all.size(); at += 300) {
    CHECK_FALSE(incoming->Complete());
    REQUIRE(incoming->Append(std::string_view(all).substr(at, 300)).ok());
  }
  CHECK(incoming->Complete());
  CHECK(scene.toolchains.looks == 0);
  const auto kept = incoming->Finish();
  REQUIRE(kept.ok());
  CHECK(*kept == Sha256("13.0.88").Hex());

  struct stat status {};
  const std::string library = scene.directory / "releases/nvrtc-13.0.88/libnvrtc.so.13.0.88";
  REQUIRE(stat(library.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0400);
  CHECK(static_cast<size_t>(status.st_size) == kLibrary.size());
}

TEST_CASE("a release that is present already is not received") {
  Scene scene;
  CHECK(Add(scene, kAlice) == "added");
  CHECK(Add(scene, kBob) == "present");
  scene.Restart();
  CHECK(Add(scene, kBob) == "present");
}

TEST_CASE("only a known release's files are accepted") {
  Scene scene;
  for (const auto& files :
       {std::vector{Sha256("mine")}, std::vector{Sha256(kLibrary)},
        std::vector{Sha256(kBuiltins), Sha256(kLibrary)}, std::vector<Digest>{}}) {
    const auto offer = scene.Receive(kAlice, files);
    REQUIRE_FALSE(offer.ok());
    CHECK(offer.error().code == ErrorCode::kToolchainNotFound);
  }
  CHECK(scene.Names().empty());
}

TEST_CASE("a release with a wrong digest leaves nothing behind") {
  Scene scene;
  std::string other = kLinker;
  other[700] ^= 1;
  {
    const auto incoming = scene.Begin(kAlice, kNvjitlink);
    const Status appended = incoming->Append(other);
    REQUIRE_FALSE(appended.ok());
    CHECK(appended.error().code == ErrorCode::kInvalidRequest);
    CHECK_FALSE(incoming->Complete());
  }
  CHECK(scene.Names().empty());
}

TEST_CASE("bytes after the end of the last file are refused") {
  Scene scene;
  const auto incoming = scene.Begin(kAlice, kNvjitlink);
  CHECK(incoming->Append(kLinker + "x").error().code == ErrorCode::kInvalidRequest);
}

TEST_CASE("an incomplete release leaves nothing behind, even if the daemon dies") {
  Scene scene;
  {
    const auto incoming = scene.Begin(kAlice, kNvjitlink);
    REQUIRE(incoming->Append(kLinker.substr(0, 100)).ok());
    CHECK(scene.Names() == std::vector<std::string>{"draft"});
  }
  CHECK(scene.Names().empty());
  fs::create_directory(scene.directory / "releases/draft.former");
  scene.Restart();
  CHECK(scene.Names().empty());
}

TEST_CASE("a damaged release is replaced") {
  Scene scene;
  CHECK(Add(scene, kAlice) == "added");
  const std::string library =
      scene.directory / "releases/nvjitlink-12.9.86/libnvJitLink.so.12.9.86";
  fs::remove(library);
  std::ofstream(library) << "torn";
  scene.toolchains.present.clear();
  CHECK(Add(scene, kBob) == "added");
  CHECK(fs::file_size(library) == kLinker.size());
}

TEST_CASE("simultaneous uploads are bounded per user and in total; one is reserved for root") {
  Scene scene;
  std::vector<std::unique_ptr<IncomingRelease>> incoming;
  for (uid_t uid = kAlice; uid < kAlice + KeptReleases::kIncoming.in_all - 1; ++uid) {
    incoming.push_back(scene.Begin(uid, kNvjitlink));
    CHECK(Add(scene, uid) == "overloaded");
  }
  CHECK(Add(scene, kAlice - 1) == "overloaded");
  CHECK(scene.Receive(0, kNvrtc).ok());
  incoming.pop_back();
  CHECK(Add(scene, kAlice - 1) == "added");
}

TEST_CASE("a release that several users add at once is kept once, for all") {
  Scene scene;
  std::vector<std::unique_ptr<IncomingRelease>> incoming;
  for (uid_t uid = kAlice; uid < kAlice + 3; ++uid) {
    incoming.push_back(scene.Begin(uid, kNvjitlink));
    REQUIRE(incoming.back()->Append(kLinker).ok());
  }
  std::vector<std::string> told(incoming.size());
  std::vector<std::thread> others;
  std::latch begun(2);
  scene.during_first_look = [&] {  // the scan for the first release
    for (size_t i = 1; i < incoming.size(); ++i) {
      others.emplace_back([&, i] {
        begun.count_down();
        const auto kept = incoming[i]->Finish();
        told[i] = kept.ok() ? *kept : kept.error().message;
      });
    }
    begun.wait();
  };
  const auto kept = incoming[0]->Finish();
  told[0] = kept.ok() ? *kept : kept.error().message;
  for (std::thread& other : others) other.join();
  CHECK(told == std::vector<std::string>(3, Sha256("12.9.86").Hex()));
  CHECK(scene.toolchains.looks == 1);
}

TEST_CASE("a user's releases stay within the user's limit, also after a restart") {
  Scene scene({.per_account = 2000, .in_all = 1 << 20});
  CHECK(Add(scene, kAlice) == "added");
  CHECK(scene.Receive(kAlice, kNvrtc).error().code == ErrorCode::kOverloaded);
  scene.Restart();
  const auto refused = scene.Receive(kAlice, kNvrtc);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().message.find("release_limit") != std::string::npos);
  CHECK(scene.Receive(kBob, kNvrtc).ok());
}

TEST_CASE("the releases of all users, including incomplete ones, stay within the total limit") {
  Scene scene({.per_account = 1 << 20, .in_all = 2700});
  const auto incoming = scene.Begin(kAlice, kNvjitlink);
  CHECK(scene.Receive(kBob, kNvrtc).error().code == ErrorCode::kOverloaded);
  CHECK(scene.Receive(0, kNvrtc).ok());  // a part is reserved for root
}

TEST_CASE("containers' releases take at most half of the total limit") {
  Scene scene({.per_account = 1 << 20, .in_all = 5000});
  const uid_t container = cccl_cache::kFirstContainerUser + 1;
  CHECK(Add(scene, container) == "added");
  CHECK(scene.Receive(container + 1, kNvrtc).error().code == ErrorCode::kOverloaded);
  CHECK(scene.Receive(kAlice, kNvrtc).ok());
}

TEST_CASE("all containers share one user's limit, also after a restart") {
  Scene scene({.per_account = 2000, .in_all = 1 << 20});
  const uid_t container = cccl_cache::kFirstContainerUser + 1;
  CHECK(Add(scene, container) == "added");
  for (int run = 0; run < 2; ++run) {
    CHECK(scene.Receive(container + 1, kNvrtc).error().code == ErrorCode::kOverloaded);
    scene.Restart();
  }
  CHECK(scene.Receive(kAlice, kNvrtc).ok());
}

TEST_CASE("a release is refused if the limit is 0 or the overflow uid sends it") {
  Scene none({.per_account = 1 << 20, .in_all = 0});
  CHECK(Add(none, kAlice) == "denied");
  Scene scene;
  CHECK(Add(scene, kOverflowUid) == "denied");
}

TEST_CASE("the sender gets the reason why a release can't be used") {
  Scene scene;
  scene.toolchains.rejects = true;
  CHECK(Add(scene, kAlice).find("it can't be mapped") != std::string::npos);
}

}  // namespace kept_releases_test
