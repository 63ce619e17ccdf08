// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"

struct nghttp2_session;

namespace cccl_cache {

/// HTTP/2 as gRPC uses it, for one call at a time, without I/O: the caller passes received bytes in
/// and takes bytes to send out. The only user of libnghttp2. Not thread-safe, does not move.
class Http2Session {
 public:
  Http2Session();
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Returns false if memory ran out. No other function may be called then.
  [[nodiscard]] bool ok() const { return session_ != nullptr; }

  /// Sends `rights` in the headers of the next call, unless it is empty (proto/daemons_rights.h).
  void Prove(std::string rights) { rights_ = std::move(rights); }
  /// Starts a call. Its reply goes to `call` until Forget.
  void Start(Call* call);
  void Forget();
  /// Queues an HTTP/2 PING.
  void Ping();
  /// Resumes the call, whose body has more bytes now.
  void Resume();

  /// Returns false if the other end violates HTTP/2.
  [[nodiscard]] bool Receive(std::string_view bytes);
  /// Appends the bytes that can be sent now to `output`, which then refers to the call's body.
  void Send(ByteChain* output);

  /// Returns whether the server's first frames have arrived, so that it has accepted the
  /// connection.
  [[nodiscard]] bool established() const { return established_; }
  /// Returns whether the server takes no more calls.
  [[nodiscard]] bool going_away() const { return going_away_; }
  /// Returns whether neither side will send more.
  [[nodiscard]] bool over() const;

 private:
  struct Callbacks;
  struct Deleter {
    void operator()(nghttp2_session* session) const;
  };

  std::unique_ptr<nghttp2_session, Deleter> session_;
  Call* call_ = nullptr;
  ByteChain* output_ = nullptr;
  std::string rights_;
  bool established_ = false;
  bool going_away_ = false;
};

}  // namespace cccl_cache
