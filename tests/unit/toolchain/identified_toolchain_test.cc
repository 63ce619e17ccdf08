// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <thread>

#include "daemon/toolchain/finder.h"
#include "daemon/toolchain/scanner.h"
#include "daemon/toolchain/survey.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

namespace identified_toolchain_test {

using namespace cccl_cache::daemon;
using Verdict = IdentifiedToolchain::Verdict;

namespace {

constexpr std::chrono::seconds kPatience{60};

/// Returns a toolchain for which `differ` tells whether its files have changed.
std::shared_ptr<IdentifiedToolchain> ComparedBy(std::function<bool()> differ) {
  return std::make_shared<IdentifiedToolchain>(
      IdentifiedToolchain::Parts{.toolchain = std::make_shared<const Toolchain>(),
                                 .watch = std::make_unique<InstallationWatch>(),
                                 .differ = std::move(differ)});
}

/// Files whose comparison ends when the test decides. Waiting tasks share ownership of the state.
class SlowFiles {
 public:
  [[nodiscard]] std::shared_ptr<IdentifiedToolchain> Comparison() const {
    return ComparedBy([state = state_] {
      if (state->looks++ == 0) state->begun.set_value();
      return state->answer.get();
    });
  }
  void AwaitLook() { REQUIRE(begun_.wait_for(kPatience) == std::future_status::ready); }
  void Answer(bool differ) { answer_.set_value(differ); }
  [[nodiscard]] int looks() const { return state_->looks; }

 private:
  struct State {
    std::promise<void> begun;
    std::shared_future<bool> answer;
    std::atomic<int> looks{0};
  };
  std::promise<bool> answer_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::future<void> begun_ =
      (state_->answer = answer_.get_future().share(), state_->begun.get_future());
};

BlockingPool::Bounds OneThread(std::chrono::milliseconds look_time) {
  return {
      .threads_per_uid = 1, .waiting_per_uid = 2, .time = 2 * look_time, .look_time = look_time};
}

/// A callback that the test can wait for.
class Call {
 public:
  [[nodiscard]] std::function<void()> Function() {
    return [promise = promise_] { promise->set_value(); };
  }
  bool Came() { return future_.wait_for(kPatience) == std::future_status::ready; }
  bool CameAlready() {
    return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

 private:
  std::shared_ptr<std::promise<void>> promise_ = std::make_shared<std::promise<void>>();
  std::future<void> future_ = promise_->get_future();
};

}  // namespace

TEST_CASE("the known result about hanging files is returned at once") {
  SlowFiles files;
  BlockingPool threads(OneThread(kPatience));
  const auto comparison = files.Comparison();
  Call done;
  comparison->Look(threads, done.Function());
  files.AwaitLook();
  CHECK(comparison->Known(threads) == Verdict::kSame);  // the result of the creation
  CHECK_FALSE(done.CameAlready());
  files.Answer(true);
  REQUIRE(done.Came());
  CHECK(comparison->Known(threads) == Verdict::kChanged);
}

TEST_CASE("files that don't answer in time count as hung until they answer") {
  SlowFiles files;
  BlockingPool threads(OneThread(std::chrono::milliseconds(20)));
  const auto comparison = files.Comparison();
  Call late;
  comparison->Look(threads, late.Function());
  files.AwaitLook();
  REQUIRE(late.Came());
  CHECK(comparison->Known(threads) == Verdict::kHangs);

  SECTION("other toolchains are not delayed") {
    const auto other = ComparedBy([] { return false; });
    BlockingPool patient(OneThread(kPatience));
    Call done;
    other->Look(patient, done.Function());
    REQUIRE(done.Came());
    CHECK(other->Known(patient) == Verdict::kSame);
  }
  SECTION("a second caller is answered at once, without a second comparison") {
    Call again;
    comparison->Look(threads, again.Function());
    REQUIRE(again.Came());
    CHECK(files.looks() == 1);
  }
  files.Answer(false);
  while (comparison->Known(threads) == Verdict::kHangs) std::this_thread::yield();
  CHECK(comparison->Known(threads) == Verdict::kSame);
}

TEST_CASE("a call during a comparison waits for the next comparison") {
  SlowFiles files;
  BlockingPool threads(OneThread(kPatience));
  const auto comparison = files.Comparison();
  std::atomic<int> looks{0};
  const auto counted = ComparedBy([&, first = comparison] {
    if (looks++ == 0) first->StampsDiffer();
    return false;
  });
  Call first;
  Call second;
  Call third;
  counted->Look(threads, first.Function());
  files.AwaitLook();
  counted->Look(threads, second.Function());
  counted->Look(threads, third.Function());
  CHECK_FALSE(second.CameAlready());
  files.Answer(false);
  REQUIRE((first.Came() && second.Came() && third.Came()));
  CHECK(looks == 2);  // the second and the third call shared one comparison
}

TEST_CASE("the stamps of a toolchain are compared if inotify does not cover it") {
  Node node;
  FoundInstallations found = FindInstallations(Roots({node.tree.Path("cuda")}));
  REQUIRE(found.installations.size() == 1);
  auto watch = std::make_unique<InstallationWatch>();
  watch->OnListing("/nonexistent");  // as if fs.inotify.max_user_watches were used up
  REQUIRE_FALSE(watch->complete());
  Result<Survey> survey = TakeSurvey(found.installations.front(), geteuid(), nullptr);
  REQUIRE(survey.ok());
  const auto differ = [installation = found.installations.front(), stamps = survey->stamps] {
    return TakeSurvey(installation, geteuid(), nullptr)->stamps != stamps;
  };
  const auto toolchain = std::make_shared<IdentifiedToolchain>(
      IdentifiedToolchain::Parts{.toolchain = std::make_shared<const Toolchain>(),
                                 .installation = found.installations.front(),
                                 .watch = std::move(watch),
                                 .changes_are_reported = true,
                                 .differ = differ});
  BlockingPool threads(OneThread(kPatience));
  CHECK_FALSE(toolchain->watched());
  CHECK(toolchain->Known(threads) == Verdict::kSame);
  node.tree.Write("cuda/include/cuda_runtime.h", "CHANGED");
  Call looked;
  toolchain->Look(threads, looked.Function());
  REQUIRE(looked.Came());
  CHECK(toolchain->Known(threads) == Verdict::kChanged);
}

}  // namespace identified_toolchain_test
