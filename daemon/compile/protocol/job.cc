// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/job.h"

#include <algorithm>
#include <variant>

#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/wire_reader.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kEmptyText = 9;  // bytes of an encoded empty text

template <typename Strings>
void WriteTexts(WireWriter& writer, const Strings& texts) {
  writer.U32(static_cast<uint32_t>(texts.size()));
  for (const auto& text : texts) writer.Text(text);
}

std::vector<std::string_view> ReadTexts(WireReader& reader) {
  std::vector<std::string_view> texts(reader.Count(kEmptyText));
  for (std::string_view& text : texts) text = reader.Text();
  return texts;
}

/// Reads an enumerator between the given ones, both included.
template <typename Enum>
Enum ReadEnum(WireReader& reader, Enum first, Enum last) {
  const uint8_t value = reader.U8();
  if (value < static_cast<uint8_t>(first) || value > static_cast<uint8_t>(last)) {
    reader.Fail();
    return first;
  }
  return static_cast<Enum>(value);
}

//   nvrtc = name:text source:text count:u32 (name:text contents:text){count}
//           count:u32 expression:text{count}
void WriteProgram(WireWriter& writer, const NvrtcProgram& program, const CompileJob& job) {
  writer.Text(job.program_name);
  writer.Text(program.source);
  writer.U32(static_cast<uint32_t>(program.headers.size()));
  for (const InlineHeader& header : program.headers) {
    writer.Text(header.name);
    writer.Text(header.contents);
  }
  WriteTexts(writer, program.name_expressions);
}

void ReadNvrtc(WireReader& reader, WorkerJob& job) {
  job.program_name = reader.Text();
  job.source = reader.Text();
  job.headers.resize(reader.Count(2 * kEmptyText));
  for (WorkerJob::Header& header : job.headers) {
    header.name = reader.Text();
    header.contents = reader.Text();
  }
  job.name_expressions = ReadTexts(reader);
}

//   link = count:u32 (type:u8 name:text contents:text){count}
void WriteProgram(WireWriter& writer, const LinkProgram& program, const CompileJob&) {
  writer.U32(static_cast<uint32_t>(program.inputs.size()));
  for (const cccl_cache::LinkInput& input : program.inputs) {
    writer.U8(static_cast<uint8_t>(input.type));
    writer.Text(input.name);
    writer.Text(input.contents);
  }
}

void ReadLink(WireReader& reader, WorkerJob& job) {
  job.inputs.resize(reader.Count(1 + 2 * kEmptyText));
  for (WorkerJob::LinkInput& input : job.inputs) {
    input.type = ReadEnum(reader, LinkInputType::kUnspecified, LinkInputType::kLibrary);
    input.name = reader.Text();
    input.contents = reader.Text();
  }
}

//   nvvm = count:u32 (lazy:u8 name:text contents:text){count} add-libdevice:u8
void WriteProgram(WireWriter& writer, const NvvmProgram& program, const CompileJob&) {
  writer.U32(static_cast<uint32_t>(program.modules.size()));
  for (const NvvmModule& module : program.modules) {
    writer.U8(module.lazy);
    writer.Text(module.name);
    writer.Text(module.contents);
  }
  writer.U8(program.add_libdevice);
}

void ReadNvvm(WireReader& reader, WorkerJob& job) {
  job.modules.resize(reader.Count(1 + 2 * kEmptyText));
  for (WorkerJob::Module& module : job.modules) {
    module.lazy = reader.Flag();
    module.name = reader.Text();
    module.contents = reader.Text();
  }
  job.add_libdevice = reader.Flag();
}

Error NotAReply() { return Error{ErrorCode::kWorkerCrashed, "the worker's answer is malformed"}; }

}  // namespace

//   job    = protocol:u32 kind:u8 count:u32 option:text{count}
//            count:u32 (visible:text target:text){count}
//            visible-working-directory:text (nvrtc | link | nvvm)
WireWriter EncodeJob(const CompileJob& job) {
  WireWriter writer;
  writer.U32(kWorkerProtocol);
  writer.U8(static_cast<uint8_t>(job.request->kind()));
  WriteTexts(writer, job.options);
  writer.U32(static_cast<uint32_t>(std::ranges::count_if(job.mounts, &Mount::trusted)));
  for (const Mount& mount : job.mounts) {
    if (!mount.trusted) continue;
    writer.Text(mount.visible);
    writer.Text(mount.target);
  }
  writer.Text(job.visible_working_directory);
  std::visit([&](const auto& program) { WriteProgram(writer, program, job); },
             job.request->program);
  return writer;
}

Result<WorkerJob> DecodeJob(std::string_view bytes) {
  WireReader reader(bytes);
  WorkerJob job;
  if (reader.U32() != kWorkerProtocol) reader.Fail();
  job.kind = ReadEnum(reader, BuildKind::kNvrtc, BuildKind::kNvvm);
  job.options = ReadTexts(reader);
  job.mounts.resize(reader.Count(2 * kEmptyText));
  for (WorkerJob::MountPoint& mount : job.mounts) {
    mount.visible = reader.Text();
    mount.target = reader.Text();
  }
  job.visible_working_directory = reader.Text();
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
  if (!reader.Complete()) return Error{ErrorCode::kUnavailable, "malformed job"};
  return job;
}

//   reply = succeeded:u8 native-code:u32 native-name:text log:text
//           count:u32 (kind:u8 bytes:text){count} count:u32 (expression:text lowered:text){count}
//           peak-resident-bytes:u64
WireWriter EncodeReply(const WorkerReply& reply) {
  WireWriter writer;
  writer.U8(reply.succeeded);
  writer.U32(static_cast<uint32_t>(reply.native_code));
  writer.Text(reply.native_name);
  writer.Text(reply.log);
  writer.U32(static_cast<uint32_t>(reply.parts.size()));
  for (const WorkerReply::Part& part : reply.parts) {
    writer.U8(static_cast<uint8_t>(part.kind));
    writer.Text(part.bytes);
  }
  writer.U32(static_cast<uint32_t>(reply.lowered_names.size()));
  for (const auto& [expression, lowered] : reply.lowered_names) {
    writer.Text(expression);
    writer.Text(lowered);
  }
  writer.U64(reply.peak_resident_bytes);
  return writer;
}

namespace {

struct PartView {
  ArtifactKind kind;
  std::string_view bytes;
};

std::vector<PartView> ReadParts(WireReader& reader, bool succeeded) {
  std::vector<PartView> parts;
  for (size_t left = reader.Count(1 + kEmptyText); left > 0; --left) {
    const ArtifactKind kind = ReadEnum(reader, ArtifactKind::kPtx, ArtifactKind::kOptixIr);
    const bool seen =
        std::ranges::any_of(parts, [&](const PartView& part) { return part.kind == kind; });
    if (seen || !succeeded) {
      reader.Fail();
      return {};
    }
    parts.push_back({kind, reader.Text()});
  }
  return parts;
}

/// Copies all parts but the largest. The largest takes over the memory of the text that holds them.
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
  WireReader reader(payload);
  WorkerReply reply;
  reply.succeeded = reader.Flag();
  reply.native_code = static_cast<int>(reader.U32());
  reply.native_name = reader.Text();
  reply.log = reader.Text();
  const std::vector<PartView> parts = ReadParts(reader, reply.succeeded);
  for (size_t left = reader.Count(2 * kEmptyText); left > 0; --left) {
    std::string expression(reader.Text());
    reply.lowered_names.emplace_back(std::move(expression), reader.Text());
  }
  reply.peak_resident_bytes = reader.U64();
  if (!reader.Complete() || (reply.succeeded && reply.native_code != 0)) return NotAReply();
  reply.parts = TakeParts(parts, payload);
  return reply;
}

}  // namespace cccl_cache::daemon
