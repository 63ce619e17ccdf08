// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/start_advice.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace start_advice_test {

using cccl_cache::kStartOwn;
using cccl_cache::MachineHasDaemon;
using cccl_cache::StartAdvice;
using cccl_cache::daemon::TemporaryDirectory;
using std::filesystem::create_directories;

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a machine without the daemon's unit is advised only to start a daemon of one's own") {
  const TemporaryDirectory root;
  CHECK(StartAdvice(root.path()) == kStartOwn);
  create_directories(root / "run/systemd/system");
  CHECK(StartAdvice(root.path()) == kStartOwn);
}

TEST_CASE("systemctl is advised only where systemd runs and has the daemon's unit") {
  const TemporaryDirectory root;
  create_directories(root / "usr/lib/systemd/system/cccl-cached.socket");
  CHECK(StartAdvice(root.path()) == kStartOwn);
  create_directories(root / "run/systemd/system");
  CHECK(Has(StartAdvice(root.path()), "systemctl start cccl-cached.socket"));
  CHECK(Has(StartAdvice(root.path()), kStartOwn));
}

TEST_CASE("no daemon of one's own is advised in place of the machine's, which has ended") {
  const TemporaryDirectory root;
  CHECK_FALSE(MachineHasDaemon(root.path()));
  create_directories(root / "run/cccl-cached/socket");
  CHECK(MachineHasDaemon(root.path()));
  CHECK(Has(StartAdvice(root.path()), "systemctl start cccl-cached.socket"));
  CHECK_FALSE(Has(StartAdvice(root.path()), kStartOwn));
}

}  // namespace start_advice_test
