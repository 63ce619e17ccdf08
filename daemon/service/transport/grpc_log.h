// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

namespace cccl_cache::daemon {

/// While it exists, errors that gRPC and protobuf would write to standard error go to `report`, on
/// their callers' threads. Each is printable, one line, and cut to a bounded length, because it can
/// hold bytes that a client sent. A client can cause any number of them. Messages below errors are
/// dropped, and after the destructor all messages are. Must be made before gRPC starts. Only one
/// may exist, because each of the two has one log.
class GrpcLog {
 public:
  explicit GrpcLog(std::function<void(std::string_view)> report);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
};

}  // namespace cccl_cache::daemon
