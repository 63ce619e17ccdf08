// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Property: a worker decodes the values of a random request unchanged and in their order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "daemon/compile/protocol/job.h"
#include "tests/support/random_requests.h"

namespace cccl_cache::daemon::job_property_test {
namespace {

using cccl_cache::LinkProgram;
using cccl_cache::NvrtcProgram;
using cccl_cache::NvvmProgram;

void Compare(const WorkerJob& job, const NvrtcProgram& program) {
  REQUIRE(job.source == program.source);
  REQUIRE(std::ranges::equal(job.name_expressions, program.name_expressions));
  REQUIRE(std::ranges::equal(job.headers, program.headers, [](const auto& got, const auto& sent) {
    return got.name == sent.name && got.contents == sent.contents;
  }));
}

void Compare(const WorkerJob& job, const LinkProgram& program) {
  REQUIRE(std::ranges::equal(job.inputs, program.inputs, [](const auto& got, const auto& sent) {
    return got.type == sent.type && got.name == sent.name && got.contents == sent.contents;
  }));
}

void Compare(const WorkerJob& job, const NvvmProgram& program) {
  REQUIRE(job.add_libdevice == program.add_libdevice);
  REQUIRE(std::ranges::equal(job.modules, program.modules, [](const auto& got, const auto& sent) {
    return got.lazy == sent.lazy && got.name == sent.name && got.contents == sent.contents;
  }));
}

TEST_CASE("property: any request decodes unchanged in a worker") {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    const auto request =
        std::make_shared<cccl_cache::BuildRequest>(testing::RandomRequests(seed).Next());
    CompileJob sent;
    sent.request = request;
    sent.program_name = "/cccl-root-0/program.cu";
    sent.visible_working_directory = "/cccl-work";
    std::visit([&](const auto& program) { sent.options = program.options; }, request->program);
    const std::string bytes = EncodeJob(sent).Joined();
    const Result<WorkerJob> job = DecodeJob(bytes);
    REQUIRE(job);
    REQUIRE(job->kind == request->kind());
    REQUIRE(std::ranges::equal(job->options, sent.options));
    REQUIRE(job->visible_working_directory == sent.visible_working_directory);
    std::visit([&](const auto& program) { Compare(*job, program); }, request->program);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::job_property_test
