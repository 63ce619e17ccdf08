// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "cccl_cache/client.h"
#include "tests/support/fake_driver/fake_driver.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

/// Loads the fake driver, so that "libcuda.so.1" refers to it. Returns it in its initial state.
inline FakeDriver& Fake() {
  const char* named = std::getenv("CCCL_CACHE_FAKE_DRIVER");
  void* library = dlopen(named != nullptr ? named : CCCL_CACHE_FAKE_DRIVER, RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto get = reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_driver"));
  REQUIRE(get != nullptr);
  FakeDriver& fake = *get();
  fake = FakeDriver();
  return fake;
}

inline cccl_cache::BuildResult Built(const v1::BuildReply& reply) {
  const cccl_cache::daemon::TemporaryDirectory directory;
  StandInAnswers answers;
  answers.build = [&](auto*, const auto&, v1::BuildReply* answer) {
    *answer = reply;
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  return *cccl_cache::Client::Open(daemon.socket())->Build(cccl_cache::NvrtcBuild{.source = "x"});
}
