# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# BUNDLE=DIRECTORY cpack --config deploy/rpm/CPackConfig.cmake -D CPACK_PACKAGE_VERSION=VERSION:
# makes one package for all systems with glibc 2.31 or newer, from the files that deploy/make_bundle
# has put into DIRECTORY/usr.
if(NOT EXISTS "$ENV{BUNDLE}/usr/bin/cccl-cached")
  message(FATAL_ERROR "BUNDLE=$ENV{BUNDLE} names no bundle")
endif()
set(CPACK_GENERATOR RPM)
set(CPACK_PACKAGE_NAME cccl-cached)
set(CPACK_PACKAGE_VENDOR "the cccl-cached authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compile cache for CUDA programs")
set(CPACK_PACKAGE_DESCRIPTION "The daemon of a node, its command line and its client library: each distinct build of NVRTC,
nvJitLink or libNVVM is compiled once, and later requests are served from memory or disk. CUDA is not included.")
set(CPACK_INSTALLED_DIRECTORIES $ENV{BUNDLE} /)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_PACKAGE_FILE_NAME cccl-cached)  # rpmbuild renames the file
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP "Development/Tools")
# rpm finds the required C library in the programs. It must not find what the package provides,
# because stand-ins have the names of NVIDIA's libraries.
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
set(CPACK_RPM_PACKAGE_AUTOPROV OFF)
set(CPACK_RPM_PACKAGE_PROVIDES "libcccl_cache.so.1()(64bit), libcccl_cache.so.1(CCCL_CACHE_1)(64bit)")
set(CPACK_RPM_PACKAGE_REQUIRES_POST systemd)
set(CPACK_RPM_PACKAGE_REQUIRES_PREUN systemd)
foreach(script PRE_UNINSTALL POST_INSTALL POST_UNINSTALL)
  string(TOLOWER ${script} file)
  set(CPACK_RPM_${script}_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/${file})
endforeach()
# The programs are stripped already, and run at any place. The package tells neither time nor host of its making.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __strip /bin/true
%define debug_package %{nil}
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _buildhost localhost
%define __brp_check_rpaths %{nil}")
# The package does not own the directories of the system.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
  /usr/include /usr/lib64 /usr/lib/cmake /usr/lib/pkgconfig /usr/lib/systemd /usr/lib/systemd/system /usr/lib/systemd/user
  /usr/lib/sysusers.d /usr/libexec /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/fish
  /usr/share/fish/vendor_completions.d /usr/share/man /usr/share/man/man1 /usr/share/man/man8 /usr/share/zsh
  /usr/share/zsh/site-functions)
