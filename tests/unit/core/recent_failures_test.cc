// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/recent_failures.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace cccl_cache::daemon::recent_failures_test {
namespace {

Peer User(uid_t uid, bool administrator = false) {
  Peer peer;
  peer.uid = uid;
  peer.administrator = administrator;
  return peer;
}

void Add(RecentFailures& failures, uid_t uid, const Result<BuildAnswer>& answer,
         bool leads = true) {
  failures.Add({User(uid), BuildKind::kNvrtc, std::chrono::microseconds(1), answer, leads});
}

BuildAnswer DoesNotCompile(const std::string& log) {
  BuildAnswer answer;
  answer.outcome = Outcome::kFailed;
  answer.key = Sha256("key");
  answer.log = log;
  answer.reason = "the compiler answered NO";
  return answer;
}

TEST_CASE("a build that does not compile is listed with the first error line") {
  RecentFailures failures;
  Add(failures, 7, DoesNotCompile("k.cu(1): warning: w\nk.cu(2): error: e\nmore"));
  Add(failures, 7, DoesNotCompile("no word\nof it"));
  Add(failures, 7, DoesNotCompile(""));
  const auto taken = failures.Take(User(7));
  REQUIRE(taken.size() == 3);
  CHECK(taken[2].text == "k.cu(2): error: e");
  CHECK(taken[2].key == Sha256("key"));
  CHECK(taken[1].text == "no word");
  CHECK(taken[0].text == "the compiler answered NO");
}

TEST_CASE("a line with error: is preferred to a line with only the word error") {
  RecentFailures failures;
  Add(failures, 7, DoesNotCompile("k.cu(1): warning: error_code is unused\nk.cu(2): error: e"));
  CHECK(failures.Take(User(7)).at(0).text == "k.cu(2): error: e");
}

TEST_CASE("the line with the undefined name is preferred to the errors above it") {
  RecentFailures failures;
  Add(failures, 7,
      DoesNotCompile("k.cu(1): error: __global__ does not apply here\n"
                     "k.cu(1): error: identifier \"flaot\" is undefined\nmore"));
  CHECK(failures.Take(User(7)).at(0).text == "k.cu(1): error: identifier \"flaot\" is undefined");
}

TEST_CASE("an error that the client handles is no failure") {
  RecentFailures failures;
  for (const ErrorCode code :
       {ErrorCode::kFilesNeeded, ErrorCode::kUploadNeeded, ErrorCode::kNotCached,
        ErrorCode::kOverloaded, ErrorCode::kCancelled}) {
    Add(failures, 7, Error{code, "e"});
  }
  Add(failures, 7, Error{ErrorCode::kTimedOut, "e"});
  const auto taken = failures.Take(User(7));
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].cause == "timed-out");
}

TEST_CASE("a failed compile is listed once for each user that waited for it") {
  RecentFailures failures;
  Add(failures, 7, DoesNotCompile("error: e"));
  Add(failures, 7, DoesNotCompile("error: another"));
  for (const uid_t uid : {7, 8, 7, 8}) {
    Add(failures, uid, DoesNotCompile("error: e"), /*leads=*/false);
  }
  const auto taken = failures.Take(User(7));
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].text == "error: e");
  CHECK(failures.Take(User(8)).size() == 1);

  for (int i = 0; i < 2; ++i) Add(failures, 9, Error{ErrorCode::kTimedOut, "of two compiles"});
  CHECK(failures.Take(User(9)).size() == 2);
}

TEST_CASE("a success or a remembered failure is not listed") {
  RecentFailures failures;
  BuildAnswer answer = DoesNotCompile("error");
  answer.remembered = true;
  Add(failures, 7, answer);
  Add(failures, 7, BuildAnswer{});
  CHECK(failures.Take(User(7)).empty());
}

TEST_CASE("a user sees no other user's failures, and an administrator only their cause") {
  RecentFailures failures;
  Add(failures, 7, DoesNotCompile("error: secret"));
  CHECK(failures.Take(User(8)).empty());
  const auto taken = failures.Take(User(8, /*administrator=*/true));
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].uid == 7);
  CHECK(taken[0].cause == "the compiler answered NO");
  CHECK(taken[0].text.empty());
}

TEST_CASE("the overflow uid sees no failures") {
  RecentFailures failures;
  Add(failures, kOverflowUid, DoesNotCompile("error: secret"));
  CHECK(failures.Take(User(kOverflowUid)).empty());
  const auto taken = failures.Take(User(kOverflowUid, /*administrator=*/true));
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].text.empty());
}

TEST_CASE("many recent failures of one user evict none of another user") {
  RecentFailures failures;
  Add(failures, 8, DoesNotCompile("error: first"));
  for (int i = 0; i < 100; ++i) {
    Add(failures, 7, DoesNotCompile("error: " + std::to_string(i) + std::string(5000, 'x')));
  }
  CHECK(failures.Take(User(8)).size() == 1);
  const auto taken = failures.Take(User(7));
  REQUIRE(taken.size() == RecentFailures::kMax);
  CHECK(taken[0].text.starts_with("error: 99x"));
  CHECK(taken[0].text.size() < 300);
}

}  // namespace
}  // namespace cccl_cache::daemon::recent_failures_test
