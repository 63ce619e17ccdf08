// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/service/wire/build_request.h"

namespace cccl_cache::daemon {
namespace {

const std::string kUploaded = "uploaded";

struct Scene {
  ServiceLimits limits{.source_bytes = 20, .option_bytes = 8, .name_bytes = 4};
  FindUpload find_upload = [](const cccl_cache::Digest& digest) {
    return digest == cccl_cache::Sha256(kUploaded) ? std::make_shared<const std::string>(kUploaded)
                                                   : nullptr;
  };
  RequestFields fields{limits, find_upload};

  [[nodiscard]] std::string Wrong() const { return fields.error()->message; }
};

Blob Upload(const std::string& contents) {
  return {"", std::string(cccl_cache::Sha256(contents).View())};
}

TEST_CASE("texts and contents are handed on, and counted") {
  Scene scene;
  CHECK(scene.fields.Name("name", "k.cu") == "k.cu");
  CHECK(scene.fields.Option("option", "-G") == "-G");
  CHECK(scene.fields.Contents("input", {std::string("\0bin", 4), ""}).size() == 4);
  CHECK(scene.fields.SourceText("source", Upload(kUploaded)) == kUploaded);
  CHECK_FALSE(scene.fields.error());
  CHECK(scene.fields.bytes() == 4 + 2 + 4 + 8);
}

TEST_CASE("what is too long is refused by the name of the field and both sizes") {
  Scene name;
  CHECK(name.fields.Name("name", "k2.cu") == "k2.cu");
  CHECK(name.Wrong() == "name: 5 bytes long, at most 4 are allowed");
  Scene option;
  static_cast<void>(option.fields.Option("options", "123456789"));
  CHECK(option.Wrong() == "options: 9 bytes long, at most 8 are allowed");
}

TEST_CASE("all contents together have a bound, uploads among them") {
  Scene scene;
  static_cast<void>(scene.fields.Contents("a", {std::string(12, 'x'), ""}));
  CHECK_FALSE(scene.fields.error());
  CHECK(scene.fields.Contents("b", Upload(kUploaded)) == kUploaded);
  CHECK_FALSE(scene.fields.error());
  CHECK(scene.fields.Contents("c", Upload(kUploaded)).empty());
  CHECK(scene.Wrong().starts_with("c: source, headers and inputs together are larger than 20"));
}

TEST_CASE("a zero byte is refused where the compiler would stop reading") {
  Scene source;
  static_cast<void>(source.fields.SourceText("source", {std::string("a\0b", 3), ""}));
  CHECK(source.Wrong() == "source: holds a zero byte, at which the compiler would stop reading");
  Scene name;
  static_cast<void>(name.fields.Name("name", std::string("\0", 1)));
  CHECK(name.Wrong() == "name: holds a zero byte");
}

TEST_CASE("an upload that is not there is asked for, by its digest") {
  Scene scene;
  static_cast<void>(scene.fields.Contents("source", Upload("other")));
  REQUIRE(scene.fields.error());
  CHECK(scene.fields.error()->code == ErrorCode::kUploadNeeded);
  CHECK(scene.Wrong().find(cccl_cache::Sha256("other").Hex()) != std::string::npos);
}

TEST_CASE("contents are either there or uploaded, and a digest is a digest") {
  Scene both;
  Blob blob = Upload(kUploaded);
  blob.inline_bytes = "x";
  static_cast<void>(both.fields.Contents("source", std::move(blob)));
  CHECK(both.Wrong() == "source: both inline_bytes and upload_sha256 are set, use one");
  Scene digest;
  static_cast<void>(digest.fields.Contents("source", {"", "short"}));
  CHECK(digest.Wrong() == "source.upload_sha256: 5 bytes long, a SHA-256 has 32");
}

TEST_CASE("a list as long as its bound is taken, one longer not") {
  Scene scene;
  scene.fields.CheckCount("headers", 3, 3);
  CHECK_FALSE(scene.fields.error());
  scene.fields.CheckCount("headers", 4, 3);
  CHECK(scene.Wrong().starts_with("headers: 4 entries, at most 3 are allowed: send fewer"));
}

TEST_CASE("the first thing that is wrong is told, and nothing is taken after it") {
  Scene scene;
  scene.fields.Refuse("first");
  scene.fields.Refuse("second");
  CHECK(scene.Wrong() == "first");
  CHECK(scene.fields.Name("name", "a").empty());
  CHECK(scene.fields.Contents("source", {"b", ""}).empty());
  CHECK(scene.fields.bytes() == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon
