// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace cccl_cache::daemon {

/// The lines with a path (such as __FILE__) in CCCL up to release 3.6. The compiler's output has
/// the path of such a line as text or not at all, unless a program redefines a macro in the line.
/// The lines are normalised as in PathUsesIn: spliced lines are joined, each comment and each run
/// of blanks is one blank, there is no blank after the first #, and literals are empty.
/// tests/integration/test_cccl_releases.py finds missing lines.
inline constexpr std::array kCcclLines = std::to_array<std::string_view>({
    "#define CUB_COMP_DEPR_IMPL(msg) _CCCL_PRAGMA(message(__FILE__ \"\" "
    "_CCCL_TO_STRING(__LINE__) \"\" #msg))",
    "#define CUB_COMP_DEPR_IMPL(msg) __pragma(message(__FILE__ \"\" "
    "CUB_COMP_DEPR_IMPL0(__LINE__) \"\" #msg))",
    "#define CUDA_CUB_RET_IF_FAIL(e) { auto const error = (e); if (cub::Debug(error, "
    "__FILE__, __LINE__)) return error; }",
    "#define CubDebug(e) CUB_NS_QUALIFIER::Debug((cudaError_t) (e), __FILE__, __LINE__)",
    "#define CubDebugExit(e) if (CUB_NS_QUALIFIER::Debug((cudaError_t) (e), __FILE__, "
    "__LINE__)) { exit(1); }",
    "#define LIBCUDACXX_COMP_DEPR_IMPL(msg) _CCCL_PRAGMA(message(__FILE__ \"\" "
    "_CCCL_TO_STRING(__LINE__) \"\" #msg))",
    "#define THRUST_COMP_DEPR_IMPL(msg) _CCCL_PRAGMA(message(__FILE__ \"\" "
    "_CCCL_TO_STRING(__LINE__) \"\" #msg))",
    "#define THRUST_COMP_DEPR_IMPL(msg) __pragma(message(__FILE__ \"\" "
    "THRUST_COMP_DEPR_IMPL0(__LINE__) \"\" #msg))",
    "#define _CCCL_ASSERT_IMPL_DEVICE(expression, message) "
    "_CCCL_BUILTIN_EXPECT(static_cast<bool>(expression), 1) ? (void) 0 : "
    "__assert2(__FILE__, __LINE__, __func__, message)",
    "#define _CCCL_ASSERT_IMPL_DEVICE(expression, message) "
    "_CCCL_BUILTIN_EXPECT(static_cast<bool>(expression), 1) ? (void) 0 : "
    "__assert_fail(message, __FILE__, __LINE__, __func__)",
    "#define _CCCL_ASSERT_IMPL_DEVICE(expression, message) "
    "_CCCL_BUILTIN_EXPECT(static_cast<bool>(expression), 1) ? (void) 0 : "
    "__assertfail(message, __FILE__, __LINE__, __func__, sizeof(char))",
    "#define _CCCL_ASSERT_IMPL_HOST(expression, message) "
    "_CCCL_BUILTIN_EXPECT(static_cast<bool>(expression), 1) ? (void) 0 : "
    "__assert2(__FILE__, __LINE__, __func__, message)",
    "#define _CCCL_ASSERT_IMPL_HOST(expression, message) "
    "_CCCL_BUILTIN_EXPECT(static_cast<bool>(expression), 1) ? (void) 0 : "
    "__assert_fail(message, __FILE__, __LINE__, __func__)",
    "#define _CCCL_ASSERT_IMPL_HOST(expression, message) "
    "_CCCL_BUILTIN_EXPECT(static_cast<bool>(expression), 1) ? (void) 0 : "
    "__assert_rtn(__func__, __FILE__, __LINE__, __message__)",
    "#define _CCCL_ASSERT_IMPL_HOST(expression, message) "
    "_CCCL_BUILTIN_EXPECT(static_cast<bool>(expression), 1) ? (void) 0 : "
    "__assert_rtn(__func__, __FILE__, __LINE__, message)",
    "#define _CCCL_ASSERT_IMPL_HOST(expression, message) static_cast<bool>(expression) ? "
    "(void) 0 : __assert_fail(message, __FILE__, __LINE__, __func__);",
    "#define _CCCL_BUILTIN_FILE() __FILE__",
    "#define _CCCL_BUILTIN_FILE() __builtin_FILE()",
    "#define _CCCL_THROW(_TYPE, ...) do { NV_IF_ELSE_TARGET(NV_IS_HOST, ({ "
    "::fprintf(stderr, \"\", __FILE__, __LINE__, #_TYPE, (_TYPE(__VA_ARGS__)).what()); "
    "::fflush(stderr); }), ({ _CCCL_ASSERT(false, \"\" #_TYPE \"\"); })) "
    "::cuda::std::terminate(); } while (0)",
    "#define _CCCL_WARNING(_MSG) _CCCL_PRAGMA(message(__FILE__ \"\" "
    "_CCCL_TO_STRING(__LINE__) \"\" _MSG))",
    "#define _CUDA_CUB_RET_IF_FAIL(e) { auto const error = (e); if (cub::Debug(error, "
    "__FILE__, __LINE__)) return error; }",
    "#define _LIBCUDACXX_ASSERT(expression, message) (_CCCL_DIAG_PUSH "
    "_CCCL_DIAG_SUPPRESS_CLANG(\"\") __builtin_expect(static_cast<bool>(expression), 1) ? "
    "(void)0 : ::_CUDA_VSTD::__libcpp_verbose_abort(\"\", __FILE__, __LINE__, #expression, "
    "message)",
    "#define _LIBCUDACXX_ASSERT(expression, message) (_LIBCUDACXX_DIAGNOSTIC_PUSH "
    "_LIBCUDACXX_CLANG_DIAGNOSTIC_IGNORED(\"\") "
    "__builtin_expect(static_cast<bool>(expression), 1) ? (void)0 : "
    "::_CUDA_VSTD::__libcpp_verbose_abort(\"\", __FILE__, __LINE__, #expression, message)",
    "#define _LIBCUDACXX_ASSERT(x, m) ((x) ? (void)0 : "
    "_CUDA_VSTD::__libcpp_debug_function(_CUDA_VSTD::__libcpp_debug_info(__FILE__, "
    "__LINE__, #x, m)))",
    "#define _LIBCUDACXX_WARNING(x) __pragma(message(__FILE__ \"\" "
    "_LIBCUDACXX_TOSTRING(__LINE__) \"\" x))",
    "#define _WS_CONSTANT_ASSERT(expr, msg) do { if (!(expr)) { asm volatile(\"\" __FILE__ "
    "\"\" _CCCL_TO_STRING( __LINE__) \"\" \"\" msg \"\" ::\"\"(__func__)); } } while (0)",
    "#if _CCCL_HAS_BUILTIN(__builtin_FILE) || _CCCL_COMPILER(GCC) || _CCCL_COMPILER(MSVC, "
    ">=, 19, 27)",
    "#include <cuda/std/source_location>",
    "#undef _CCCL_BUILTIN_FILE",
    "::cuda::std::source_location = ::cuda::std::source_location::current())",
    "::cuda::std::source_location = ::cuda::std::source_location::current()) noexcept",
    "::cuda::std::source_location __loc = ::cuda::std::source_location::current()) noexcept",
    "::cuda::std::source_location __loc = ::cuda::std::source_location::current(),",
    "[[maybe_unused]] ::cuda::std::source_location __loc = "
    "::cuda::std::source_location::current())",
    "[[maybe_unused]] _CUDA_VSTD::source_location __loc = "
    "_CUDA_VSTD::source_location::current())",
    "[[nodiscard]] _CCCL_API constexpr const char* file_name() const noexcept",
    "[[nodiscard]] _CCCL_API static constexpr source_location current(",
    "_CCCL_API explicit constexpr source_location(",
    "_CCCL_HIDE_FROM_ABI constexpr source_location() = default;",
    "_CCCL_NODISCARD _LIBCUDACXX_HIDE_FROM_ABI constexpr const char* file_name() const "
    "noexcept",
    "_CCCL_NODISCARD _LIBCUDACXX_HIDE_FROM_ABI static constexpr source_location current(",
    "_CUDA_VSTD::source_location = _CUDA_VSTD::source_location::current())",
    "_CUDA_VSTD::source_location = _CUDA_VSTD::source_location::current()) noexcept",
    "_CUDA_VSTD::source_location __loc = _CUDA_VSTD::source_location::current()) noexcept",
    "_CUDA_VSTD::source_location __loc = _CUDA_VSTD::source_location::current(),",
    "_LIBCUDACXX_HIDE_FROM_ABI explicit constexpr source_location(",
    "__FILE__, __LINE__, \"\", \"\")),",
    "__assert_fail(const char* __assertion, const char* __file, unsigned int __line, const "
    "char* __function) noexcept",
    "__cpp_lib_source_location 201907L <source_location>",
    "__loc.file_name(),",
    "__throw_cuda_error(const char* __msg, const char* __api, const "
    "::cuda::std::source_location& __loc)",
    "__throw_cuda_error(int __error, const char* __msg, const char* __api, const "
    "::cuda::std::source_location& __loc)",
    "class source_location",
    "const ::cuda::std::source_location& __loc = ::cuda::std::source_location::current())",
    "const ::cuda::std::source_location& __loc = ::cuda::std::source_location::current());",
    "const ::cuda::std::source_location& __loc,",
    "const char* __file = _CCCL_BUILTIN_FILE(),",
    "return __s ? _Traits::length(__s) : "
    "(_CUDA_VSTD::__libcpp_debug_function(_CUDA_VSTD::__libcpp_debug_info(__FILE__, "
    "__LINE__, \"\", \"\")), 0);",
    "return source_location{__file, __func, __line, __column};",
    "void __assert_fail(const char* __assertion, const char* __file, unsigned int __line, "
    "const char* __function) noexcept",
    "void __assert_rtn(const char* __function, const char* __assertion, const char* "
    "__file, unsigned int __line) noexcept",
});

}  // namespace cccl_cache::daemon
