// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <catch2/catch.hpp>

namespace cccl_cache::daemon {

/// Limits a resource of this process until it is destroyed.
class ResourceBound {
 public:
  ResourceBound(decltype(RLIMIT_NOFILE) resource, rlim_t most) : resource_(resource) {
    REQUIRE(getrlimit(resource_, &before_) == 0);
    const rlimit bound{most, before_.rlim_max};
    REQUIRE(setrlimit(resource_, &bound) == 0);
  }
  ~ResourceBound() { setrlimit(resource_, &before_); }
  ResourceBound(const ResourceBound&) = delete;
  ResourceBound& operator=(const ResourceBound&) = delete;

 private:
  const decltype(RLIMIT_NOFILE) resource_;
  rlimit before_{};
};

}  // namespace cccl_cache::daemon
