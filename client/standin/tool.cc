// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/tool.h"

namespace cccl_cache::standin {
namespace {

constexpr std::string_view kPtxasVariables[] = {"PTXAS", "FINALIZER"};

// The options of ptxas 12 and 13, and one that Triton uses and --help does not list. Left out are
// options that read or write other files, and options whose output may depend on the machine
// (--split-compile).
constexpr Tool kPtxas = {
    .name = "ptxas",
    .name_space = "cccl.ptxas",
    .flags =
        " --compile-as-tools-patch -astoolspatch --compile-only -c --device-debug -g "
        "--disable-optimizer-constants -disable-optimizer-consts --disable-warnings -w "
        "--dont-merge-basicblocks -no-bb-merge --extensible-whole-program -ewp "
        "--generate-line-info -lineinfo --make-errors-visible-at-exit -make-errors-visible-at-exit "
        "--optimize-float-atomics -opt-fp-atomics --preserve-relocs -preserve-relocs "
        "--return-at-end -ret-end --sp-bounds-check -sp-bounds-check --suppress-debug-info "
        "-suppress-debug-info --suppress-double-demote-warning -suppress-double-demote-warning "
        "--suppress-stack-size-warning -suppress-stack-size-warning --verbose -v "
        "--warn-on-double-precision-use -warn-double-usage --warn-on-local-memory-usage "
        "-warn-lmem-usage --warn-on-spills -warn-spills --warning-as-error -Werror "
        "-O0 -O1 -O2 -O3 -O4 -m64 ",
    .with_value =
        " --Ofast-compile -Ofc --allow-expensive-optimizations -allow-expensive-optimizations "
        "--def-load-cache -dlcm --def-store-cache -dscm --device-function-maxrregcount "
        "-func-maxrregcount --device-stack-protector -device-stack-protector --entry -e --fmad "
        "-fmad --force-load-cache -flcm --force-store-cache -fscm --gpu-name -arch --machine -m "
        "--maxntid -maxntid --maxrregcount -maxrregcount --minnctapersm -minnctapersm --opt-level "
        "-O --position-independent-code -pic --regAllocOptLevel --register-usage-level "
        "-regUsageLevel ",
    .with_next_word =
        " --Ofast-compile -Ofc --gpu-name -arch --maxrregcount -maxrregcount "
        "--opt-level ",
    .showing_paths = " --device-debug -g ",
    .variables = kPtxasVariables,
};

// tileiras passes its environment to libNVVM, which contains LLVM, and to ptxas, so their variables
// also change its output.
constexpr std::string_view kTileirasVariables[] = {"TILE",    "MLIR",  "LLVM",     "NVVM",
                                                   "LIBNVVM", "PTXAS", "FINALIZER"};
constexpr std::string_view kTileirasLibraries[] = {"nvvm/lib64/libnvvm.so", "lib/libnvvm.so.4"};
constexpr std::string_view kTileirasDirectories[] = {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"};

// The options of tileiras 13.1 to 13.5. Left out are options that read or write other files or
// print remarks. Also left out is --preview: with it, a kernel may be linked with files that the
// tool chooses.
constexpr Tool kTileiras = {
    .name = "tileiras",
    .name_space = "cccl.tileiras",
    .flags = " --device-debug -g --lineinfo -O0 -O1 -O2 -O3 ",
    .with_value = " --gpu-name --arch --opt-level --sanitize ",
    .with_next_word = " --gpu-name --arch --opt-level --sanitize ",
    .showing_paths = "",  // paths in the output are from the bytecode, the input
    .variables = kTileirasVariables,
    .program = "bin/ptxas",
    .libraries = kTileirasLibraries,
    .directory_variables = kTileirasDirectories,
};

}  // namespace

const Tool* FindTool(std::string_view name) {
  for (const Tool* tool : {&kPtxas, &kTileiras}) {
    if (name.starts_with(tool->name)) return tool;
  }
  return nullptr;
}

}  // namespace cccl_cache::standin
