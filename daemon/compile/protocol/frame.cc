// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/frame.h"

#include <utility>

#include "base/codec.h"

namespace cccl_cache::daemon {
namespace {

/// The first byte of each message on the control and status sockets.
enum class Tag : uint8_t {
  kHello = 1,
  kSpawn = 2,
  kReady = 3,
  kLoadFailed = 4,
  kSpawned = 5,
  kSpawnFailed = 6,
  kExited = 7,
};

constexpr std::string_view kFrameMagic = "CCRF";
constexpr size_t kMaxMessageText = 4096;  // bytes of an error text sent to the daemon
Error Malformed(const char* what) {
  return Error{ErrorCode::kUnavailable, std::string("malformed ") + what};
}

ByteWriter Begin(Tag tag) { return ByteWriter().Put(tag); }

void WriteTexts(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.Count(texts.size());
  for (const std::string& text : texts) writer.CText(text);
}

std::vector<std::string> ReadTexts(ByteReader& reader) {
  std::vector<std::string> texts;
  for (size_t left = reader.Count(ByteReader::kEmptyCText); left > 0; --left) {
    texts.emplace_back(reader.CText());
  }
  return texts;
}

void WriteLibrary(ByteWriter& writer, const std::optional<LibraryFiles>& library) {
  writer.Put(library.has_value());
  if (!library) return;
  writer.CText(library->path);
  WriteTexts(writer, library->preload);
}

std::optional<LibraryFiles> ReadLibrary(ByteReader& reader) {
  if (!reader.Flag()) return std::nullopt;
  LibraryFiles library;
  library.path = reader.CText();
  library.preload = ReadTexts(reader);
  return library;
}

//   hello   = 1:u8 protocol:u32 library{3} libdevice:text count:u32 trusted-directory:text{count}
//             forks-ahead:u8
//   library = 0:u8 | 1:u8 path:text count:u32 preload:text{count}
std::string Encode(const ZygoteHello& hello) {
  ByteWriter writer = Begin(Tag::kHello);
  writer.Put(kWorkerProtocol);
  WriteLibrary(writer, hello.nvrtc);
  WriteLibrary(writer, hello.nvjitlink);
  WriteLibrary(writer, hello.nvvm);
  writer.CText(hello.libdevice);
  WriteTexts(writer, hello.trusted_directories);
  writer.Put(hello.forks_ahead);
  return writer.Joined();
}

Result<ControlMessage> DecodeHello(ByteReader reader) {
  const uint32_t protocol = reader.Take<uint32_t>();
  if (reader.ok() && protocol != kWorkerProtocol) {
    return Error{
        ErrorCode::kUnavailable,
        "cccl-cached-worker and cccl-cached are of different versions: restart cccl-cached"};
  }
  ZygoteHello hello;
  hello.nvrtc = ReadLibrary(reader);
  hello.nvjitlink = ReadLibrary(reader);
  hello.nvvm = ReadLibrary(reader);
  hello.libdevice = reader.CText();
  hello.trusted_directories = ReadTexts(reader);
  hello.forks_ahead = reader.Flag();
  if (!reader.complete()) return Malformed("hello");
  return ControlMessage(std::move(hello));
}

//   spawn = 2:u8 job-id:u64 memory-bytes:u64 may-lack-sandbox:u8 background:u8
//           bundled-headers:u8 pch:u8
std::string Encode(const SpawnRequest& spawn) {
  return Begin(Tag::kSpawn)
      .Put(spawn.job_id)
      .Put(spawn.memory_bytes)
      .Put(spawn.may_lack_sandbox)
      .Put(spawn.background)
      .Put(spawn.bundled_headers)
      .Put(spawn.pch)
      .Joined();
}

std::string EncodeText(Tag tag, std::string_view message) {
  return Begin(tag).CText(message.substr(0, kMaxMessageText)).Joined();
}

//   ready = 3:u8 sandbox:u8 description:text
std::string Encode(const ZygoteReady& ready) {
  const std::string_view description = ready.description;
  return Begin(Tag::kReady)
      .Put(ready.sandbox)
      .CText(description.substr(0, kMaxMessageText))
      .Joined();
}

//   load-failed = 4:u8 message:text
std::string Encode(const LoadFailed& failed) {
  return EncodeText(Tag::kLoadFailed, failed.message);
}

//   spawned = 5:u8 pid:u32
std::string Encode(const Spawned& spawned) {
  return Begin(Tag::kSpawned).Put<uint32_t>(spawned.pid).Joined();
}

//   spawn-failed = 6:u8 message:text
std::string Encode(const SpawnFailed& failed) {
  return EncodeText(Tag::kSpawnFailed, failed.message);
}

//   exited = 7:u8 wait-status:u32 peak-resident-bytes:u64 cpu-microseconds:u64
std::string Encode(const Exited& exited) {
  return Begin(Tag::kExited)
      .Put<uint32_t>(exited.wait_status)
      .Put(exited.peak_resident_bytes)
      .Put<uint64_t>(exited.cpu_time.count())
      .Put(exited.refused_memory)
      .Joined();
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
  ByteReader reader(bytes);
  const Tag tag{reader.Take<uint8_t>()};
  if (tag == Tag::kHello) return DecodeHello(reader);
  SpawnRequest spawn{.job_id = reader.Take<uint64_t>(),
                     .memory_bytes = reader.Take<uint64_t>(),
                     .may_lack_sandbox = reader.Flag(),
                     .background = reader.Flag(),
                     .bundled_headers = reader.Flag(),
                     .pch = reader.TakeEnum(PchUse::kNone, PchUse::kRead)};
  if (tag != Tag::kSpawn || !reader.complete()) return Malformed("control message");
  return ControlMessage(spawn);
}

Result<ControlAnswer> DecodeControlAnswer(std::string_view bytes) {
  ByteReader reader(bytes);
  const Tag tag{reader.Take<uint8_t>()};
  ControlAnswer answer;
  if (tag == Tag::kLoadFailed) {
    answer = LoadFailed{std::string(reader.CText())};
  } else if (tag == Tag::kReady) {
    answer = ZygoteReady{reader.TakeEnum(SandboxKind::kReadsToolchain, SandboxKind::kNone),
                         std::string(reader.CText())};
  } else {
    reader.Fail();
  }
  if (!reader.complete()) return Malformed("answer of a zygote");
  return answer;
}

Result<StatusMessage> DecodeStatusMessage(std::string_view bytes) {
  ByteReader reader(bytes);
  StatusMessage message;
  switch (Tag{reader.Take<uint8_t>()}) {
    case Tag::kSpawned:
      message = Spawned{reader.Take<pid_t>()};
      break;
    case Tag::kSpawnFailed:
      message = SpawnFailed{std::string(reader.CText())};
      break;
    case Tag::kExited:
      message = Exited{.wait_status = reader.Take<int32_t>(),
                       .peak_resident_bytes = reader.Take<uint64_t>(),
                       .cpu_time = std::chrono::microseconds(reader.Take<uint64_t>()),
                       .refused_memory = reader.Flag()};
      break;
    default:
      reader.Fail();
  }
  if (!reader.complete()) return Malformed("status of a worker");
  return message;
}

std::string EncodeFrameHeader(uint64_t payload_bytes) {
  return ByteWriter().Bytes(kFrameMagic).Put(kWorkerProtocol).Put(payload_bytes).Joined();
}

Result<uint64_t> DecodeFrameHeader(std::string_view bytes) {
  ByteReader reader(bytes);
  const bool magic = reader.Bytes(kFrameMagic.size()) == kFrameMagic;
  const auto protocol = reader.Take<uint32_t>();
  const auto length = reader.Take<uint64_t>();
  if (!reader.complete() || !magic || protocol != kWorkerProtocol) {
    return Error{ErrorCode::kWorkerCrashed, "the worker's answer is not one"};
  }
  return length;
}

}  // namespace cccl_cache::daemon
