// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Prints the name of each test case to standard error before it runs: the reports of sanitizers,
// crashes and hangs do not name the case.
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
