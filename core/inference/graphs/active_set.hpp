// The quadratic problem of one factor, by an active set of its configurations (Martins et al. 2015, §5):
//
//     max_p  Σ_c p_c e_c − ρ/2 ‖Σ_c p_c a_c − z‖²,  p ≥ 0, Σ p = 1
//
// where a_c are the slots that configuration c switches on and e_c its extra score. Only the factor's own
// decoder is asked for; the set is kept from one call to the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/graphs/factor.hpp"

namespace dualstruct::graphs {

class ActiveSet {
public:
    void clear() { count_ = 0; }

    // q = Σ_c p_c a_c. Returns whether the optimum was reached within `steps` changes of the set.
    // `scores` is room for as many numbers as there are slots.
    bool project(const Factor& factor, std::span<const double> z, std::span<const double> extra, double rho, int steps,
                 std::span<double> q, std::span<double> scores);

private:
    std::span<std::int32_t> configuration(int c) { return {configurations_.data() + at(c) * size_, size_}; }
    bool append(const Factor& factor, std::span<const double> extra);
    bool factorise(int from);
    void solve(std::span<const double> z, const Factor& factor, double rho);
    void remove(int c);
    void reserve(int count);

    std::size_t size_ = 0;  // numbers in a configuration
    int count_ = 0, room_ = 0;
    std::vector<std::int32_t> configurations_;  // [room + 1, size]: the last one is the newest decoded
    std::vector<double> p_, wanted_, extra_, right_, ones_;
    std::vector<double> gram_, triangle_;  // [room, room]: a_c·a_c' + 1, and its Cholesky factor
};

}  // namespace dualstruct::graphs
