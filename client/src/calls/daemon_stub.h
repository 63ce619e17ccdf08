// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cccl_cache/v1/admin.pb-c.h>
#include <cccl_cache/v1/info.pb-c.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/channel.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/build_request.h"

namespace cccl_cache {

/// A build's answer with the time that it took, from the call to here.
struct TimedReply {
  std::shared_ptr<const BuildReply> reply;
  std::chrono::microseconds total;
  std::string why_local{};   ///< if the daemon did not do it
  bool from_memory = false;  ///< it lay in this process: what it says of how it was made is past
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
  Expected<TimedReply> Build(RequestMessage* request, Deadline deadline);

  /// Why a build is a miss, without building; large contents are sent ahead as for a build.
  Expected<MessagePtr<CcclCache__V1__ExplainReply>> Explain(RequestMessage* request,
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

  // For who makes calls by itself (DaemonBuilds).
  static constexpr const char* kInfoPath = "/cccl_cache.v1.Info/Get";
  static constexpr const char* kUploadPath = "/cccl_cache.v1.Build/Upload";
  static constexpr const char* kWithFilesPath = "/cccl_cache.v1.Build/BuildWithFiles";
  static constexpr const char* kInChunksPath = "/cccl_cache.v1.Build/BuildInChunks";
  static constexpr const char* kManyPath = "/cccl_cache.v1.Build/BuildMany";
  /// Whether the request, with `around` bytes besides, may go as one message.
  [[nodiscard]] bool Fits(const RequestMessage& request, size_t around) const;
  /// What has to be sent ahead next, before the request may; none: nothing, or nothing would help.
  [[nodiscard]] std::optional<RequestMessage::BlobUse> NextToSendAhead(RequestMessage* request,
                                                                       size_t around) const;
  /// What is said to send it ahead, and the digest that is answered.
  void AppendUpload(std::string_view contents, ByteChain* body) const;
  [[nodiscard]] static Expected<std::string> ReadUpload(const Message& message);
  /// What Info says of how large a message may be. True: it is less than was thought.
  bool NoteLimit(const Message& info);
  /// The daemon could not open this client's files once: it is to ask for them.
  [[nodiscard]] bool elsewhere() const { return elsewhere_; }
  void NoteElsewhere() { elsewhere_ = true; }

  /// For calls that go on: see DaemonBuilds and DepositCalls.
  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] const std::string& socket() const { return channel_.socket(); }

 private:
  /// Sends ahead what makes the request, with `around` bytes besides, too large for one message.
  Expected<Done> SendAhead(RequestMessage* request, size_t around, Deadline deadline);
  /// Asks for the daemon's limit for one message. True: it is lower than was thought.
  bool LearnLimit(Deadline deadline);
  Expected<BuildReply> BuildOnce(RequestMessage* request, Deadline deadline);
  Expected<BuildReply> BuildByPath(const RequestMessage& request, Deadline deadline);
  Expected<BuildReply> BuildWithFiles(const RequestMessage& request, Deadline deadline);
  Expected<Message> ExplainOnce(RequestMessage* request, Deadline deadline);
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
