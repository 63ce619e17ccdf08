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

/// The HTTP/2 protocol for one gRPC call at a time. It performs no I/O: the caller passes received
/// bytes to Receive, and sends the bytes that Send returns. Only this class uses libnghttp2. Not
/// thread-safe. It can't be moved.
class Http2Session {
 public:
  Http2Session();
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Returns false if there was no memory for the session. No other function may be called then.
  [[nodiscard]] bool ok() const { return session_ != nullptr; }

  /// Adds the daemon's secret (proto/daemons_rights.h) to the headers of the next call. Empty: adds
  /// nothing.
  void Prove(std::string rights) { rights_ = std::move(rights); }
  /// Starts a call. The reply is passed to `call` until Forget is called.
  void Start(Call* call);
  void Forget();
  /// Queues an HTTP/2 PING.
  void Ping();
  /// Continues to send the body, to which the call has added bytes.
  void Resume();

  /// Processes received bytes. Returns false if they violate HTTP/2.
  [[nodiscard]] bool Receive(std::string_view bytes);
  /// Appends the bytes that can be sent now to `output`. They may refer to the body of the call.
  void Send(ByteChain* output);

  /// Returns whether the server has sent its SETTINGS. If so, it has accepted the connection.
  [[nodiscard]] bool established() const { return established_; }
  /// Returns whether the server accepts no more calls.
  [[nodiscard]] bool going_away() const { return going_away_; }
  /// Returns whether the connection has ended: neither side will send any more bytes.
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
