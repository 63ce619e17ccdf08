// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cccl_cache/v1/admin.grpc.pb.h>
#include <cccl_cache/v1/build.grpc.pb.h>
#include <cccl_cache/v1/deposit.grpc.pb.h>
#include <cccl_cache/v1/info.grpc.pb.h>
#include <cccl_cache/v1/snapshot.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/unit/client/canned_replies.h"

/// The answers of the fake daemon; a call without a function is UNIMPLEMENTED. Called on gRPC's
/// threads.
struct StandInAnswers {
  std::function<grpc::Status(grpc::ServerContext*, const v1::BuildRequest&, v1::BuildReply*)> build;
  std::function<grpc::Status(const v1::BuildRequest&, grpc::ServerWriter<v1::BuildChunk>*)> chunks;
  using Many = grpc::ServerReaderWriter<v1::BuildManyReply, v1::BuildManyRequest>;
  std::function<grpc::Status(grpc::ServerContext*, Many*)> many;
  using WithFiles = grpc::ServerReaderWriter<v1::BuildWithFilesReply, v1::BuildWithFilesRequest>;
  std::function<grpc::Status(grpc::ServerContext*, WithFiles*)> with_files;
  std::function<grpc::Status(grpc::ServerReader<v1::UploadChunk>*, v1::UploadReply*)> upload;
  std::function<grpc::Status(grpc::ServerContext*, const v1::ExplainRequest&, v1::ExplainReply*)>
      explain;
  std::function<grpc::Status(v1::StatsReply*)> stats;
  std::function<grpc::Status(const v1::ToolchainsRequest&, v1::ToolchainsReply*)> toolchains;
  std::function<grpc::Status(const v1::EvictRequest&, grpc::ServerWriter<v1::EvictReply>*)> evict;
  std::function<grpc::Status(grpc::ServerWriter<v1::VerifyReply>*)> verify;
  std::function<grpc::Status(v1::InfoReply*)> info;
  using Acquiring = grpc::ServerReaderWriter<v1::AcquireReply, v1::AcquireRequest>;
  std::function<grpc::Status(Acquiring*)> acquire;
  std::function<grpc::Status(const v1::ListDepositsRequest&, v1::ListDepositsReply*)> list_deposits;
  std::function<grpc::Status(const v1::RemoveDepositRequest&, v1::RemoveDepositReply*)>
      remove_deposit;
  std::function<grpc::Status(const v1::TouchDepositsRequest&)> touch_deposits;
  std::function<grpc::Status(grpc::ServerContext*, const v1::ReserveRequest&,
                             grpc::ServerWriter<v1::ReserveReply>*)>
      reserve;
  std::function<grpc::Status(const v1::ReportPeakRequest&)> report_peak;
  using Creating = grpc::ServerReaderWriter<v1::SnapshotCreateReply, v1::SnapshotCreateRequest>;
  std::function<grpc::Status(grpc::ServerContext*, Creating*)> create_snapshot;
  using Inserting = grpc::ServerReader<v1::SnapshotInsertRequest>;
  std::function<grpc::Status(Inserting*, v1::SnapshotInsertReply*)> insert_snapshot;
};

/// A stock gRPC server with canned answers on a Unix socket, with which the client must work.
class StandInDaemon {
 public:
  StandInDaemon(std::string socket, StandInAnswers answers, int largest_request = 16 << 20);
  ~StandInDaemon();
  StandInDaemon(const StandInDaemon&) = delete;
  StandInDaemon& operator=(const StandInDaemon&) = delete;

  /// Starts it again. Must be called only after Stop(): the constructor has started it, and the
  /// server that is replaced would remove the socket of the new one.
  void Start();
  /// Sends GOAWAY; then calls in progress have `patience` to finish.
  void Stop(std::chrono::milliseconds patience = std::chrono::milliseconds(0));
  [[nodiscard]] const std::string& socket() const { return socket_; }

 private:
  class Services;

  const std::string socket_;
  const std::unique_ptr<Services> services_;
  const int largest_request_;
  std::unique_ptr<grpc::Server> server_;
};
