// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/sandbox/isolation.h"
#include "daemon/worker/sandbox/sandbox.h"

namespace cccl_cache::daemon {

/// The things that a worker inherits from its zygote.
struct WorkerSetup {
  const CompilerLibraries& libraries;
  const std::vector<std::string>& trusted_directories;
  const Sandbox& sandbox;
  IsolationLimits limits;
  bool may_lack_sandbox = false;
  PchUse pch_use = PchUse::kNone;
  int job = -1;    ///< sealed memfd
  int reply = -1;  ///< stream socket
  int files = -1;  ///< packet socket for questions about files; -1: there are none
  int pch = -1;    ///< memfd; -1: there is none
  int null_device = -1;
};

/// Runs a worker in the forked child: isolation, sandbox, one job, one reply, exit.
[[noreturn]] void RunWorker(const WorkerSetup& setup);

/// Makes the library reserve the memory for precompiled headers. All processes forked from this one
/// then have it at the same address, so that each can read a header that another one has written.
/// Reserves address space only. If the library can't do this, jobs that write a precompiled header
/// fail, and all others work.
void ReservePchHeap(const NvrtcLibrary& nvrtc);

}  // namespace cccl_cache::daemon
