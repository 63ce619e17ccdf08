// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// A call of a method other than Build's, up to its one small request: counted like a build, and
/// received in its turn. Deletes itself when the call is done.
class SmallCall : public RawCall, private GatedReader {
 public:
  /// Once, when it is constructed as a whole.
  void Begin();

  void OnReadDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  SmallCall(BuildBackend& backend, Account account, CallStream& stream)
      : RawCall(stream), backend_(backend), account_(account) {}

  /// The request is here: answer it, or Fail.
  virtual void OnRequest(grpc::ByteBuffer& request) = 0;
  /// The caller leaves; perhaps before OnRequest, which may still come.
  virtual void OnLeft() {}

  /// Ends the call.
  void Fail(const Error& error);
  /// Counts the bytes of a reply until the call is done.
  [[nodiscard]] Status CountReply(uint64_t bytes);

 private:
  void StartReading() final;
  void GiveUp() final { context().TryCancel(); }

  BuildBackend& backend_;
  const Account account_;
  Share call_;
  Share bytes_;
  grpc::ByteBuffer request_;
};

}  // namespace cccl_cache::daemon
