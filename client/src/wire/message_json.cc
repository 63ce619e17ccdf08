// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/message_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/wire.h"

namespace cccl_cache {
namespace {

/// A received value of a field. The field's type tells which member is used.
struct Value {
  uint64_t number = 0;
  double real = 0;
  std::string_view bytes{};  ///< the value of a text field, or an encoded submessage
};

Value Read(MessageField::Kind kind, ProtoReader* reader) {
  switch (kind) {
    case MessageField::kText:
    case MessageField::kMessage:
      return {.bytes = reader->View()};
    case MessageField::kReal:
      return {.real = reader->Real()};
    default:
      return {.number = reader->Number()};
  }
}

std::string_view NameOf(const MessageField& field, uint64_t number) {
  const auto found = std::ranges::find(field.values, number, &EnumValue::number);
  return found == field.values.end() ? "unknown" : found->name;
}

/// Limits on the size (in bytes) and the number of values of a message, in case another process
/// than the daemon has sent it. A real daemon's message is far smaller: each value is a field of a
/// running build, a toolchain or a statistic.
constexpr size_t kMaxMessage = size_t{16} << 20;
constexpr size_t kMaxValues = size_t{1} << 19;

class MessageWriter {
 public:
  /// Writes the message as a JSON object. Returns false if it is malformed or exceeds the limits.
  bool Message(std::string_view message, const MessageTable& table);
  std::string Finish() { return json_.Finish(); }

 private:
  bool Field(const MessageField& field, const Value& value);

  JsonWriter json_;
  size_t values_left_ = kMaxValues;
};

bool MessageWriter::Field(const MessageField& field, const Value& value) {
  switch (field.kind) {
    case MessageField::kText:
      json_.String(value.bytes);
      break;
    case MessageField::kNumber:
    case MessageField::kNumber32:
      json_.Unsigned(value.number);
      break;
    case MessageField::kReal:
      json_.Number(value.real);
      break;
    case MessageField::kBoolean:
      json_.Boolean(value.number != 0);
      break;
    case MessageField::kEnum:
      json_.String(NameOf(field, value.number));
      break;
    case MessageField::kMessage:
      return Message(value.bytes, *field.message);
  }
  return true;
}

bool MessageWriter::Message(std::string_view message, const MessageTable& table) {
  std::vector<std::vector<Value>> values(table.fields.size());
  ProtoReader reader(message);
  while (const uint32_t number = reader.Next()) {
    const auto field = std::ranges::find(table.fields, number, &MessageField::number);
    if (field == table.fields.end()) continue;
    if (values_left_-- == 0) return false;
    auto& found = values[static_cast<size_t>(field - table.fields.begin())];
    if (!field->repeated) found.clear();
    found.push_back(Read(field->kind, &reader));
  }
  if (!reader.ok()) return false;
  bool sound = true;
  json_.BeginObject();
  for (size_t i = 0; i < values.size(); ++i) {
    const MessageField& field = table.fields[i];
    if (field.repeated) {
      json_.Key(field.name).BeginArray();
      for (const Value& value : values[i]) sound = sound && Field(field, value);
      json_.EndArray();
    } else if (!values[i].empty() || field.kind != MessageField::kMessage) {
      json_.Key(field.name);
      sound = sound && Field(field, values[i].empty() ? Value() : values[i].front());
    }
  }
  json_.EndObject();
  return sound;
}

/// Appends the field with the value in `text`. Returns false if the field's type has no such value.
bool Append(const MessageField& field, std::string_view text, ProtoWriter* writer) {
  uint64_t number = 0;
  switch (field.kind) {
    case MessageField::kText:
      writer->Bytes(field.number, text);
      return true;
    case MessageField::kBoolean:
      writer->Number(field.number, text == "true" ? 1 : 0);
      return text == "true" || text == "false";
    case MessageField::kNumber:
    case MessageField::kNumber32: {
      const char* const end = text.data() + text.size();
      const auto [after, error] = std::from_chars(text.data(), end, number);
      writer->Number(field.number, number);
      return error == std::errc() && after == end &&
             (field.kind == MessageField::kNumber || number <= UINT32_MAX);
    }
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> ToJson(std::string_view message, const MessageTable& table) {
  MessageWriter json;
  if (message.size() > kMaxMessage || !json.Message(message, table)) return std::nullopt;
  return json.Finish();
}

Expected<std::string> FromArguments(std::span<const cccl_cache_bytes> arguments,
                                    const MessageTable& table) {
  ProtoWriter writer;
  for (const cccl_cache_bytes& each : arguments) {
    const std::string_view argument(each.data, each.size);
    const size_t equals = std::min(argument.find('='), argument.size());
    const std::string_view value = argument.substr(std::min(equals + 1, argument.size()));
    const auto field =
        std::ranges::find(table.fields, argument.substr(0, equals), &MessageField::name);
    if (field == table.fields.end() || !Append(*field, value, &writer)) {
      return Error{CCCL_CACHE_INVALID_REQUEST,
                   "\"" + std::string(argument) + "\" is no argument of this question"};
    }
  }
  return writer.Take();
}

}  // namespace cccl_cache
