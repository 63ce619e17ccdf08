// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/grpc_log.h"

#include <google/protobuf/wrappers.pb.h>
#include <grpc/support/log.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace cccl_cache::daemon::grpc_log_test {
namespace {

TEST_CASE("errors of gRPC are logged, lesser messages are not") {
  std::vector<std::string> told;
  const GrpcLog log([&told](std::string_view text) { told.emplace_back(text); });
  gpr_log("src/core/parser.cc", 12, GPR_LOG_SEVERITY_ERROR, "a field is %s", "invalid");
  gpr_log("src/core/parser.cc", 13, GPR_LOG_SEVERITY_INFO, "something happened");
  CHECK(told == std::vector<std::string>{"parser.cc:12 a field is invalid"});
}

TEST_CASE("errors of protobuf are logged too") {
  std::vector<std::string> told;
  const GrpcLog log([&told](std::string_view text) { told.emplace_back(text); });
  google::protobuf::StringValue message;
  CHECK_FALSE(message.ParseFromString("\x0a\x01\xff"));
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("invalid UTF-8") != std::string::npos);
}

TEST_CASE("a client's text in gRPC's log becomes one short printable line") {
  std::string told;
  const GrpcLog log([&told](std::string_view text) { told = text; });
  gpr_log("a.cc", 1, GPR_LOG_SEVERITY_ERROR, "value=x\n2026 warning\x1b[31m\x9b\x7f");
  CHECK(told == "a.cc:1 value=x?2026 warning?[31m??");
  gpr_log("a.cc", 1, GPR_LOG_SEVERITY_ERROR, "%s", std::string(1 << 20, 'a').c_str());
  CHECK(told.size() < 400);
}

TEST_CASE("nothing is logged after the log has ended") {
  int told = 0;
  {
    const GrpcLog log([&told](std::string_view) { ++told; });
  }
  gpr_log("a.cc", 1, GPR_LOG_SEVERITY_ERROR, "late");
  CHECK(told == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::grpc_log_test
