// Which instruction set the kernels run at: the best this machine has, or the one
// that the environment variable DUALSTRUCT_SIMD (baseline, avx2, avx512) asks for.
#pragma once

#include <string>
#include <vector>

namespace dualstruct {

struct ChainKernels;

std::vector<std::string> simd_levels();  // those this machine can run, slowest first
const std::string& simd_level();         // the one in use
const ChainKernels& chain_kernels();

}  // namespace dualstruct
