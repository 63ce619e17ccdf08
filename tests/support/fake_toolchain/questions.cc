// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/questions.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern char** environ;

namespace fake_toolchain {
namespace {

std::string Describe(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "absent";
  if (S_ISDIR(status.st_mode)) return "directory";
  return S_ISREG(status.st_mode) ? "file of " + std::to_string(status.st_size) + " bytes" : "other";
}

std::string List(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return "absent";
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) names.emplace_back(entry->d_name);
  closedir(directory);
  std::sort(names.begin(), names.end());
  std::string line;
  for (const std::string& name : names) line += name + " ";
  return line;
}

std::string Environment() {
  std::string line;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    line += std::string(*variable) + " ";
  }
  return line;
}

std::string Unique() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(getpid()) + "." + std::to_string(now.tv_sec) + "." +
         std::to_string(now.tv_nsec);
}

std::string WorkingDirectory() {
  char path[PATH_MAX];
  return getcwd(path, sizeof(path)) == nullptr ? "absent" : path;
}

}  // namespace

bool ReadFile(const std::string& path, std::string& contents) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return false;
  contents.clear();
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) contents += static_cast<char>(c);
  std::fclose(file);
  return true;
}

bool Ask(const std::string& command, const std::string& argument, std::string& notes) {
  std::string answer;
  if (command == "open") {
    if (!ReadFile(argument, answer)) answer = "absent";
  } else if (command == "stat") {
    answer = Describe(argument);
  } else if (command == "list") {
    answer = List(argument);
  } else if (command == "environment") {
    answer = Environment();
  } else if (command == "working-directory") {
    answer = WorkingDirectory();
  } else if (command == "unique") {
    answer = Unique();
  } else {
    return false;
  }
  notes += command + " " + argument + ": " + answer + "\n";
  return true;
}

}  // namespace fake_toolchain
