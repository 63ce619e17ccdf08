// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/service/calls/build_call.h"
#include "tests/unit/core/fake_deposits.h"
#include "tests/unit/service/byte_buffers.h"
#include "tests/unit/service/fakes.h"

namespace cccl_cache::daemon {
namespace {

constexpr uid_t kUser = 1000;

/// What the readers below see of the budget while they read.
uint64_t counted_while_reading = 0;
Budget* watched = nullptr;

struct Scene {
  explicit Scene(ServiceLimits given) : limits(std::move(given)) { watched = &budget; }

  Result<CountedRequest> Read(std::string_view bytes, BuildReader reader) {
    message = BufferOf(bytes);
    return ReadCounted(backend, Peer{.uid = kUser}, message, reader);
  }

  const ServiceLimits limits;
  FakeBuilder builder;
  Statistics statistics;
  Budget budget{limits};
  ReadGate gate{{8, 8}};
  Uploads uploads{limits.upload_kept};
  FakeDepositStore store;
  Deposits deposits{{}, {store, statistics}};
  DepositReaders readers{budget};
  BuildBackend backend{limits, builder, statistics, budget,  gate,
                       gate,   uploads, deposits,   readers, nullptr};
  grpc::ByteBuffer message;
};

Result<ConvertedRequest> Ten(ProtoReader&, const ServiceLimits&, const FindUpload&) {
  counted_while_reading = watched->Used(Resource::kBytes);
  ConvertedRequest converted;
  converted.bytes = 10;
  return converted;
}

Result<ConvertedRequest> Nothing(ProtoReader&, const ServiceLimits&, const FindUpload&) {
  return Error{ErrorCode::kInvalidRequest, "nothing"};
}

Result<ConvertedRequest> Find(ProtoReader&, const ServiceLimits&, const FindUpload& find_upload) {
  ConvertedRequest converted;
  converted.bytes = find_upload(cccl_cache::Sha256("mine")) != nullptr ? 1 : 2;
  return converted;
}

TEST_CASE("a message counts while it is read, then what was made of it") {
  Scene scene({.message_bytes = 100});
  auto counted = scene.Read("a message", Ten);
  REQUIRE(counted.ok());
  CHECK(counted_while_reading == 9);
  CHECK(scene.budget.Used(Resource::kBytes) == 10);
  CHECK(scene.message.Length() == 0);
  counted->bytes.Release();
  CHECK(scene.budget.Used(Resource::kBytes) == 0);
}

TEST_CASE("a message that is no request counts no longer") {
  Scene scene({.message_bytes = 100});
  const auto counted = scene.Read("a message", Nothing);
  REQUIRE_FALSE(counted.ok());
  CHECK(counted.error().message == "nothing");
  CHECK(scene.budget.Used(Resource::kBytes) == 0);
}

TEST_CASE("a message beyond the limit is not read") {
  Scene scene({.message_bytes = 8});
  counted_while_reading = 0;
  const auto counted = scene.Read("a message", Ten);
  REQUIRE_FALSE(counted.ok());
  CHECK(counted.error().code == ErrorCode::kInvalidRequest);
  CHECK(counted_while_reading == 0);
}

TEST_CASE("a user whose bytes are used up is told so before and after the reading") {
  Scene before({.message_bytes = 100, .bytes_in_flight_per_uid = 8});
  CHECK(before.Read("a message", Ten).error().code == ErrorCode::kOverloaded);
  Scene after({.message_bytes = 100, .bytes_in_flight_per_uid = 9});
  CHECK(after.Read("a message", Ten).error().code == ErrorCode::kOverloaded);
  CHECK(after.budget.Used(Resource::kBytes) == 0);
}

TEST_CASE("uploads are looked for among the user's own") {
  Scene scene({.message_bytes = 100});
  scene.uploads.Keep(kUser + 1, cccl_cache::Sha256("mine"), "mine", Share());
  CHECK(scene.Read("", Find)->converted.bytes == 2);
  scene.uploads.Keep(kUser, cccl_cache::Sha256("mine"), "mine", Share());
  CHECK(scene.Read("", Find)->converted.bytes == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon
