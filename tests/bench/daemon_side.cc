// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/daemon_side.h"

#include <cccl_cache/client.h>

#include <cstdio>
#include <utility>

namespace cccl_cache::daemon {
namespace {

class DaemonSide final : public Side {
 public:
  DaemonSide(const char* name, cccl_cache::Client client)
      : name_(name), client_(std::move(client)) {
    options_.wanted = {cccl_cache::Kind::kCubin};
    build_.options = {"-arch=sm_90"};
  }

  [[nodiscard]] const char* name() const override { return name_; }

  bool Ask(const Question& question) override {
    build_.source = question.source;
    build_.name = "kernel.cu";
    const auto result = client_.Build(build_, options_);
    if (!result) {
      std::fprintf(stderr, "daemon: %s\n", result.error().message.c_str());
      return false;
    }
    return result->artifact(cccl_cache::Kind::kCubin).size() == question.size;
  }

 private:
  const char* const name_;
  cccl_cache::Client client_;
  cccl_cache::NvrtcBuild build_;
  cccl_cache::BuildOptions options_;
};

}  // namespace

std::unique_ptr<Side> OpenDaemonSide(const char* name, const std::string& socket) {
  auto client = cccl_cache::Client::Open({.socket = socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
  if (client) return std::make_unique<DaemonSide>(name, std::move(client).value());
  std::fprintf(stderr, "daemon: %s\n", client.error().message.c_str());
  return nullptr;
}

}  // namespace cccl_cache::daemon
