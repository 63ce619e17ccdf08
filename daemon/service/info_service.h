// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cccl_cache/v1/info.grpc.pb.h"

namespace cccl_cached {

/// cccl_cache.v1.Info: the same answer to everybody. Thread-safe.
class InfoService final : public cccl_cache::v1::Info::CallbackService {
 public:
  /// The reply must outlive the service.
  explicit InfoService(const cccl_cache::v1::InfoReply& reply) : reply_(reply) {}

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const cccl_cache::v1::InfoRequest* request,
                                cccl_cache::v1::InfoReply* reply) override;

 private:
  const cccl_cache::v1::InfoReply& reply_;
};

}  // namespace cccl_cached
