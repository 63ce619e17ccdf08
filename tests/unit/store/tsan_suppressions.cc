// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The distribution's RocksDB and its libraries are not built with ThreadSanitizer, which therefore
// does not see how their threads synchronise. Only the sanitizer's runtime calls these functions.
extern "C" {
const char* __tsan_default_options();
const char* __tsan_default_suppressions();
}

const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

const char* __tsan_default_suppressions() {
  return "called_from_lib:librocksdb.so\n"
         "race:librocksdb.so\n";
}
