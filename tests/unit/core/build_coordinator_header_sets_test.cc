// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "daemon/core/coordinator/coordinator.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_header_sets_test {
namespace {

using testing::CoordinatorBench;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;

/// Returns a set with one header that has this text.
std::shared_ptr<const HeaderSet> SetOf(const std::string& text) {
  std::string bytes;
  EncodedHeaderSet({{"a.h", text}}).ForEachPiece([&](std::string_view piece, bool) {
    bytes.append(piece);
  });
  HeaderSet set{.digest = Sha256(bytes), .bytes = std::make_shared<const std::string>(bytes)};
  set.headers = *ReadHeaderSet(*set.bytes, 1);
  return std::make_shared<const HeaderSet>(set);
}

std::shared_ptr<cccl_cache::BuildRequest> Request(const std::string& source,
                                                  std::shared_ptr<const HeaderSet> set) {
  auto request = MakeRequest(source);
  std::get<cccl_cache::NvrtcProgram>(request->program).header_set = std::move(set);
  return request;
}

std::shared_ptr<const HeaderSet> DigestOf(const HeaderSet& set) {
  return std::make_shared<const HeaderSet>(HeaderSet{.digest = set.digest});
}

TEST_CASE("a build that names an unknown header set needs its contents") {
  CoordinatorBench bench(SourceAsOutput);
  const auto set = SetOf("int a;");
  const auto answer = bench.Ask(Request("a", DigestOf(*set)));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kUploadNeeded);
  CHECK(answer.error().message.find(set->digest.Hex()) != std::string::npos);
}

TEST_CASE("a hit needs only the digest of a header set, a miss needs its contents") {
  CoordinatorBench bench(SourceAsOutput);
  const auto set = SetOf("int a;");
  REQUIRE(bench.Ask(Request("a", set)).ok());
  CHECK(bench.Ask(Request("a", DigestOf(*set)))->outcome == Outcome::kHit);
  const auto other = bench.Ask(Request("b", DigestOf(*set)));
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().code == ErrorCode::kUploadNeeded);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("a user that names the digest of another user's header set gets nothing made with it") {
  CoordinatorBench bench(SourceAsOutput);
  const auto set = SetOf("int a;");
  REQUIRE(bench.Ask(Request("a", set), kAlice).ok());
  const auto answer = bench.Ask(Request("a", DigestOf(*set)), kBob);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kUploadNeeded);
  CHECK(bench.Ask(Request("a", set), kBob)->outcome == Outcome::kHit);
}

TEST_CASE("a header set with the time or a zero byte counts as if its headers were inline") {
  CoordinatorBench bench(SourceAsOutput);
  CHECK(bench.Ask(Request("a", SetOf("__TIME__")))->outcome == Outcome::kUncacheable);
  const auto answer = bench.Ask(Request("a", SetOf(std::string("a\0b", 3))));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kInvalidRequest);
  CHECK(answer.error().message.find("a.h") != std::string::npos);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_header_sets_test
