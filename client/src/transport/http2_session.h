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

/// HTTP/2 as gRPC uses it, for one call at a time, without any I/O: bytes that were received go in,
/// bytes to be sent come out. The only user of libnghttp2. Not thread-safe, does not move.
class Http2Session {
 public:
  Http2Session();
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// False: out of memory. Then no other function may be called.
  [[nodiscard]] bool ok() const { return session_ != nullptr; }

  /// Sends this in the head of the next call; empty: nothing (proto/daemons_rights.h).
  void Prove(std::string rights) { rights_ = std::move(rights); }
  /// Starts a call. Its reply goes to `call` until Forget.
  void Start(Call* call);
  void Forget();
  /// Queues an HTTP/2 PING.
  void Ping();
  /// Resumes the call: its body, sent so far, has more bytes.
  void Resume();

  /// False: the other end violates HTTP/2.
  [[nodiscard]] bool Receive(std::string_view bytes);
  /// Appends the bytes that can be sent now to `output`, which then refers to the body of the call.
  void Send(ByteChain* output);

  /// Returns whether the server's first frames arrived: it accepted the connection.
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
