// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/daemons_rights.h"

#include <grpcpp/client_context.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "cccl_cache/v1/info.grpc.pb.h"
#include "daemon/service/limits/daemons_rights.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon {
namespace {

std::string Link() {
  std::array<char, 128> link;
  const std::string path = "/proc/self/fd/" + std::to_string(kRightsDescriptor);
  const ssize_t size = readlink(path.c_str(), link.data(), link.size());
  return size < 0 ? "" : std::string(link.data(), static_cast<size_t>(size));
}

Result<BuildAnswer> AnswerWithReach(const cccl_cache::BuildRequest&, const Peer& peer) {
  return MakeAnswer(peer.reach == FileReach::kDaemons ? "the daemon's" : "everybody's");
}

/// The reach of a build with this secret in its head; empty: with none.
std::string ReachOf(cccl_cache::v1::Build::Stub& stub, const std::string& secret) {
  grpc::ClientContext context;
  if (!secret.empty()) context.AddMetadata(std::string(kRightsField), secret);
  cccl_cache::v1::BuildReply reply;
  REQUIRE(stub.Build(&context, SmallRequest(), &reply).ok());
  return reply.artifacts(0).contents();
}

TEST_CASE("the daemon's rights are proven by its secret alone") {
  std::string secret;
  {
    const DaemonsRights rights;
    secret = RightsIn(Link());
    CHECK(rights.AreProvenBy(secret));
    CHECK_FALSE(rights.AreProvenBy(""));
    CHECK_FALSE(rights.AreProvenBy(std::string(64, '0')));
    // The number of its descriptor is taken.
    CHECK_FALSE(DaemonsRights().AreProvenBy(secret));
    CHECK_FALSE(DaemonsRights().AreProvenBy(""));
  }
  CHECK(Link().empty());
  CHECK_FALSE(DaemonsRights().AreProvenBy(secret));
}

TEST_CASE("the first call of a connection proves its rights, for that connection") {
  RunningServer running;
  running.builder.AnswerWith(AnswerWithReach);
  const std::string secret(RightsIn(Link()));
  const auto proven = running.BuildStub();
  const auto other = running.BuildStub();
  CHECK(ReachOf(*proven, secret) == "the daemon's");
  CHECK(ReachOf(*other, "") == "everybody's");
  CHECK(ReachOf(*proven, "") == "the daemon's");
  CHECK(ReachOf(*other, secret) == "everybody's");
}

TEST_CASE("the first call proves the rights of a connection whatever its method") {
  RunningServer running;
  running.builder.AnswerWith(AnswerWithReach);
  const auto channel = running.Connect();
  grpc::ClientContext context;
  context.AddMetadata(std::string(kRightsField), std::string(RightsIn(Link())));
  cccl_cache::v1::InfoReply reply;
  REQUIRE(cccl_cache::v1::Info::NewStub(channel)->Get(&context, {}, &reply).ok());
  CHECK(ReachOf(*cccl_cache::v1::Build::NewStub(channel), "") == "the daemon's");
}

TEST_CASE("a client sends no text of a link but a secret") {
  const std::string secret(64, 'a');
  CHECK(RightsIn("/memfd:cccl-cached:" + secret + " (deleted)") == secret);
  CHECK(RightsIn("/memfd:cccl-cached:" + secret.substr(1) + " (deleted)").empty());
  CHECK(RightsIn("/memfd:other:" + secret).empty());
  CHECK(RightsIn("/home/user/" + secret).empty());
  CHECK(RightsIn("socket:[4711]").empty());
  CHECK(RightsIn("").empty());
}

}  // namespace
}  // namespace cccl_cache::daemon
