// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/frame.h"

#include <utility>

#include "daemon/compile/protocol/wire_reader.h"
#include "daemon/compile/protocol/wire_writer.h"

namespace cccl_cache::daemon {
namespace {

/// First byte of each message, as sent.
enum class Tag : uint8_t {
  kHello = 1,
  kSpawn = 2,
  kReady = 3,
  kLoadFailed = 4,
  kSpawned = 5,
  kSpawnFailed = 6,
  kExited = 7,
};

constexpr char kFrameMagic[] = {'C', 'C', 'R', 'F'};
constexpr size_t kMaxMessageText = 4096;  // bytes of an error text sent to the daemon
constexpr size_t kEmptyText = 9;          // bytes of an encoded empty text

Error Malformed(const char* what) {
  return Error{ErrorCode::kUnavailable, std::string("malformed ") + what};
}

WireWriter Begin(Tag tag) {
  WireWriter writer;
  writer.U8(static_cast<uint8_t>(tag));
  return writer;
}

void WriteTexts(WireWriter& writer, const std::vector<std::string>& texts) {
  writer.U32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) writer.Text(text);
}

std::vector<std::string> ReadTexts(WireReader& reader) {
  std::vector<std::string> texts;
  for (size_t left = reader.Count(kEmptyText); left > 0; --left) texts.emplace_back(reader.Text());
  return texts;
}

void WriteLibrary(WireWriter& writer, const std::optional<LibraryFiles>& library) {
  writer.U8(library.has_value());
  if (!library) return;
  writer.Text(library->path);
  WriteTexts(writer, library->preload);
}

std::optional<LibraryFiles> ReadLibrary(WireReader& reader) {
  if (!reader.Flag()) return std::nullopt;
  LibraryFiles library;
  library.path = reader.Text();
  library.preload = ReadTexts(reader);
  return library;
}

//   hello   = 1:u8 protocol:u32 library{3} libdevice:text count:u32 trusted-directory:text{count}
//             forks-ahead:u8
//   library = 0:u8 | 1:u8 path:text count:u32 preload:text{count}
std::string Encode(const ZygoteHello& hello) {
  WireWriter writer = Begin(Tag::kHello);
  writer.U32(kWorkerProtocol);
  WriteLibrary(writer, hello.nvrtc);
  WriteLibrary(writer, hello.nvjitlink);
  WriteLibrary(writer, hello.nvvm);
  writer.Text(hello.libdevice);
  WriteTexts(writer, hello.trusted_directories);
  writer.U8(hello.forks_ahead);
  return writer.Joined();
}

Result<ControlMessage> DecodeHello(WireReader reader) {
  const uint32_t protocol = reader.U32();
  if (!reader.failed() && protocol != kWorkerProtocol) {
    return Error{
        ErrorCode::kUnavailable,
        "cccl-cached-worker and cccl-cached are of different versions: restart cccl-cached"};
  }
  ZygoteHello hello;
  hello.nvrtc = ReadLibrary(reader);
  hello.nvjitlink = ReadLibrary(reader);
  hello.nvvm = ReadLibrary(reader);
  hello.libdevice = reader.Text();
  hello.trusted_directories = ReadTexts(reader);
  hello.forks_ahead = reader.Flag();
  if (!reader.Complete()) return Malformed("hello");
  return ControlMessage(std::move(hello));
}

//   spawn = 2:u8 job-id:u64 memory-bytes:u64 may-lack-sandbox:u8 background:u8 pch:u8
std::string Encode(const SpawnRequest& spawn) {
  WireWriter writer = Begin(Tag::kSpawn);
  writer.U64(spawn.job_id);
  writer.U64(spawn.memory_bytes);
  writer.U8(spawn.may_lack_sandbox);
  writer.U8(spawn.background);
  writer.U8(static_cast<uint8_t>(spawn.pch));
  return writer.Joined();
}

std::string EncodeText(Tag tag, std::string_view message) {
  WireWriter writer = Begin(tag);
  writer.Text(message.substr(0, kMaxMessageText));
  return writer.Joined();
}

//   ready = 3:u8 sandbox:u8 description:text
std::string Encode(const ZygoteReady& ready) {
  WireWriter writer = Begin(Tag::kReady);
  writer.U8(static_cast<uint8_t>(ready.sandbox));
  writer.Text(std::string_view(ready.description).substr(0, kMaxMessageText));
  return writer.Joined();
}

//   load-failed = 4:u8 message:text
std::string Encode(const LoadFailed& failed) {
  return EncodeText(Tag::kLoadFailed, failed.message);
}

//   spawned = 5:u8 pid:u32
std::string Encode(const Spawned& spawned) {
  WireWriter writer = Begin(Tag::kSpawned);
  writer.U32(static_cast<uint32_t>(spawned.pid));
  return writer.Joined();
}

//   spawn-failed = 6:u8 message:text
std::string Encode(const SpawnFailed& failed) {
  return EncodeText(Tag::kSpawnFailed, failed.message);
}

//   exited = 7:u8 wait-status:u32 peak-resident-bytes:u64 cpu-microseconds:u64
std::string Encode(const Exited& exited) {
  WireWriter writer = Begin(Tag::kExited);
  writer.U32(static_cast<uint32_t>(exited.wait_status));
  writer.U64(exited.peak_resident_bytes);
  writer.U64(static_cast<uint64_t>(exited.cpu_time.count()));
  writer.U8(exited.refused_memory);
  return writer.Joined();
}

template <typename Message>
std::string EncodeAny(const Message& message) {
  return std::visit([](const auto& alternative) { return Encode(alternative); }, message);
}

}  // namespace

std::string EncodeControlMessage(const ControlMessage& message) { return EncodeAny(message); }
std::string EncodeControlAnswer(const ControlAnswer& message) { return EncodeAny(message); }
std::string EncodeStatusMessage(const StatusMessage& message) { return EncodeAny(message); }

Result<ControlMessage> DecodeControlMessage(std::string_view bytes) {
  WireReader reader(bytes);
  const Tag tag{reader.U8()};
  if (tag == Tag::kHello) return DecodeHello(reader);
  SpawnRequest spawn{.job_id = reader.U64(),
                     .memory_bytes = reader.U64(),
                     .may_lack_sandbox = reader.Flag(),
                     .background = reader.Flag(),
                     .pch = PchUse{reader.U8()}};
  if (tag != Tag::kSpawn || !reader.Complete() || spawn.pch > PchUse::kRead)
    return Malformed("control message");
  return ControlMessage(spawn);
}

Result<ControlAnswer> DecodeControlAnswer(std::string_view bytes) {
  WireReader reader(bytes);
  const Tag tag{reader.U8()};
  const SandboxKind sandbox{tag == Tag::kReady ? reader.U8() : uint8_t{0}};
  std::string text(reader.Text());
  if (!reader.Complete()) return Malformed("answer of a zygote");
  if (tag == Tag::kLoadFailed) return ControlAnswer(LoadFailed{std::move(text)});
  if (tag != Tag::kReady || sandbox < SandboxKind::kReadsToolchain ||
      sandbox > SandboxKind::kNone) {
    return Malformed("answer of a zygote");
  }
  return ControlAnswer(ZygoteReady{sandbox, std::move(text)});
}

Result<StatusMessage> DecodeStatusMessage(std::string_view bytes) {
  WireReader reader(bytes);
  StatusMessage message;
  switch (Tag{reader.U8()}) {
    case Tag::kSpawned:
      message = Spawned{static_cast<pid_t>(reader.U32())};
      break;
    case Tag::kSpawnFailed:
      message = SpawnFailed{std::string(reader.Text())};
      break;
    case Tag::kExited:
      message = Exited{.wait_status = static_cast<int>(reader.U32()),
                       .peak_resident_bytes = reader.U64(),
                       .cpu_time = std::chrono::microseconds(reader.U64()),
                       .refused_memory = reader.Flag()};
      break;
    default:
      return Malformed("status of a worker");
  }
  if (!reader.Complete()) return Malformed("status of a worker");
  return message;
}

std::string EncodeFrameHeader(uint64_t payload_bytes) {
  WireWriter writer;
  for (char byte : kFrameMagic) writer.U8(static_cast<uint8_t>(byte));
  writer.U32(kWorkerProtocol);
  writer.U64(payload_bytes);
  return writer.Joined();
}

Result<uint64_t> DecodeFrameHeader(std::string_view bytes) {
  WireReader reader(bytes);
  bool magic = true;
  for (char byte : kFrameMagic) magic = magic && reader.U8() == static_cast<uint8_t>(byte);
  const uint32_t protocol = reader.U32();
  const uint64_t length = reader.U64();
  if (!reader.Complete() || !magic || protocol != kWorkerProtocol) {
    return Error{ErrorCode::kWorkerCrashed, "the worker's answer is not one"};
  }
  return length;
}

}  // namespace cccl_cache::daemon
