// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The task of a worker, as views into the encoded job, which must outlive them. Every text is
/// followed by a NUL.
struct WorkerJob {
  struct Header {
    std::string_view name;
    std::string_view contents;
  };
  struct LinkInput {
    LinkInputType type = LinkInputType::kUnspecified;
    std::string_view name;
    std::string_view contents;
  };
  struct Module {
    bool lazy = false;
    std::string_view name;
    std::string_view contents;
  };
  /// One of the toolchain's own directories. The daemon answers questions about all other names.
  struct MountPoint {
    std::string_view visible;
    std::string_view target;
  };

  BuildKind kind = BuildKind::kNvrtc;
  std::vector<std::string_view> options;
  std::vector<MountPoint> mounts;
  std::string_view visible_working_directory;

  // NVRTC
  std::string_view program_name;
  std::string_view source;
  std::vector<Header> headers;
  std::vector<std::string_view> name_expressions;
  // nvJitLink
  std::vector<LinkInput> inputs;
  // libNVVM
  std::vector<Module> modules;
  bool add_libdevice = false;
};

/// Returns the encoded job. It refers to the long texts of the job's request, which must outlive
/// it.
[[nodiscard]] ByteWriter EncodeJob(const CompileJob& job);
[[nodiscard]] Result<WorkerJob> DecodeJob(std::string_view bytes);

/// A worker's reply. Only its form was checked; its contents are untrusted.
struct WorkerReply {
  struct Part {
    ArtifactKind kind = ArtifactKind::kPtx;
    std::string bytes;
    bool operator==(const Part&) const = default;
  };

  bool succeeded = false;
  int native_code = 0;      ///< the library's result; 0 if succeeded
  std::string native_name;  ///< "NVRTC_ERROR_COMPILATION"
  std::string log;
  std::vector<Part> parts;  ///< each kind at most once; none if not succeeded
  std::vector<std::pair<std::string, std::string>> lowered_names;
  uint64_t peak_resident_bytes = 0;
  /// Architectures that NVRTC lists, as 90 for sm_90; empty for other libraries, or if it can't
  /// list them.
  std::vector<uint32_t> architectures;
};

/// Returns the payload of a reply frame. It refers to the reply's long texts.
[[nodiscard]] ByteWriter EncodeReply(const WorkerReply& reply);
/// Returns the reply in a payload. kWorkerCrashed: malformed, so the worker is broken or was taken
/// over. The largest part stays in the payload's memory, to save a copy.
[[nodiscard]] Result<WorkerReply> DecodeReply(std::string payload);

}  // namespace cccl_cache::daemon
