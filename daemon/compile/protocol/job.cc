// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/job.h"

#include <algorithm>
#include <variant>

#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {
namespace {

template <typename Strings>
void WriteTexts(ByteWriter& writer, const Strings& texts) {
  writer.Count(texts.size());
  for (const auto& text : texts) writer.CText(text);
}

std::vector<std::string_view> ReadViews(ByteReader& reader) {
  std::vector<std::string_view> texts(reader.Count(ByteReader::kEmptyCText));
  for (std::string_view& text : texts) text = reader.CText();
  return texts;
}

//   nvrtc = name:text source:text count:u32 (name:text contents:text){count}
//           count:u32 expression:text{count}
void WriteProgram(ByteWriter& writer, const NvrtcProgram& program, const CompileJob& job) {
  writer.CText(job.program_name);
  writer.CText(program.source);
  size_t headers = 0;
  program.ForEachHeader([&](std::string_view, std::string_view) { ++headers; });
  writer.Count(headers);
  program.ForEachHeader([&](std::string_view name, std::string_view contents) {
    writer.CText(name);
    writer.CText(contents);
  });
  WriteTexts(writer, program.name_expressions);
}

void ReadNvrtc(ByteReader& reader, WorkerJob& job) {
  job.program_name = reader.CText();
  job.source = reader.CText();
  job.headers.resize(reader.Count(2 * ByteReader::kEmptyCText));
  for (WorkerJob::Header& header : job.headers) {
    header.name = reader.CText();
    header.contents = reader.CText();
  }
  job.name_expressions = ReadViews(reader);
}

//   link = count:u32 (type:u8 name:text contents:text){count}
void WriteProgram(ByteWriter& writer, const LinkProgram& program, const CompileJob&) {
  writer.Count(program.inputs.size());
  for (const cccl_cache::LinkInput& input : program.inputs) {
    writer.Put(input.type);
    writer.CText(input.name);
    writer.CText(input.contents);
  }
}

void ReadLink(ByteReader& reader, WorkerJob& job) {
  job.inputs.resize(reader.Count(1 + 2 * ByteReader::kEmptyCText));
  for (WorkerJob::LinkInput& input : job.inputs) {
    input.type = reader.TakeEnum(LinkInputType::kUnspecified, LinkInputType::kLibrary);
    input.name = reader.CText();
    input.contents = reader.CText();
  }
}

//   nvvm = count:u32 (lazy:u8 name:text contents:text){count} add-libdevice:u8
void WriteProgram(ByteWriter& writer, const NvvmProgram& program, const CompileJob&) {
  writer.Count(program.modules.size());
  for (const NvvmModule& module : program.modules) {
    writer.Put(module.lazy);
    writer.CText(module.name);
    writer.CText(module.contents);
  }
  writer.Put(program.add_libdevice);
}

void ReadNvvm(ByteReader& reader, WorkerJob& job) {
  job.modules.resize(reader.Count(1 + 2 * ByteReader::kEmptyCText));
  for (WorkerJob::Module& module : job.modules) {
    module.lazy = reader.Flag();
    module.name = reader.CText();
    module.contents = reader.CText();
  }
  job.add_libdevice = reader.Flag();
}

Error NotAReply() { return Error{ErrorCode::kWorkerCrashed, "the worker's answer is malformed"}; }

}  // namespace

//   job    = protocol:u32 kind:u8 count:u32 option:text{count}
//            count:u32 (visible:text target:text){count}
//            visible-working-directory:text (nvrtc | link | nvvm)
ByteWriter EncodeJob(const CompileJob& job) {
  ByteWriter writer;
  writer.Put(kWorkerProtocol);
  writer.Put(job.request->kind());
  WriteTexts(writer, job.options);
  writer.Count(static_cast<size_t>(std::ranges::count_if(job.mounts, &Mount::trusted)));
  for (const Mount& mount : job.mounts) {
    if (!mount.trusted) continue;
    writer.CText(mount.visible);
    writer.CText(mount.target);
  }
  writer.CText(job.visible_working_directory);
  std::visit([&](const auto& program) { WriteProgram(writer, program, job); },
             job.request->program);
  return writer;
}

Result<WorkerJob> DecodeJob(std::string_view bytes) {
  ByteReader reader(bytes);
  WorkerJob job;
  if (reader.Take<uint32_t>() != kWorkerProtocol) reader.Fail();
  job.kind = reader.TakeEnum(BuildKind::kNvrtc, BuildKind::kNvvm);
  job.options = ReadViews(reader);
  job.mounts.resize(reader.Count(2 * ByteReader::kEmptyCText));
  for (WorkerJob::MountPoint& mount : job.mounts) {
    mount.visible = reader.CText();
    mount.target = reader.CText();
  }
  job.visible_working_directory = reader.CText();
  switch (job.kind) {
    case BuildKind::kNvrtc:
      ReadNvrtc(reader, job);
      break;
    case BuildKind::kLink:
      ReadLink(reader, job);
      break;
    case BuildKind::kNvvm:
      ReadNvvm(reader, job);
      break;
  }
  if (!reader.complete()) return Error{ErrorCode::kUnavailable, "malformed job"};
  return job;
}

//   reply = succeeded:u8 native-code:u32 native-name:text log:text
//           count:u32 (kind:u8 bytes:text){count} count:u32 (expression:text lowered:text){count}
//           peak-resident-bytes:u64 count:u32 architecture:u32{count}
ByteWriter EncodeReply(const WorkerReply& reply) {
  ByteWriter writer;
  writer.Put(reply.succeeded);
  writer.Put<uint32_t>(reply.native_code);
  writer.CText(reply.native_name);
  writer.CText(reply.log);
  writer.Count(reply.parts.size());
  for (const WorkerReply::Part& part : reply.parts) {
    writer.Put(part.kind);
    writer.CText(part.bytes);
  }
  writer.Count(reply.lowered_names.size());
  for (const auto& [expression, lowered] : reply.lowered_names) {
    writer.CText(expression);
    writer.CText(lowered);
  }
  writer.Put(reply.peak_resident_bytes);
  writer.Count(reply.architectures.size());
  for (const uint32_t architecture : reply.architectures) writer.Put(architecture);
  return writer;
}

namespace {

/// Limit of WorkerReply::architectures, several times the number that exist.
constexpr size_t kMaxArchitectures = 64;

struct PartView {
  ArtifactKind kind;
  std::string_view bytes;
};

std::vector<PartView> ReadParts(ByteReader& reader, bool succeeded) {
  std::vector<PartView> parts;
  for (size_t left = reader.Count(1 + ByteReader::kEmptyCText); left > 0; --left) {
    const ArtifactKind kind = reader.TakeEnum(ArtifactKind::kPtx, ArtifactKind::kOptixIr);
    const bool seen =
        std::ranges::any_of(parts, [&](const PartView& part) { return part.kind == kind; });
    if (seen || !succeeded) {
      reader.Fail();
      return {};
    }
    parts.push_back({kind, reader.CText()});
  }
  return parts;
}

/// Returns the parts. The largest one takes over the memory of `text`, the others are copies.
std::vector<WorkerReply::Part> TakeParts(const std::vector<PartView>& views, std::string& text) {
  std::vector<WorkerReply::Part> parts;
  const auto largest =
      std::ranges::max_element(views, {}, [](const PartView& part) { return part.bytes.size(); });
  for (auto view = views.begin(); view != views.end(); ++view) {
    parts.push_back({view->kind, view == largest ? std::string() : std::string(view->bytes)});
  }
  if (largest == views.end()) return parts;
  const size_t size = largest->bytes.size();
  text.erase(0, static_cast<size_t>(largest->bytes.data() - text.data()));
  text.resize(size);
  parts[static_cast<size_t>(largest - views.begin())].bytes = std::move(text);
  return parts;
}

}  // namespace

Result<WorkerReply> DecodeReply(std::string payload) {
  ByteReader reader(payload);
  WorkerReply reply;
  reply.succeeded = reader.Flag();
  reply.native_code = reader.Take<int32_t>();
  reply.native_name = reader.CText();
  reply.log = reader.CText();
  const std::vector<PartView> parts = ReadParts(reader, reply.succeeded);
  for (size_t left = reader.Count(2 * ByteReader::kEmptyCText); left > 0; --left) {
    std::string expression(reader.CText());
    reply.lowered_names.emplace_back(std::move(expression), reader.CText());
  }
  reply.peak_resident_bytes = reader.Take<uint64_t>();
  const size_t architectures = reader.Count(sizeof(uint32_t));
  if (architectures > kMaxArchitectures) return NotAReply();
  for (size_t left = architectures; left > 0; --left) {
    reply.architectures.push_back(reader.Take<uint32_t>());
  }
  if (!reader.complete() || (reply.succeeded && reply.native_code != 0)) return NotAReply();
  reply.parts = TakeParts(parts, payload);
  return reply;
}

}  // namespace cccl_cache::daemon
