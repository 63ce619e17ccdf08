// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/database_opening.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <variant>

namespace cccl_cache::daemon {
namespace {

// The version of everything in the database, entries included; a change of any of it bumps this.
constexpr std::string_view kFormat = "2";
constexpr std::string_view kFormatName = "store.format";

using Attempt = std::variant<std::unique_ptr<Database>, DatabaseError>;

/// Writes the format into a database that is new, compares it in one that is not.
std::optional<DatabaseError> CheckFormat(Database& database, bool is_new) {
  using Kind = DatabaseError::Kind;
  if (is_new) {
    const ColumnWrite write{Column::kMeta, std::string(kFormatName), std::string(kFormat)};
    if (auto error = database.Write({&write, 1})) return error;
    return database.Flush();  // so that no damage to the log can lose it
  }
  std::string format;
  switch (
      database.Read(Column::kMeta, kFormatName, [&](std::string_view value) { format = value; })) {
    case Database::Found::kYes:
      if (format == kFormat) return std::nullopt;
      return DatabaseError{
          Kind::kForeignFormat,
          fmt::format("its format is {:.32}, this version knows {}", format, kFormat)};
    case Database::Found::kNo:
      return DatabaseError{Kind::kForeignFormat, "it does not say its format"};
    case Database::Found::kDamaged:
      return DatabaseError{Kind::kDamaged, "its format can't be read"};
    case Database::Found::kFailed:
      break;
  }
  return DatabaseError{Kind::kUnavailable, "its format can't be read now"};
}

Attempt OpenChecked(const StateDirectory& directory, const DatabaseOptions& options) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(directory.database_path(), ignored);
  Attempt attempt = Database::Open(directory.database_path(), options);
  if (auto* database = std::get_if<0>(&attempt)) {
    if (auto error = CheckFormat(**database, is_new)) return *std::move(error);
  }
  return attempt;
}

bool IsOfTheDisk(const DatabaseError& error) {
  return error.kind == DatabaseError::Kind::kDiskFull ||
         error.kind == DatabaseError::Kind::kUnavailable;
}

Result<OpenedDatabase> Unopened(const StateDirectory& directory, const DatabaseError& error) {
  if (error.kind == DatabaseError::Kind::kDiskFull) return OpenedDatabase{nullptr, false, error};
  return Error{
      ErrorCode::kUnavailable,
      fmt::format(
          "the database {} can't be opened as uid {}: {}. Check that this uid owns it and that the "
          "disk has space, or name another directory with --state-dir.",
          directory.database_path(), geteuid(), error.message)};
}

}  // namespace

Result<OpenedDatabase> OpenDatabase(const StateDirectory& directory, DatabaseOptions options,
                                    const Report& report) {
  Attempt attempt = OpenChecked(directory, options);
  if (auto* database = std::get_if<0>(&attempt)) return OpenedDatabase{std::move(*database), false};
  if (std::get<1>(attempt).kind == DatabaseError::Kind::kDamaged) {
    report(fmt::format(
        "the database {} is damaged ({}): opening it without the latest writes that can't be read",
        directory.database_path(), std::get<1>(attempt).message));
    options.skip_damaged_log = true;
    attempt = OpenChecked(directory, options);
    if (auto* database = std::get_if<0>(&attempt))
      return OpenedDatabase{std::move(*database), true};
  }
  if (IsOfTheDisk(std::get<1>(attempt))) return Unopened(directory, std::get<1>(attempt));

  report(fmt::format(
      "the database {} can't be used ({}): set aside as {}, starting with an empty one",
      directory.database_path(), std::get<1>(attempt).message, directory.set_aside_path()));
  if (const Status moved = directory.SetDatabaseAside(); !moved) return moved.error();
  options.skip_damaged_log = false;
  attempt = OpenChecked(directory, options);
  if (auto* database = std::get_if<0>(&attempt)) return OpenedDatabase{std::move(*database), false};
  return Unopened(directory, std::get<1>(attempt));
}

}  // namespace cccl_cache::daemon
