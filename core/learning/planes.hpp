// The bundle of the 1-slack cutting plane method: planes below the risk R(w) = Σ_i ℓ_i(w), each
// made of one output per example.
//
//   R(w) ≥ offset − w·g,   g = Σ_i c_i δ_i(y_i'),   0 ≤ R(w)
//   max_α≥0, Σα≤C  Σ_p α_p offset_p − ½‖Σ_p α_p g_p‖²,   w = center + Σ_p α_p g_p
//
// For the hinge c = 1 and the offset is Σ Δ (Joachims et al. 2009); for the squared hinge the
// tangent at H has c = 2H and offset 2HΔ − H². Both are multiplied by the example's weight. With a
// center the offsets fall by center·g.
//
// Every plane is held twice: as the outputs it is made of, which is small and goes into checkpoints,
// and as the sparse vector g, which sums and products read in order, a part of the weights per thread.
// From two threads on, g is the same on any number of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "learning/examples.hpp"
#include "learning/passes.hpp"
#include "learning/range_sums.hpp"
#include "learning/weights.hpp"

namespace dualstruct {

class PlaneStore {
public:
    PlaneStore(const Examples& examples, Weights& w, const Weights* center);

    // The plane that touches the risk at w. Returns Σ_i ℓ_i(w).
    double add(bool squared, int threads, const Interrupt& interrupt);

    // Solves the dual over the planes to a tolerance, drops planes idle for `patience` rounds, and
    // brings w up to date.
    void solve(double C, double tolerance, int patience, int threads);

    // Σ_p α_p offset_p − ½‖Σ_p α_p g_p‖², from the Gram matrix.
    double dual() const;

    // The risk at w as the planes know it: max_p offset_p − w·g_p, or 0.
    double slack();

    std::int64_t size() const { return static_cast<std::int64_t>(planes_.size()); }

    void rebuild(int threads);

    struct Plane {
        std::vector<std::int64_t> examples;
        std::vector<float> coefficients;
        std::vector<Code> codes;  // of all examples, one after the other
        std::vector<std::size_t> ends;
        double offset = 0, alpha = 0;
        int idle = 0;
        std::vector<std::uint32_t> places;  // where g is not 0, in order
        std::vector<float> values;          // g there

        std::int64_t example(std::int64_t k) const { return examples[at(k)]; }
        std::span<const Code> codes_of(std::int64_t k) const {
            const std::size_t begin = k ? ends[at(k) - 1] : 0;
            return {codes.data() + begin, ends[at(k)] - begin};
        }
        std::size_t find(std::int64_t place) const;
        // Takes the entries that are not 0 of the piece of g from `first` on.
        void take(std::span<const float> g, std::int64_t first);
        double dot(const float* w, std::size_t begin, std::size_t end) const;
        void axpy(float* w, std::size_t begin, std::size_t end, float step) const;
    };

    const std::vector<Plane>& planes() const { return planes_; }

    // In memory there are their products, each with each.
    static constexpr std::size_t most_planes = 10000;

    // Takes planes from a checkpoint, if each is below the risk; their Gram matrix is recomputed.
    void load(std::vector<Plane>&& planes, bool squared, int threads);

private:
    // The offset that a plane should have without a center, and what its rounding is relative to.
    struct Height {
        double offset = 0, scale = 0;
    };
    // Any coefficients c ≥ 0 make a tangent of the squared hinge, that at H = c/2; those of the hinge are the weights.
    Height height(const Plane& plane, bool squared, Scratch& scratch) const;
    struct Block;  // the planes as smo sees them

    // Writes g into dense_, and what is not 0 there into the plane.
    void lay_out(Plane& plane, int threads);
    // Makes dense_ 0 again after lay_out.
    void clear(const Plane& plane, int threads);
    // The products of the first planes with the one laid out.
    std::vector<double> products(std::size_t count, int threads) const;
    // w += Σ_p steps_p g_p.
    void add_planes(const std::vector<double>& steps, int threads);
    // Where the weights of a thread begin, so that all have as many of the newest plane's.
    std::int64_t boundary(std::int64_t part, int threads) const;
    // visit(p, begin, end) of these planes' entries begin … end − 1 in a piece of the weights that the cache
    // holds, then in the next piece.
    template <class Visit>
    void by_chunks(const std::vector<std::size_t>& some, std::int64_t first, std::int64_t last, Visit visit) const;
    static constexpr std::int64_t chunk = 1 << 16;

    void remove(std::size_t p);

    const Examples& examples_;
    const Structure& structure_;
    Weights& w_;
    const Weights* center_;
    std::vector<Difference> found_;  // buffers of add, an example each
    Weights dense_;                  // the newest plane; 0 between calls
    RangeSums sums_;                 // of what several threads add to it
    std::vector<Plane> planes_;
    std::vector<std::vector<double>> gram_;
};

}  // namespace dualstruct
