# core.wasm: the files of the core that labelling and parsing need, by clang for wasm32 with SIMD and no threads. It is
# the same for all systems: -DDUALSTRUCT_WASM=FILE takes one that was compiled elsewhere, OFF goes without.
set(DUALSTRUCT_WASM "AUTO" CACHE STRING "core.wasm: AUTO (if clang can compile it), a file, or OFF")

# It is installed compressed.
function(install_wasm file)
  set(packed ${CMAKE_CURRENT_BINARY_DIR}/wasm/core.wasm.xz)
  set(squeeze ${CMAKE_CURRENT_SOURCE_DIR}/core/wasm/squeeze.py)
  add_custom_command(OUTPUT ${packed} COMMAND ${Python_EXECUTABLE} ${squeeze} ${file} ${packed}
                     DEPENDS ${file} ${squeeze} VERBATIM)
  add_custom_target(wasm ALL DEPENDS ${packed})
  install(FILES ${packed} DESTINATION dualstruct/exporting/runtime)
endfunction()

set(WASM_SETTINGS --target=wasm32-wasi -msimd128 -mbulk-memory -fvisibility=hidden)
# Optimized when it is linked, which leaves out the virtual functions that only training calls: half of the code.
set(WASM_LINKED_AS_ONE -flto -fwhole-program-vtables -fvirtual-function-elimination)
if(DUALSTRUCT_WASM STREQUAL "AUTO")
  find_program(DUALSTRUCT_WASM_COMPILER NAMES clang++-22 clang++-21 clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++)
  if(DUALSTRUCT_WASM_COMPILER)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/wasm/try.cpp "#include <vector>\nint main() { return (int)std::vector<int>(3).size(); }\n")
    function(try_wasm)
      execute_process(COMMAND ${DUALSTRUCT_WASM_COMPILER} ${ARGN} -std=c++20 -fno-exceptions try.cpp -o try.wasm
                      WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/wasm RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
      set(WASM_FAILED ${failed} PARENT_SCOPE)
    endfunction()
    try_wasm(${WASM_SETTINGS} ${WASM_LINKED_AS_ONE})
    if(NOT WASM_FAILED)
      list(APPEND WASM_SETTINGS ${WASM_LINKED_AS_ONE})
    else()
      try_wasm(${WASM_SETTINGS})
    endif()
  endif()
  if(NOT DUALSTRUCT_WASM_COMPILER OR WASM_FAILED)
    message(STATUS "core.wasm is left out: there is no clang with the libraries for wasm32")
    return()
  endif()
elseif(NOT DUALSTRUCT_WASM)
  return()
else()
  get_filename_component(WASM_FILE ${DUALSTRUCT_WASM} ABSOLUTE)
  install_wasm(${WASM_FILE})
  return()
endif()

# A room, or a folder of one, is compiled at once. What runs for each token or arc is compiled for speed, the rest for
# size.
set(WASM_OBJECTS)
function(add_wasm name optimization)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/wasm/${name}.cpp)
  set(lines "")
  foreach(source ${ARGN})
    string(APPEND lines "#include \"${CMAKE_CURRENT_SOURCE_DIR}/core/${source}.cpp\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${unit} CONTENT "${lines}" @ONLY)
  add_custom_command(
    OUTPUT wasm/${name}.o
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${DUALSTRUCT_WASM_COMPILER} ${WASM_SETTINGS} -std=c++20 ${optimization}
            -I${CMAKE_CURRENT_SOURCE_DIR}/core -DDUALSTRUCT_ISA=baseline -DNDEBUG -ffp-contract=off -fno-math-errno
            -fno-trapping-math -ffunction-sections -fdata-sections -fno-rtti -Wall -Wextra
            -MD -MF wasm/${name}.d -MT wasm/${name}.o -c ${unit} -o wasm/${name}.o
    DEPENDS ${unit} DEPFILE wasm/${name}.d WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} VERBATIM)
  set(WASM_OBJECTS ${WASM_OBJECTS} wasm/${name}.o PARENT_SCOPE)
endfunction()

add_wasm(exports -Os wasm/exports wasm/tagger wasm/parser wasm/characters wasm/runtime)
add_wasm(templates -O3 wasm/features text/templates text/attributes)
add_wasm(text -Os text/token_table text/characters text/clusters text/gazetteer text/marks text/regex text/sentence_ends text/tokenizer
         text/unicode)
# The files of a folder but for those named.
function(add_wasm_folder name optimization folder)
  file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/core ${CMAKE_CURRENT_SOURCE_DIR}/core/${folder}/*.cpp)
  list(TRANSFORM found REPLACE "\\.cpp$" "")
  foreach(other ${ARGN})
    list(REMOVE_ITEM found ${folder}/${other})
  endforeach()
  add_wasm(${name} ${optimization} ${found})
  set(WASM_OBJECTS ${WASM_OBJECTS} PARENT_SCOPE)
endfunction()

add_wasm(kernels -O3 structures/chain/chain_kernels)
add_wasm(arc_kernels -O3 structures/tree/arc_kernels)
add_wasm(tree_kernels -O3 inference/trees/tree_kernels)
add_wasm(tree -O2 structures/tree/arc_features structures/tree/tree)
add_wasm(decoders -O2 inference/trees/chu_liu_edmonds inference/trees/eisner)
add_wasm_folder(chain -Os structures/chain chain_kernels)
add_wasm_folder(second_order_tree -Os structures/tree arc_kernels arc_features tree)
add_wasm_folder(trees -Os inference/trees tree_kernels chu_liu_edmonds eisner)
add_wasm_folder(graphs -Os inference/graphs)

add_custom_command(
  OUTPUT wasm/core.wasm
  COMMAND ${DUALSTRUCT_WASM_COMPILER} ${WASM_SETTINGS} -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all
          -Wl,-z,stack-size=1048576 -Wl,--max-memory=4294967296 ${WASM_OBJECTS}
          -o wasm/core.wasm
  DEPENDS ${WASM_OBJECTS} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} VERBATIM)
install_wasm(${CMAKE_CURRENT_BINARY_DIR}/wasm/core.wasm)
