// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace cccl_cache::daemon {

/// While an object exists, errors of gRPC and protobuf are passed to `report` instead of standard
/// error. `report` is called on the thread that logs, for any number of errors, because clients can
/// cause them. An error's text is one printable line of limited length, because it may contain
/// bytes of a client. Messages of lower severity are dropped, and after the destructor all messages
/// are. Must be made before gRPC starts. Only one object may exist, because gRPC and protobuf have
/// one log each.
class GrpcLog {
 public:
  explicit GrpcLog(std::function<void(std::string_view)> report);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
};

}  // namespace cccl_cache::daemon
