// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace cccl_cache::daemon {

/// While it exists, errors that gRPC would write to standard error go to `report`, from gRPC's
/// threads: printable, one line each, cut to a bounded length. They can hold bytes that a client
/// sent, and a client can cause any number of them. gRPC's lesser messages are dropped, and all of
/// them afterwards. To be made before gRPC starts; one at a time, since gRPC has one log.
class GrpcLog {
 public:
  explicit GrpcLog(std::function<void(std::string_view)> report);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
};

}  // namespace cccl_cache::daemon
