// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/stand_in_daemon.h"

#include <grpc/grpc.h>
#include <grpcpp/health_check_service_interface.h>

#include <cassert>
#include <utility>

class StandInDaemon::Services {
 public:
  explicit Services(StandInAnswers answers)
      : answers_(std::move(answers)),
        build_(answers_),
        admin_(answers_),
        info_(answers_),
        deposit_(answers_),
        snapshot_(answers_) {}

  void Register(grpc::ServerBuilder* builder) {
    builder->RegisterService(&build_);
    builder->RegisterService(&admin_);
    builder->RegisterService(&info_);
    builder->RegisterService(&deposit_);
    builder->RegisterService(&snapshot_);
  }

 private:
  static grpc::Status Missing() { return {grpc::StatusCode::UNIMPLEMENTED, "no answer set"}; }

  struct Builds final : v1::Build::Service {
    explicit Builds(const StandInAnswers& given) : answers(given) {}
    grpc::Status Build(grpc::ServerContext* context, const v1::BuildRequest* request,
                       v1::BuildReply* reply) override {
      return answers.build ? answers.build(context, *request, reply) : Missing();
    }
    grpc::Status BuildInChunks(grpc::ServerContext*, const v1::BuildRequest* request,
                               grpc::ServerWriter<v1::BuildChunk>* writer) override {
      return answers.chunks ? answers.chunks(*request, writer) : Missing();
    }
    grpc::Status BuildMany(grpc::ServerContext* context, StandInAnswers::Many* stream) override {
      return answers.many ? answers.many(context, stream) : Missing();
    }
    grpc::Status BuildWithFiles(grpc::ServerContext* context,
                                StandInAnswers::WithFiles* stream) override {
      return answers.with_files ? answers.with_files(context, stream) : Missing();
    }
    grpc::Status Upload(grpc::ServerContext*, grpc::ServerReader<v1::UploadChunk>* reader,
                        v1::UploadReply* reply) override {
      return answers.upload ? answers.upload(reader, reply) : Missing();
    }
    const StandInAnswers& answers;
  };

  struct Admin final : v1::Admin::Service {
    explicit Admin(const StandInAnswers& given) : answers(given) {}
    grpc::Status Stats(grpc::ServerContext*, const v1::StatsRequest*,
                       v1::StatsReply* reply) override {
      return answers.stats ? answers.stats(reply) : Missing();
    }
    grpc::Status Explain(grpc::ServerContext* context, const v1::ExplainRequest* request,
                         v1::ExplainReply* reply) override {
      return answers.explain ? answers.explain(context, *request, reply) : Missing();
    }
    grpc::Status Toolchains(grpc::ServerContext*, const v1::ToolchainsRequest* request,
                            v1::ToolchainsReply* reply) override {
      return answers.toolchains ? answers.toolchains(*request, reply) : Missing();
    }
    grpc::Status Evict(grpc::ServerContext*, const v1::EvictRequest* request,
                       grpc::ServerWriter<v1::EvictReply>* writer) override {
      return answers.evict ? answers.evict(*request, writer) : Missing();
    }
    grpc::Status Verify(grpc::ServerContext*, const v1::VerifyRequest*,
                        grpc::ServerWriter<v1::VerifyReply>* writer) override {
      return answers.verify ? answers.verify(writer) : Missing();
    }
    const StandInAnswers& answers;
  };

  struct Info final : v1::Info::Service {
    explicit Info(const StandInAnswers& given) : answers(given) {}
    grpc::Status Get(grpc::ServerContext*, const v1::InfoRequest*, v1::InfoReply* reply) override {
      return answers.info ? answers.info(reply) : Missing();
    }
    const StandInAnswers& answers;
  };

  struct Deposits final : v1::Deposit::Service {
    explicit Deposits(const StandInAnswers& given) : answers(given) {}
    grpc::Status Acquire(grpc::ServerContext*, StandInAnswers::Acquiring* stream) override {
      return answers.acquire ? answers.acquire(stream) : Missing();
    }
    grpc::Status List(grpc::ServerContext*, const v1::ListDepositsRequest* request,
                      v1::ListDepositsReply* reply) override {
      return answers.list_deposits ? answers.list_deposits(*request, reply) : Missing();
    }
    grpc::Status Remove(grpc::ServerContext*, const v1::RemoveDepositRequest* request,
                        v1::RemoveDepositReply* reply) override {
      return answers.remove_deposit ? answers.remove_deposit(*request, reply) : Missing();
    }
    grpc::Status Touch(grpc::ServerContext*, const v1::TouchDepositsRequest* request,
                       v1::TouchDepositsReply*) override {
      return answers.touch_deposits ? answers.touch_deposits(*request) : Missing();
    }
    grpc::Status Reserve(grpc::ServerContext* context, const v1::ReserveRequest* request,
                         grpc::ServerWriter<v1::ReserveReply>* writer) override {
      return answers.reserve ? answers.reserve(context, *request, writer) : Missing();
    }
    grpc::Status ReportPeak(grpc::ServerContext*, const v1::ReportPeakRequest* request,
                            v1::ReportPeakReply*) override {
      return answers.report_peak ? answers.report_peak(*request) : Missing();
    }
    const StandInAnswers& answers;
  };

  struct Snapshots final : v1::Snapshot::Service {
    explicit Snapshots(const StandInAnswers& given) : answers(given) {}
    grpc::Status Create(grpc::ServerContext* context, StandInAnswers::Creating* stream) override {
      return answers.create_snapshot ? answers.create_snapshot(context, stream) : Missing();
    }
    grpc::Status Insert(grpc::ServerContext*, StandInAnswers::Inserting* reader,
                        v1::SnapshotInsertReply* reply) override {
      return answers.insert_snapshot ? answers.insert_snapshot(reader, reply) : Missing();
    }
    const StandInAnswers& answers;
  };

  const StandInAnswers answers_;
  Builds build_;
  Admin admin_;
  Info info_;
  Deposits deposit_;
  Snapshots snapshot_;
};

StandInDaemon::StandInDaemon(std::string socket, StandInAnswers answers, int largest_request)
    : socket_(std::move(socket)),
      services_(std::make_unique<Services>(std::move(answers))),
      largest_request_(largest_request) {
  // Keeps gRPC initialized until the process ends, because the destruction of the last gRPC object
  // waits 10 s if large answers were written shortly before.
  grpc_init();
  grpc::EnableDefaultHealthCheckService(true);
  Start();
}

StandInDaemon::~StandInDaemon() { Stop(); }

void StandInDaemon::Start() {
  assert(server_ == nullptr);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(largest_request_);
  builder.SetMaxSendMessageSize(64 << 20);
  services_->Register(&builder);
  server_ = builder.BuildAndStart();
}

void StandInDaemon::Stop(std::chrono::milliseconds patience) {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
  server_.reset();
}
