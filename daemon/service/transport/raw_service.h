// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// Makes the call of one method, which deletes itself when it is done. Thread-safe.
using MakeCall = std::function<void(CallStream&)>;
/// By "/package.Service/Method".
using MethodTable = std::unordered_map<std::string, MakeCall>;

/// What a service of the daemon consists of. All methods are served as streams of bytes, whatever
/// their .proto says of their shape, which the wire does not show: gRPC calls a unary handler only
/// when the whole message is in memory, and no bound of ours would see it before.
class RawService {
 public:
  void AddTo(MethodTable& methods) const { methods.insert(methods_.begin(), methods_.end()); }

 protected:
  ~RawService() = default;

  /// `method`: "/package.Service/Method".
  void Serve(const char* method, MakeCall make_call) {
    methods_.emplace(method, std::move(make_call));
  }

 private:
  MethodTable methods_;
};

}  // namespace cccl_cache::daemon
