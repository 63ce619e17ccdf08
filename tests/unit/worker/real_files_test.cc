// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/real_files.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

namespace real_files_test {

using namespace cccl_cache::daemon;

namespace {

std::string Rest(FILE* stream) {
  std::string text;
  for (int c = getc(stream); c != EOF; c = getc(stream)) text.push_back(static_cast<char>(c));
  return text;
}

}  // namespace

TEST_CASE("a pinned stream reads, tells and seeks like one of a file") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "\n";
  FILE* stream = OpenPinnedStream(std::make_shared<const std::string>(text));
  REQUIRE(stream != nullptr);
  CHECK(Rest(stream) == text);
  CHECK(feof(stream) != 0);
  CHECK(ftell(stream) == static_cast<long>(text.size()));
  REQUIRE(fseek(stream, 70'000, SEEK_SET) == 0);
  CHECK(ftell(stream) == 70'000);
  CHECK(getc(stream) == text[70'000]);
  REQUIRE(fseek(stream, -3, SEEK_CUR) == 0);
  CHECK(getc(stream) == text[69'998]);
  REQUIRE(fseek(stream, -5, SEEK_END) == 0);
  CHECK(Rest(stream) == text.substr(text.size() - 5));
  CHECK(fseek(stream, -1, SEEK_SET) == -1);
  REQUIRE(fseek(stream, 1'000'000'000, SEEK_SET) == 0);
  CHECK(getc(stream) == EOF);
  CHECK(fclose(stream) == 0);
}

TEST_CASE("a pinned stream can't be written, and one of a directory can't be read") {
  FILE* stream = OpenPinnedStream(std::make_shared<const std::string>("text"));
  CHECK(fputc('x', stream) == EOF);
  fclose(stream);
  FILE* directory = OpenPinnedStream(nullptr);
  REQUIRE(directory != nullptr);
  errno = 0;
  CHECK(getc(directory) == EOF);
  CHECK(errno == EISDIR);
  fclose(directory);
}

}  // namespace real_files_test
