// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/core/run/flight_runner.h"
#include "daemon/core/run/idle_jobs.h"

namespace cccl_cache::daemon {

/// Compiles a sample of the hits again, when nobody waits for a compile, and compares the bytes. An
/// entry that differs was wrong, or its compiler is not deterministic: it is dropped, counted and
/// reported with both digests. Thread-safe.
class ShadowChecks {
 public:
  struct Parts {
    BuildMemory& memory;
    FlightRunner& runner;
    IdleJobs& idle_jobs;
    Statistics& statistics;
    std::function<void(std::string_view)> report;  ///< may be empty
  };

  /// One hit of `every` is checked; 0: none. The parts must outlive the jobs that run.
  ShadowChecks(Parts parts, uint64_t every) : parts_(std::move(parts)), every_(every) {}

  /// A hit that is being answered.
  struct Hit {
    std::shared_ptr<const BuildPlan> plan;
    const Peer& peer;  ///< to whom
    const Landing& landing;
    const Closure& closure;  ///< that it was made of
    bool files_were_sent;    ///< by the peer: they are taken to be what they were
  };
  void Consider(const Hit& hit);

 private:
  /// A hit once it has been answered.
  struct Sample {
    std::shared_ptr<const BuildPlan> plan;
    Peer peer;
    Landing landing;
    AnsweredFilesPtr answered;
    bool files_were_sent;
  };
  void Check(const Sample& sample, std::stop_token stop);

  const Parts parts_;
  const uint64_t every_;
  std::atomic<uint64_t> hits_{0};
};

}  // namespace cccl_cache::daemon
