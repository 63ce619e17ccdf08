// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/compilers/nvrtc.h"
#include "daemon/worker/sandbox/isolation.h"
#include "daemon/worker/sandbox/sandbox.h"

namespace cccl_cache::daemon {

/// What a worker inherits from its zygote.
struct WorkerSetup {
  const CompilerLibraries& libraries;
  const std::vector<std::string>& trusted_directories;
  const Sandbox& sandbox;
  IsolationLimits limits;
  bool may_lack_sandbox = false;
  PchUse pch_use = PchUse::kNone;
  int job = -1;    ///< sealed memfd
  int reply = -1;  ///< stream socket
  int files = -1;  ///< packet socket: answers questions about files; -1: there are none
  int pch = -1;    ///< memfd; -1: there is none
  int null_device = -1;
};

/// The life of a worker, in the forked child: isolation, sandbox, one job, one reply, the end.
[[noreturn]] void RunWorker(const WorkerSetup& setup);

/// Makes the library reserve the memory into which it parses precompiled headers, so that all
/// processes forked from this one have it at the same address: what one of them has parsed, the
/// others can use. Nothing is touched but address space. Where the library can't, each job that is
/// to write a precompiled header fails, and nobody depends on it.
void ReservePchHeap(const NvrtcLibrary& nvrtc);

}  // namespace cccl_cache::daemon
