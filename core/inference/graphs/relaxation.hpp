// MAP inference by linear relaxation: AD3 (Martins, Figueiredo, Aguiar, Smith, Xing 2015), with branch
// and bound on request.
//
//     max Σ_i θ_i x_i + Σ_a (extra score of factor a's configuration),  x_i ∈ {0, 1} for each slot i
//
// Each factor keeps its own copy q of its slots; multipliers λ draw the copies to their average u:
//
//     q_a = argmax_q Σ_i (θ_i/d_i + λ_ia) q_i + extra − ρ/2 ‖q − u‖²   over the hull of a's configurations
//     u_i = mean of the copies of i         λ_ia −= ρ (q_ia − u_i)
//
// where d_i is the number of factors that slot i is in. With Σ_a λ_ia = 0 the sum of the factors' own
// maxima bounds the optimum from above. A slot that is fixed (by the caller or by branching) has u_i = its
// value and free multipliers; the bound then loses u_i Σ_a λ_ia.
//
// Nothing is allocated between the iterations, and a cleared relaxation reuses its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "inference/graphs/active_set.hpp"
#include "inference/graphs/factor.hpp"

namespace dualstruct::graphs {

struct RelaxationOptions {
    int max_iterations = 1000;   // of AD3, for each node of the search
    double rho = 1.0;            // first ρ, relative to the mean size of the scores
    double residual = 1e-4;      // AD3 ends when both residuals are below it
    double tolerance = 1e-6;     // bound and score count as equal within tolerance·max(1, |score|)
    int bound_every = 10;        // iterations between two bounds
    int active_set_steps = 10;   // of one quadratic problem; the next iteration continues from there
    bool branch = false;         // branch and bound until the assignment is proven the best
    int max_nodes = 10000;
    std::function<bool()> interrupted;  // asked now and then; true ends the search
};

enum class Status : std::uint8_t {
    solved,      // slots hold an allowed assignment; `exact` says whether it is proven the best
    infeasible,  // proven: no assignment is allowed
    unknown,     // none was found within the limits
};

struct RelaxationResult {
    Status status = Status::unknown;
    std::vector<std::uint8_t> slots;  // the best assignment found
    std::vector<double> relaxed;      // u: the solution of the relaxation at the root of the search
    double score = minus_infinity;    // of `slots`
    double bound = 0;                 // no assignment scores more
    bool exact = false;               // bound = score within the tolerance
    int iterations = 0;
    int nodes = 0;
};

class Relaxation {
public:
    // A slot as a factor sees it: its number, or ~number where the factor sees its negation.
    using Link = std::int32_t;

    void clear();
    // Slots come before the factors over them.
    int add_slot(double score);
    void fix(int slot, bool on) { given_[at(slot)] = on; }

    // `score` when both are on.
    void add_pair(int a, int b, double score);
    // At least `least` and at most `most` are on: XOR (1, 1), at most one (0, 1), OR (1, n), budget (0, b).
    void add_count(std::span<const Link> links, int least, int most);
    // The last is on exactly when one of the others is.
    void add_or_out(std::span<const Link> links);
    // The factor must outlive the solution; its extra scores are copied.
    void add_factor(const Factor& factor, std::span<const Link> links, std::span<const double> extra);

    int slots() const { return static_cast<int>(theta_.size()); }

    // Makes an assignment from u, to be tried as a solution; by default slots above 1/2 are on, and
    // factors that this violates then switch their slots to their best configuration.
    using Rounding = std::function<void(std::span<const double> relaxed, std::span<std::uint8_t> slots)>;
    void set_rounding(Rounding rounding) { rounding_ = std::move(rounding); }

    const RelaxationResult& solve(const RelaxationOptions& options);

    // Σ θ x + extras of an assignment; −∞ when a factor forbids it.
    double score(std::span<const std::uint8_t> slots) const;

private:
    enum class Kind : std::uint8_t { pair, count, or_out, other };
    struct Entry {
        Kind kind;
        std::int32_t begin, end;  // links
        std::int32_t least, most;
        std::int32_t other;  // into others_
        double score;
    };
    struct Other {
        const Factor* factor;
        std::int32_t extra_begin, extra_end;
    };
    enum class Node : std::uint8_t { pruned, fractional, integral };

    void add_entry(Kind kind, std::span<const Link> links, int least, int most);
    void prepare();
    void start();
    double iterate(bool everything);
    void load(const Entry& a);
    bool project(const Entry& a);
    double maximum(const Entry& a);
    double upper_bound();
    void try_rounding();
    void repair(std::span<std::uint8_t> slots);
    bool allows(const Entry& a, std::span<const std::uint8_t> slots, double& score) const;
    Node relax(const RelaxationOptions& options, double& bound);
    void search(const RelaxationOptions& options);
    bool closed(double bound) const;
    void fix_slot(int slot, std::int8_t value);
    int branching_slot() const;
    std::span<const double> extra_of(const Other& other) const {
        return {extra_.data() + other.extra_begin, at(other.extra_end - other.extra_begin)};
    }

    // Slots.
    std::vector<double> theta_, u_, previous_u_;
    std::vector<std::int32_t> degree_;
    std::vector<std::int8_t> given_, fixed_;  // −1: free
    // Factors and their links.
    std::vector<Entry> entries_;
    std::vector<Link> links_;
    std::vector<double> lambda_, copy_, target_;  // [links]: λ, q, and what q was last projected from
    std::vector<Other> others_;
    std::vector<double> extra_;
    std::vector<ActiveSet> active_;  // [others]; kept when cleared, for their memory
    std::vector<std::uint8_t> settled_;  // [factors]: q is the exact projection of target

    double rho_ = 1, scale_ = 1, primal_residual_ = 0, dual_residual_ = 0, least_score_ = 0;
    std::vector<double> scores_, work_;
    std::vector<std::int32_t> configuration_;
    std::vector<std::uint8_t> rounded_, local_;
    bool stopped_ = false;
    Rounding rounding_;
    RelaxationOptions options_;
    RelaxationResult result_;
};

}  // namespace dualstruct::graphs
