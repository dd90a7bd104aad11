# SPDX-License-Identifier: Apache-2.0
# gnvcc.cmake: build a project's CUDA with gnvcc, and tune it by a target. Include it before project(), or leave the
# project as it is (CMake 3.24 and later):
#
#   cmake -B build -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=/path/to/gnvcc.cmake
#
# Without gnvcc in PATH, or beside this file's prefix, the project builds with nvcc as ever. A compiler that you name
# yourself (CMAKE_CUDA_COMPILER, CUDACXX) is kept.
#
#   gnvcc_tune(app ARGS ...)   adds the target tune-app: runs app once with the arguments, and rebuilds what can be faster;
#                              the next build links it

include_guard(GLOBAL)

find_program(GNVCC_PROGRAM gnvcc HINTS "${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_CURRENT_LIST_DIR}/../bin" "${CMAKE_CURRENT_LIST_DIR}/.."
  "${CMAKE_CURRENT_LIST_DIR}/../../bin") # a clone's bin, or a tarball's; where make install has put this file
mark_as_advanced(GNVCC_PROGRAM)

if(NOT GNVCC_PROGRAM)
  message(STATUS "gnvcc was not found: CUDA is built by nvcc")
elseif(NOT DEFINED CMAKE_CUDA_COMPILER AND "$ENV{CUDACXX}" STREQUAL "")
  set(CMAKE_CUDA_COMPILER "${GNVCC_PROGRAM}" CACHE FILEPATH "CUDA compiler")
endif()

function(gnvcc_tune target)
  if(NOT GNVCC_PROGRAM)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 tune "" "" "ARGS")
  add_custom_target(tune-${target}
    COMMAND "${GNVCC_PROGRAM}" tune --apply -- "$<TARGET_FILE:${target}>" ${tune_ARGS}
    DEPENDS ${target} USES_TERMINAL VERBATIM)
endfunction()
