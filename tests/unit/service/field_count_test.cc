// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/field_count.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <catch2/catch.hpp>
#include <string>

#include "cccl_cache/v1/build.pb.h"

namespace cccl_cached {
namespace {

Status Check(const std::string& bytes, const ServiceLimits& limits = {}) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 100);
  return CheckFieldCounts(stream, limits);
}

TEST_CASE("a request within the limits passes") {
  cccl_cache::v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes("source");
  for (int i = 0; i < 10'000; ++i) request.mutable_nvrtc()->add_headers()->set_name("h");
  for (int i = 0; i < 4096; ++i) request.mutable_nvrtc()->add_options("-DX");
  CHECK(Check(request.SerializeAsString()).ok());
  CHECK(Check("").ok());
}

TEST_CASE("100,000 headers are refused by the name of the field and the limit") {
  cccl_cache::v1::BuildRequest request;
  for (int i = 0; i < 100'000; ++i) request.mutable_nvrtc()->add_headers();
  const auto status = Check(request.SerializeAsString());
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kInvalidRequest);
  CHECK(status.error().message == "nvrtc.headers: 100000 entries, at most 10000 are allowed");
}

TEST_CASE("lists that are split over several messages of one field count together") {
  cccl_cache::v1::BuildRequest request;
  for (int i = 0; i < 6'000; ++i) request.mutable_nvrtc()->add_headers();
  const std::string half = request.SerializeAsString();
  CHECK(Check(half).ok());
  CHECK_FALSE(Check(half + half).ok());
}

TEST_CASE("inputs, modules, options, expressions and variables have limits too") {
  ServiceLimits limits;
  limits.options = 3;
  auto refused = [&](auto&& add) {
    cccl_cache::v1::BuildRequest request;
    for (int i = 0; i < 4; ++i) add(request);
    return !Check(request.SerializeAsString(), limits).ok();
  };
  CHECK(refused([](auto& request) { request.mutable_nvrtc()->add_options(); }));
  CHECK(refused([](auto& request) { request.mutable_nvrtc()->add_name_expressions(); }));
  CHECK(refused([](auto& request) { request.mutable_nvrtc()->add_environment(); }));
  CHECK(refused([](auto& request) { request.mutable_link()->add_inputs(); }));
  CHECK(refused([](auto& request) { request.mutable_link()->add_options(); }));
  CHECK(refused([](auto& request) { request.mutable_nvvm()->add_modules(); }));
  CHECK(refused([](auto& request) { request.mutable_nvvm()->add_options(); }));
}

TEST_CASE("bytes that are no message are refused") {
  CHECK_FALSE(Check("this is not protobuf").ok());
  CHECK_FALSE(Check(std::string("\x0a\xff\xff\xff\xff\x0f", 6)).ok());  // longer than what is there
  CHECK_FALSE(Check(std::string("\x0a\x05\x0a", 3)).ok());              // cut off
  CHECK_FALSE(Check(std::string(3000, '\x50') + std::string(3000, '\x01')).ok());
}

}  // namespace
}  // namespace cccl_cached
