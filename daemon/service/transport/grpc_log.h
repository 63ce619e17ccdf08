// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace cccl_cache::daemon {

/// While an object exists, the errors of gRPC and protobuf go to `report` instead of standard
/// error, on the threads of their callers. Each error is printable, one line, and limited in
/// length, because it can contain a client's bytes. A client can cause any number of errors.
/// Messages of lower severity are dropped; after the destructor all messages are. Must be made
/// before gRPC starts. Only one may exist, because gRPC and protobuf have one log each.
class GrpcLog {
 public:
  explicit GrpcLog(std::function<void(std::string_view)> report);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
};

}  // namespace cccl_cache::daemon
