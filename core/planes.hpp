// The bundle of the 1-slack cutting plane method: planes below the risk R(w) = Σ_i ℓ_i(w), each
// made of one output an example.
//
//   R(w) ≥ offset − w·g,   g = Σ_i c_i δ_i(y_i'),   0 ≤ R(w)
//   max_α≥0, Σα≤C  Σ_p α_p offset_p − ½‖Σ_p α_p g_p‖²,   w = center + Σ_p α_p g_p
//
// For the hinge c = 1 and the offset is Σ Δ (Joachims et al. 2009); for the squared hinge the
// tangent at H has c = 2H and offset 2HΔ − H². With a center the offsets fall by center·g.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "passes.hpp"
#include "rules/smo.hpp"

namespace dualstruct {

class PlaneStore {
public:
    PlaneStore(const Structure& structure, Weights& w, const Weights* center)
        : structure_(structure), w_(w), center_(center), dense_(structure) {
        rebuild();
    }

    // The plane that touches the risk at w. Returns Σ_i ℓ_i(w).
    double add(bool squared, int threads, const Interrupt& interrupt) {
        Plane plane;
        std::vector<Difference> found(static_cast<std::size_t>(structure_.size()));
        std::vector<double> violations =
            for_all(structure_, threads, interrupt, [&](std::int64_t i, Scratch& scratch, Difference&, bool more) {
                Difference& difference = found[static_cast<std::size_t>(i)];
                if (more) structure_.prefetch_decode(w_.data(), i + 1);
                structure_.decode(w_.data(), i, 1, scratch);
                structure_.difference(i, scratch.output, difference);
                return difference.is_truth ? 0 : difference.cost - structure_.dot(w_.data(), i, difference.words);
            });
        double risk = 0;
        for (std::int64_t i = 0; i < structure_.size(); ++i) {
            const Difference& difference = found[static_cast<std::size_t>(i)];
            const double H = violations[static_cast<std::size_t>(i)];
            if (difference.is_truth || H <= 0) continue;
            risk += squared ? H * H : H;
            plane.offset += squared ? 2 * H * difference.cost - H * H : difference.cost;
            plane.examples.push_back(i);
            plane.coefficients.push_back(static_cast<float>(squared ? 2 * H : 1));
            plane.words.insert(plane.words.end(), difference.words.begin(), difference.words.end());
            plane.ends.push_back(plane.words.size());
        }
        if (plane.examples.empty()) return risk;
        if (center_) plane.offset -= dot(plane, *center_);
        // The new row of the Gram matrix, from the plane laid out densely.
        std::fill_n(dense_.data(), dense_.dimension(), 0.0f);
        axpy(plane, dense_, 1);
        const std::size_t size = planes_.size();
        planes_.push_back(std::move(plane));
        std::vector<double> row(planes_.size());
        for_each_range(static_cast<std::int64_t>(row.size()), threads, [&](std::int64_t begin, std::int64_t end, int) {
            for (auto p = static_cast<std::size_t>(begin); p < static_cast<std::size_t>(end); ++p) {
                row[p] = dot(planes_[p], dense_);
            }
        });
        for (std::size_t p = 0; p < size; ++p) gram_[p].push_back(row[p]);
        gram_.push_back(std::move(row));
        return risk;
    }

    // Solves the dual over the planes to a tolerance, drops planes idle for `patience` rounds, and
    // brings w up to date.
    void solve(double C, double tolerance, int patience) {
        std::vector<double> before;
        for (const Plane& plane : planes_) before.push_back(plane.alpha);
        Block block(*this, C);
        smo(block, tolerance, 1000000);
        for (std::size_t p = 0; p < planes_.size(); ++p) {
            const double step = planes_[p].alpha - before[p];
            if (step != 0) axpy(planes_[p], w_, static_cast<float>(step));
            planes_[p].idle = planes_[p].alpha > 0 ? 0 : planes_[p].idle + 1;
        }
        for (std::size_t p = planes_.size(); p-- > 0;) {
            if (planes_[p].idle >= patience) remove(p);
        }
    }

    // Σ_p α_p offset_p − ½‖Σ_p α_p g_p‖², from the Gram matrix.
    double dual() const {
        double linear = 0, quadratic = 0;
        for (std::size_t p = 0; p < planes_.size(); ++p) {
            linear += planes_[p].alpha * planes_[p].offset;
            for (std::size_t q = 0; q < planes_.size(); ++q) {
                quadratic += planes_[p].alpha * planes_[q].alpha * gram_[p][q];
            }
        }
        return linear - 0.5 * quadratic;
    }

    std::int64_t size() const { return static_cast<std::int64_t>(planes_.size()); }

    void rebuild() {
        w_.start_from(center_);
        structure_.derive(w_.data());
        for (const Plane& plane : planes_) axpy(plane, w_, static_cast<float>(plane.alpha));
    }

    struct Plane {
        std::vector<std::int64_t> examples;
        std::vector<float> coefficients;
        std::vector<Word> words;  // of all examples, one after the other
        std::vector<std::size_t> ends;
        double offset = 0, alpha = 0;
        int idle = 0;
    };

    const std::vector<Plane>& planes() const { return planes_; }

    // Takes planes from a checkpoint; their Gram matrix is computed anew.
    void load(std::vector<Plane>&& planes) {
        planes_ = std::move(planes);
        gram_.assign(planes_.size(), std::vector<double>(planes_.size()));
        for (std::size_t p = 0; p < planes_.size(); ++p) {
            std::fill_n(dense_.data(), dense_.dimension(), 0.0f);
            axpy(planes_[p], dense_, 1);
            for (std::size_t q = 0; q <= p; ++q) gram_[p][q] = gram_[q][p] = dot(planes_[q], dense_);
        }
    }

private:
    // The planes as smo sees them; −1 is the plane 0 ≤ R(w).
    struct Block {
        Block(PlaneStore& store, double C) : store(store), C(C) {
            for (std::size_t p = 0; p < store.planes_.size(); ++p) {
                double F = store.planes_[p].offset;
                for (std::size_t q = 0; q < store.planes_.size(); ++q) F -= store.planes_[q].alpha * store.gram_[p][q];
                F_.push_back(F);
                sum += store.planes_[p].alpha;
            }
        }
        int size() const { return static_cast<int>(store.planes_.size()); }
        double alpha(int p) const {
            if (p >= 0) return store.planes_[static_cast<std::size_t>(p)].alpha;
            return C - sum > 1e-12 * C ? C - sum : 0;
        }
        double violation(int p) const { return F_[static_cast<std::size_t>(p)]; }
        double distance2(int p, int q) const { return gram(p, p) + gram(q, q) - 2 * gram(p, q); }
        double gram(int p, int q) const {
            return p < 0 || q < 0 ? 0 : store.gram_[static_cast<std::size_t>(p)][static_cast<std::size_t>(q)];
        }
        void move(int p, int q, double d) {
            if (q >= 0) {
                double& alpha = store.planes_[static_cast<std::size_t>(q)].alpha;
                alpha = d == alpha ? 0 : alpha - d;
                sum -= d;
            }
            if (p >= 0) {
                store.planes_[static_cast<std::size_t>(p)].alpha += d;
                sum += d;
            }
            for (int k = 0; k < size(); ++k) F_[static_cast<std::size_t>(k)] -= d * (gram(k, p) - gram(k, q));
        }
        PlaneStore& store;
        double C, sum = 0;
        std::vector<double> F_;
    };

    template <class Visit>
    void for_each(const Plane& plane, Visit visit) const {
        std::size_t begin = 0;
        for (std::size_t k = 0; k < plane.examples.size(); ++k) {
            visit(plane.examples[k], plane.coefficients[k],
                  std::span<const Word>(plane.words.data() + begin, plane.ends[k] - begin));
            begin = plane.ends[k];
        }
    }
    double dot(const Plane& plane, const Weights& w) const {
        double total = 0;
        for_each(plane, [&](std::int64_t i, float c, std::span<const Word> words) {
            total += c * structure_.dot(w.data(), i, words);
        });
        return total;
    }
    void axpy(const Plane& plane, Weights& w, float step) const {
        for_each(plane, [&](std::int64_t i, float c, std::span<const Word> words) {
            structure_.axpy(w.data(), i, words, step * c);
        });
    }
    void remove(std::size_t p) {
        planes_.erase(planes_.begin() + static_cast<std::ptrdiff_t>(p));
        gram_.erase(gram_.begin() + static_cast<std::ptrdiff_t>(p));
        for (auto& row : gram_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(p));
    }

    const Structure& structure_;
    Weights& w_;
    const Weights* center_;
    Weights dense_;
    std::vector<Plane> planes_;
    std::vector<std::vector<double>> gram_;
};

}  // namespace dualstruct
