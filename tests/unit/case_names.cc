// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Names each test case on standard error before it runs: a sanitizer's report, a crash and a hang
// do not say which of the cases of a process they come from.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
#include <cstdio>

namespace {

struct CaseNames final : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    std::fprintf(stderr, "case: %s\n", info.name.c_str());
  }
};

CATCH_REGISTER_LISTENER(CaseNames)

}  // namespace
