// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cccl_cache/v1/admin.pb-c.h>
#include <cccl_cache/v1/info.pb-c.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "cccl_cache/expected.h"
#include "client/src/build_reply.h"
#include "client/src/build_request.h"
#include "client/src/channel.h"

namespace cccl_cache {

/// A build's answer with the time that it took, from the call to here.
struct TimedReply {
  BuildReply reply;
  std::chrono::microseconds total;
  std::string why_local{};  ///< if the daemon did not do it
};

/// Frees what protobuf-c unpacked.
struct MessageDeleter {
  void operator()(CcclCache__V1__ExplainReply* reply) const;
  void operator()(CcclCache__V1__StatsReply* reply) const;
  void operator()(CcclCache__V1__ToolchainsReply* reply) const;
  void operator()(CcclCache__V1__InfoReply* reply) const;
};
template <typename T>
using MessagePtr = std::unique_ptr<T, MessageDeleter>;

/// The calls of the contract as functions. Thread-safe.
class DaemonStub {
 public:
  /// As Channel takes it.
  explicit DaemonStub(Expected<std::string> socket) : channel_(std::move(socket)) {}

  /// Where the daemon can't open the files of this process, it is sent them as it asks for them.
  /// Sends ahead what makes the request too large for one message, and fetches in chunks what is
  /// too large for the answer. How large a message may be is learned from the daemon that refuses
  /// one.
  Expected<TimedReply> Build(BuildRequest* request, Deadline deadline);

  /// Why a build is a miss, without building; large contents are sent ahead as for a build.
  Expected<MessagePtr<CcclCache__V1__ExplainReply>> Explain(BuildRequest* request,
                                                            Deadline deadline);
  /// Why the build that was answered with this key was one.
  Expected<MessagePtr<CcclCache__V1__ExplainReply>> ExplainKey(std::string_view key,
                                                               Deadline deadline);

  Expected<MessagePtr<CcclCache__V1__StatsReply>> Stats(Deadline deadline);
  Expected<MessagePtr<CcclCache__V1__ToolchainsReply>> Toolchains(uint32_t driver_version,
                                                                  Deadline deadline);
  Expected<MessagePtr<CcclCache__V1__InfoReply>> Info(Deadline deadline);
  /// Whether the daemon says that it serves.
  Expected<bool> Health(Deadline deadline);

  /// For calls that go on: see DepositCalls.
  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const std::string& socket() const { return channel_.socket(); }

 private:
  Expected<BuildReply> BuildOnce(BuildRequest* request, Deadline deadline);
  Expected<BuildReply> BuildByPath(const BuildRequest& request, Deadline deadline);
  Expected<BuildReply> BuildWithFiles(const BuildRequest& request, Deadline deadline);
  /// Asks for the daemon's limit. True: it is lower than was thought.
  bool LearnLimit(Deadline deadline);
  Expected<Message> ExplainOnce(BuildRequest* request, Deadline deadline);
  /// `around`: what is sent besides the request itself.
  Expected<Done> SendAhead(BuildRequest* request, size_t around, Deadline deadline);
  Expected<std::string> Upload(std::string_view contents, Deadline deadline);
  Expected<BuildReply> BuildInChunks(const ByteChain& body, Deadline deadline);
  Expected<Message> Unary(std::string_view path, const ByteChain& body, Deadline deadline);

  Channel channel_;
  /// What the daemon takes in one message; the default until it is known to be less.
  std::atomic<size_t> message_limit_{size_t{16} << 20};
  /// The daemon could not open this client's files once: it will ask for them.
  std::atomic<bool> elsewhere_{false};
};

}  // namespace cccl_cache
