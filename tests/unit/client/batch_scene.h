// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/batch.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

/// Returns a client without local compiles; local_builds_test.cc tests those.
cccl_cache::Client OpenClient(const std::string& socket);

/// A fake daemon, its client and a batch.
struct BatchScene {
  explicit BatchScene(StandInAnswers answers, int largest_request = 16 << 20)
      : daemon(directory / "socket", std::move(answers), largest_request) {}

  cccl_cache::Batch Open() { return *cccl_cache::Batch::Open(client); }

  cccl_cache::daemon::TemporaryDirectory directory;
  StandInDaemon daemon;
  cccl_cache::Client client = OpenClient(daemon.socket());
};

// The answers of the fake daemon:
using Many = StandInAnswers::Many;
void Reply(Many* stream, uint64_t tag, std::string cubin);
void Refuse(Many* stream, uint64_t tag, const std::string& name, uint64_t retry_ms);
std::string SourceOf(const v1::BuildManyRequest& request);
/// Answers each build with its own source at once, until the stream ends.
grpc::Status Echo(grpc::ServerContext* context, Many* stream);
/// Like Echo, for a separate call; an uploaded source is answered with its digest.
grpc::Status EchoApart(grpc::ServerContext* context, StandInAnswers::WithFiles* stream);

// The requests of the program, and its results:
cccl_cache::NvrtcBuild Source(std::string_view source);
std::string CubinOf(const std::optional<cccl_cache::Batch::Finished>& finished);
cccl_cache_status StatusOf(const std::optional<cccl_cache::Batch::Finished>& finished);
bool IsReadable(const cccl_cache::Batch& batch, std::chrono::milliseconds within);
