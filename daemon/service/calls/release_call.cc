// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/release_call.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cccl_cache/v1/admin.pb.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

/// A release has libnvrtc and its builtins, or libnvJitLink.
constexpr int kMaxFiles = 2;

Result<std::vector<Digest>> FilesOf(const v1::AddReleaseRequest& request) {
  if (request.sha256_size() == 0 || request.sha256_size() > kMaxFiles) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("sha256: {} digests in the first message; one for each file of the "
                             "library, and it has one or two",
                             request.sha256_size())};
  }
  std::vector<Digest> files;
  for (const std::string& each : request.sha256()) {
    const std::optional<Digest> digest = Digest::FromBytes(each);
    if (!digest) return Error{ErrorCode::kInvalidRequest, "sha256: a digest has 32 bytes"};
    files.push_back(*digest);
  }
  return files;
}

}  // namespace

Status AddRelease(BlockingCall& call, Releases& releases) {
  v1::AddReleaseRequest request;
  if (Status read = call.Read(request); !read) return read;
  const Result<std::vector<Digest>> files = FilesOf(request);
  if (!files) return files.error();
  Result<Releases::Offer> offer = releases.Receive(call.peer(), *files);
  if (!offer) return offer.error();
  v1::AddReleaseReply reply;
  if (const auto* present = std::get_if<std::string>(&*offer)) {
    reply.set_toolchain(*present);
    return call.Write(reply);
  }
  auto& incoming = *std::get<std::unique_ptr<IncomingRelease>>(*offer);
  if (request.only_ask()) {
    reply.set_version(std::string(incoming.version()));
    return call.Write(reply);
  }
  while (true) {
    if (Status appended = incoming.Append(request.data()); !appended) return appended;
    if (incoming.Complete()) break;
    if (Status read = call.Read(request); !read) return read;
  }
  const Result<std::string> kept = incoming.Finish();
  if (!kept) return kept.error();
  reply.set_toolchain(*kept);
  reply.set_added(true);
  return call.Write(reply);
}

}  // namespace cccl_cache::daemon
