// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "cli/doctor/check.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/said.h"

namespace doctor_machine_test {

namespace {

using namespace cccl_cache::cli;

Patient WithToolchains(std::vector<Toolchain> toolchains, uint32_t driver_version = 0) {
  Patient patient{.driver_version = driver_version};
  patient.daemon = DaemonAnswers{.toolchains = ToolchainList{std::move(toolchains), {}}};
  return patient;
}

}  // namespace

TEST_CASE("a compiler's file with a future time is a warning about the clock") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string file = directory.Write("libnvrtc.so.13", "");
  const Patient patient = WithToolchains(
      {{.version = "13.0", .components = {{.path = directory / "missing"}, {.path = file}}}});
  const time_t now = std::time(nullptr);
  CHECK(CheckClock(patient, now).verdict == CheckVerdict::kPass);
  const timespec times[] = {{now + 1000, 0}, {now + 1000, 0}};
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  const Check check = CheckClock(patient, now);
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.seen, file));
  CHECK(Has(check.way_out, "touch"));
  CHECK(CheckClock(Patient(), now).verdict == CheckVerdict::kPass);
}

TEST_CASE("if this program has a future time, doctor does not advise to touch it") {
  const Check check = CheckClock(Patient(), 1000);
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.seen, "this program"));
  CHECK_FALSE(Has(check.seen, "/proc"));
  CHECK(Has(check.way_out, "set the clock"));
  CHECK_FALSE(Has(check.way_out, "touch"));
}

TEST_CASE("a low limit of open files is a warning that shows the daemon's limits") {
  CHECK(CheckLimits(Patient(), 32).verdict == CheckVerdict::kWarning);
  CHECK(CheckLimits(Patient(), 1024).verdict == CheckVerdict::kPass);
  CHECK(CheckLimits(Patient(), 0).verdict == CheckVerdict::kPass);
  Patient patient;
  patient.daemon = DaemonAnswers{
      .info = {.limits = {{"worker_bytes", uint64_t{4} << 30}, {"build_seconds", 120}}}};
  CHECK(Has(CheckLimits(patient, 1024).seen, "4.0 GiB, 2 m 0 s"));
}

TEST_CASE("a kernel without seccomp is a warning, one without Landlock is not") {
  CHECK(CheckKernel({.landlock = 4, .seccomp = true}).verdict == CheckVerdict::kPass);
  CHECK(CheckKernel({.landlock = 0, .seccomp = true}).verdict == CheckVerdict::kPass);
  CHECK(CheckKernel({.landlock = 4, .seccomp = false}).verdict == CheckVerdict::kWarning);
}

TEST_CASE("a driver that can't load cubins of the toolchain chosen for it is a warning") {
  std::vector<Toolchain> listed = {{.version = "13.1", .selected_by_default = true}};
  CHECK(CheckDriver(WithToolchains(listed, 13000)).verdict == CheckVerdict::kPass);
  Check check = CheckDriver(WithToolchains(listed, 12040));
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.seen, "12.4"));
  CHECK_FALSE(Has(check.way_out, "--toolchain"));
  listed.push_back({.version = "11.8"});  // not chosen: it has no NVRTC
  check = CheckDriver(WithToolchains(listed, 12040));
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.way_out, "--toolchain 11"));
}

TEST_CASE("a newer toolchain beside the one chosen for the driver is no warning") {
  const std::vector<Toolchain> both = {{.version = "13.1"},
                                       {.version = "12.9", .selected_by_default = true}};
  const Check check = CheckDriver(WithToolchains(both, 12040));
  CHECK(check.verdict == CheckVerdict::kPass);
  CHECK(Has(check.seen, "12.9"));
}

TEST_CASE("without a driver or a toolchain the driver's check passes") {
  CHECK(CheckDriver(WithToolchains({{.version = "13.0"}})).verdict == CheckVerdict::kPass);
  CHECK(CheckDriver(WithToolchains({}, 12040)).verdict == CheckVerdict::kPass);
  CHECK(CheckDriver(Patient{.driver_version = 12040}).verdict == CheckVerdict::kPass);
}

TEST_CASE("stand-ins that are not installed are a warning") {
  const Check check = CheckRun();  // this program has no stand-ins beside it
  CHECK(check.verdict == CheckVerdict::kWarning);
  CHECK(Has(check.seen, "libcccl_cache_audit.so"));
}

}  // namespace doctor_machine_test
