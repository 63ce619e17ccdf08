// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/files/bundled_headers.h"
#include "daemon/worker/sandbox/isolation.h"
#include "daemon/worker/sandbox/sandbox.h"

namespace cccl_cache::daemon {

/// The objects and descriptors that a worker gets from its zygote.
struct WorkerSetup {
  const CompilerLibraries& libraries;
  const std::vector<std::string>& trusted_directories;
  const Sandbox& sandbox;
  IsolationLimits limits;
  bool may_lack_sandbox = false;
  PchUse pch_use = PchUse::kNone;
  int job = -1;    ///< sealed memfd with the job
  int reply = -1;  ///< stream socket for the reply
  int files = -1;  ///< packet socket for questions about files; -1: the job asks none
  int pch = -1;    ///< memfd of the precompiled header; -1: the job has none
  int null_device = -1;
  const BundledHeaders* bundled_headers = nullptr;  ///< null: the job reads none
};

/// The main function of a worker, which runs in a forked child. It isolates the process, enters the
/// sandbox, runs one job, sends the reply and exits.
[[noreturn]] void RunWorker(const WorkerSetup& setup);

/// Makes the library reserve address space for precompiled headers. All processes that are forked
/// later have it at the same address, so each can read a header that another one has written. If
/// the library can't reserve it, jobs that write a precompiled header fail, and other jobs work.
void ReservePchHeap(const NvrtcLibrary& nvrtc);

}  // namespace cccl_cache::daemon
