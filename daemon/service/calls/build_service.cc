// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/build_service.h"

#include "daemon/service/calls/build_call.h"
#include "daemon/service/calls/build_many_call.h"
#include "daemon/service/calls/upload_call.h"
#include "daemon/service/calls/with_files_call.h"

namespace cccl_cache::daemon {

BuildService::BuildService(BuildBackend& backend, PeerOf peer_of) {
  Serve("/cccl_cache.v1.Build/Build", [&backend, peer_of](CallStream& stream) {
    new BuildCall(backend, peer_of(stream), stream, BuildCall::Form::kOneMessage);
  });
  Serve("/cccl_cache.v1.Build/BuildInChunks", [&backend, peer_of](CallStream& stream) {
    new BuildCall(backend, peer_of(stream), stream, BuildCall::Form::kChunks);
  });
  Serve("/cccl_cache.v1.Build/BuildWithFiles", [&backend, peer_of](CallStream& stream) {
    new WithFilesCall(backend, peer_of(stream), stream);
  });
  Serve("/cccl_cache.v1.Build/BuildMany", [&backend, peer_of](CallStream& stream) {
    new BuildManyCall(backend, peer_of(stream), stream);
  });
  Serve("/cccl_cache.v1.Build/Upload", [&backend, peer_of](CallStream& stream) {
    new UploadCall(backend, peer_of(stream), stream);
  });
}

}  // namespace cccl_cache::daemon
