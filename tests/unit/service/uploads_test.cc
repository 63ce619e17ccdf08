// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/uploads.h"

#include <catch2/catch.hpp>

namespace cccl_cache::daemon::uploads_test {
namespace {

using Clock = Uploads::Clock;

TEST_CASE("only the sender's uid sees an upload") {
  Budget budget(ServiceLimits{});
  Uploads uploads(std::chrono::seconds(600));
  const auto digest = cccl_cache::Sha256("bytes");
  uploads.Keep(1, digest, "bytes", Share());
  REQUIRE(uploads.Find(1, digest) != nullptr);
  CHECK(*uploads.Find(1, digest) == "bytes");
  CHECK(uploads.Find(2, digest) == nullptr);
}

TEST_CASE("an upload expires, and Forget releases its bytes") {
  Budget budget(ServiceLimits{});
  Uploads uploads(std::chrono::seconds(600));
  const auto digest = cccl_cache::Sha256("bytes");
  const auto now = Clock::now();
  auto share = budget.Take(Account(1), Resource::kUploadBytes, 5);
  REQUIRE(share.ok());
  uploads.Keep(1, digest, "bytes", std::move(*share), now);
  CHECK(uploads.Find(1, digest, now + std::chrono::seconds(600)) == nullptr);
  uploads.Forget(now + std::chrono::seconds(600));
  CHECK(budget.Used(Resource::kUploadBytes) == 0);
}

TEST_CASE("a repeated upload counts once, and its lifetime starts again") {
  Budget budget(ServiceLimits{});
  Uploads uploads(std::chrono::seconds(600));
  const auto digest = cccl_cache::Sha256("bytes");
  const auto now = Clock::now();
  for (int i = 0; i < 2; ++i) {
    auto share = budget.Take(Account(1), Resource::kUploadBytes, 5);
    REQUIRE(share.ok());
    uploads.Keep(1, digest, "bytes", std::move(*share), now + std::chrono::seconds(i * 100));
  }
  CHECK(budget.Used(Resource::kUploadBytes) == 5);
  CHECK(uploads.Find(1, digest, now + std::chrono::seconds(650)) != nullptr);
}

TEST_CASE("a use of an upload starts its lifetime again") {
  Uploads uploads(std::chrono::seconds(600));
  const auto digest = cccl_cache::Sha256("bytes");
  const auto now = Clock::now();
  uploads.Keep(1, digest, "bytes", Share(), now);
  CHECK(uploads.Find(1, digest, now + std::chrono::seconds(599)) != nullptr);
  CHECK(uploads.Find(1, digest, now + std::chrono::seconds(1198)) != nullptr);
  CHECK(uploads.Find(1, digest, now + std::chrono::seconds(1798)) == nullptr);
}

TEST_CASE("the bytes of an upload count until its last holder releases it") {
  Budget budget(ServiceLimits{});
  Uploads uploads(std::chrono::seconds(600));
  const auto digest = cccl_cache::Sha256("bytes");
  auto share = budget.Take(Account(1), Resource::kUploadBytes, 5);
  REQUIRE(share.ok());
  uploads.Keep(1, digest, "bytes", std::move(*share));
  auto held = uploads.Find(1, digest);
  uploads.Drop(1, digest);
  CHECK(budget.Used(Resource::kUploadBytes) == 5);
  held.reset();
  CHECK(budget.Used(Resource::kUploadBytes) == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::uploads_test
