#include "learning/planes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "learning/measures.hpp"
#include "learning/rules/smo.hpp"

namespace dualstruct {

// The planes as smo sees them; −1 is the plane 0 ≤ R(w).
struct PlaneStore::Block {
    Block(PlaneStore& store, double C) : store(store), C(C) {
        for (std::size_t p = 0; p < store.planes_.size(); ++p) {
            double F = store.planes_[p].offset;
            for (std::size_t q = 0; q < store.planes_.size(); ++q) F -= store.planes_[q].alpha * store.gram_[p][q];
            F_.push_back(F);
            sum += store.planes_[p].alpha;
        }
    }
    int size() const { return static_cast<int>(store.planes_.size()); }
    static bool holds_truth() { return true; }
    double alpha(int p) const {
        if (p >= 0) return store.planes_[at(p)].alpha;
        return C - sum > 1e-12 * C ? C - sum : 0;
    }
    double violation(int p) const { return F_[at(p)]; }
    double distance2(int p, int q) const { return gram(p, p) + gram(q, q) - 2 * gram(p, q); }
    double gram(int p, int q) const { return p < 0 || q < 0 ? 0 : store.gram_[at(p)][at(q)]; }
    void move(int p, int q, double d) {
        if (q >= 0) {
            double& alpha = store.planes_[at(q)].alpha;
            alpha = d == alpha ? 0 : alpha - d;
            sum -= d;
        }
        if (p >= 0) {
            store.planes_[at(p)].alpha += d;
            sum += d;
        }
        for (int k = 0; k < size(); ++k) F_[at(k)] -= d * (gram(k, p) - gram(k, q));
    }
    PlaneStore& store;
    double C, sum = 0;
    std::vector<double> F_;
};

template <class Visit>
void PlaneStore::by_chunks(const std::vector<std::size_t>& some, std::int64_t first, std::int64_t last,
                           Visit visit) const {
    std::vector<std::size_t> at(planes_.size());
    for (std::size_t p : some) at[p] = planes_[p].find(first);
    for (std::int64_t k = first; k < last; k += chunk) {
        const std::int64_t stop = std::min(k + chunk, last);
        for (std::size_t p : some) {
            const std::size_t begin = at[p];
            while (at[p] < planes_[p].places.size() && planes_[p].places[at[p]] < stop) ++at[p];
            visit(p, begin, at[p]);
        }
    }
}

PlaneStore::PlaneStore(const Examples& examples, Weights& w, const Weights* center)
    : examples_(examples), structure_(examples.structure), w_(w), center_(center), found_(at(examples.size())),
      dense_(structure_), sums_(structure_) {
    rebuild(1);
}

double PlaneStore::add(bool squared, int threads, const Interrupt& interrupt) {
    Plane plane;
    std::vector<double> violations =
        for_all(examples_, threads, interrupt, [&](std::int64_t place, Scratch& scratch, Difference&, bool more) {
            const std::int64_t i = examples_[place];
            Difference& difference = found_[at(place)];
            if (more) structure_.prefetch_decode(w_.data(), examples_[place + 1]);
            structure_.decode(w_.data(), i, 1, scratch);
            structure_.difference(i, scratch.output, difference);
            return difference.is_truth ? 0 : difference.cost - structure_.dot(w_.data(), i, difference.codes);
        });
    double risk = 0;
    for (std::int64_t i = 0; i < examples_.size(); ++i) {
        const Difference& difference = found_[at(i)];
        const double H = violations[at(i)], weight = examples_.weight(i);
        if (difference.is_truth || H <= 0 || weight == 0) continue;
        risk += weight * (squared ? H * H : H);
        plane.offset += weight * (squared ? 2 * H * difference.cost - H * H : difference.cost);
        plane.examples.push_back(i);
        plane.coefficients.push_back(static_cast<float>(weight * (squared ? 2 * H : 1)));
        plane.codes.insert(plane.codes.end(), difference.codes.begin(), difference.codes.end());
        plane.ends.push_back(plane.codes.size());
    }
    if (plane.examples.empty()) return risk;
    lay_out(plane, threads);
    if (center_) plane.offset -= plane.dot(center_->data(), 0, plane.places.size());
    const std::size_t size = planes_.size();
    planes_.push_back(std::move(plane));
    std::vector<double> row = products(planes_.size(), threads);
    clear(planes_.back(), threads);
    for (std::size_t p = 0; p < size; ++p) gram_[p].push_back(row[p]);
    gram_.push_back(std::move(row));
    return risk;
}

void PlaneStore::solve(double C, double tolerance, int patience, int threads) {
    std::vector<double> steps;
    for (const Plane& plane : planes_) steps.push_back(-plane.alpha);
    Block block(*this, C);
    smo(block, tolerance, 1000000);
    for (std::size_t p = 0; p < planes_.size(); ++p) {
        steps[p] += planes_[p].alpha;
        planes_[p].idle = planes_[p].alpha > 0 ? 0 : planes_[p].idle + 1;
    }
    add_planes(steps, threads);
    for (std::size_t p = planes_.size(); p-- > 0;) {
        if (planes_[p].idle >= patience) remove(p);
    }
}

double PlaneStore::dual() const {
    double linear = 0, quadratic = 0;
    for (std::size_t p = 0; p < planes_.size(); ++p) {
        linear += planes_[p].alpha * planes_[p].offset;
        for (std::size_t q = 0; q < planes_.size(); ++q) {
            quadratic += planes_[p].alpha * planes_[q].alpha * gram_[p][q];
        }
    }
    return linear - 0.5 * quadratic;
}

double PlaneStore::slack() {
    double most = 0;
    const Block block(*this, 0);
    for (int p = 0; p < block.size(); ++p) most = std::max(most, block.violation(p));
    return most;
}

void PlaneStore::rebuild(int threads) {
    w_.start_from(center_);
    std::vector<double> alpha;
    for (const Plane& plane : planes_) alpha.push_back(plane.alpha);
    add_planes(alpha, threads);
}

void PlaneStore::load(std::vector<Plane>&& planes, bool squared, int threads) {
    const auto scratch = structure_.make_scratch();
    std::vector<Height> heights;
    for (const Plane& plane : planes) heights.push_back(height(plane, squared, *scratch));
    planes_ = std::move(planes);
    gram_.assign(planes_.size(), std::vector<double>(planes_.size()));
    for (std::size_t p = 0; p < planes_.size(); ++p) {
        lay_out(planes_[p], threads);
        if (center_) heights[p].offset -= planes_[p].dot(center_->data(), 0, planes_[p].places.size());
        if (!(std::abs(planes_[p].offset - heights[p].offset) <= 1e-5 * heights[p].scale)) {
            throw std::invalid_argument("the saved planes claim other costs than their outputs have");
        }
        const std::vector<double> row = products(p + 1, threads);
        for (std::size_t q = 0; q <= p; ++q) gram_[p][q] = gram_[q][p] = row[q];
        clear(planes_[p], threads);
    }
}

std::size_t PlaneStore::Plane::find(std::int64_t place) const {
    return at(std::ranges::lower_bound(places, place) - places.begin());
}

void PlaneStore::Plane::take(std::span<const float> g, std::int64_t first) {
    constexpr std::size_t width = 16;
    for (std::size_t k = 0; k < g.size(); k += width) {
        const std::size_t stop = std::min(k + width, g.size());
        bool any = false;
        for (std::size_t place = k; place < stop; ++place) any |= g[place] != 0;
        if (!any) continue;
        std::array<std::uint32_t, width> at;
        std::array<float, width> there;
        std::size_t found = 0;
        for (std::size_t place = k; place < stop; ++place) {  // no branch: it could not be guessed
            at[found] = static_cast<std::uint32_t>(first + static_cast<std::int64_t>(place));
            there[found] = g[place];
            found += g[place] != 0;
        }
        places.insert(places.end(), at.begin(), at.begin() + found);
        values.insert(values.end(), there.begin(), there.begin() + found);
    }
}

double PlaneStore::Plane::dot(const float* w, std::size_t begin, std::size_t end) const {
    double total = 0;
    for (std::size_t k = begin; k < end; ++k) total += double{values[k]} * w[places[k]];
    return total;
}

void PlaneStore::Plane::axpy(float* w, std::size_t begin, std::size_t end, float step) const {
    for (std::size_t k = begin; k < end; ++k) w[places[k]] += step * values[k];
}

PlaneStore::Height PlaneStore::height(const Plane& plane, bool squared, Scratch& scratch) const {
    const auto check = [](bool good) {
        if (!good) throw std::invalid_argument("the saved planes are damaged or belong to other data");
    };
    check(plane.alpha >= 0 && std::isfinite(plane.alpha));
    Height found;
    Difference made;
    std::int64_t previous = -1;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(plane.examples.size()); ++k) {
        const std::int64_t i = plane.example(k);
        check(i > previous && i < examples_.size());
        check(structure_.remake(examples_[i], plane.codes_of(k), scratch, made));
        const double c = plane.coefficients[at(k)], weight = examples_.weight(i);
        check(weight > 0 && (squared ? c >= 0 && std::isfinite(c) : c == static_cast<float>(weight)));
        const double H = c / (2 * weight);
        found.offset += weight * (squared ? 2 * H * made.cost - H * H : made.cost);
        found.scale += weight * (squared ? 2 * H * made.cost + H * H : made.cost);
        previous = i;
    }
    return found;
}

void PlaneStore::lay_out(Plane& plane, int threads) {
    if (dense_.dimension() > std::int64_t{UINT32_MAX}) throw std::length_error("too many weights for planes");
    const auto count = static_cast<std::int64_t>(plane.examples.size());
    sums_.add_up(count, threads, dense_.data(), [&](std::int64_t first, std::int64_t last, int, int, float* g) {
        for (std::int64_t k = first; k < last; ++k) {
            if (k + 1 < last) structure_.prefetch_cut(g, examples_[plane.example(k + 1)], plane.codes_of(k + 1));
            structure_.axpy(g, examples_[plane.example(k)], plane.codes_of(k), plane.coefficients[at(k)]);
        }
    });
    std::vector<Plane> pieces(at(threads));
    for_each_range(dense_.dimension(), threads, [&](std::int64_t begin, std::int64_t end, int thread) {
        Plane& piece = pieces[at(thread)];
        sums_.collect(dense_.data(), begin, end,
                      [&](std::int64_t k, std::int64_t stop) { piece.take({dense_.data() + k, at(stop - k)}, k); });
    });
    for (const Plane& piece : pieces) {
        plane.places.insert(plane.places.end(), piece.places.begin(), piece.places.end());
        plane.values.insert(plane.values.end(), piece.values.begin(), piece.values.end());
    }
}

void PlaneStore::clear(const Plane& plane, int threads) {
    const auto count = static_cast<std::int64_t>(plane.places.size());
    for_each_range(count, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t k = begin; k < end; ++k) dense_.data()[plane.places[at(k)]] = 0;
    });
}

std::vector<double> PlaneStore::products(std::size_t count, int threads) const {
    std::vector<double> row(count);
    for_each_range(threads, threads, [&](std::int64_t first, std::int64_t last, int) {
        for (std::int64_t part = first; part < last; ++part) {
            // Later planes are smaller: every thread takes some of all ages.
            std::vector<std::size_t> some;
            for (auto p = at(part); p < count; p += at(threads)) {
                some.push_back(p);
            }
            by_chunks(some, 0, dense_.dimension(), [&](std::size_t p, std::size_t begin, std::size_t end) {
                row[p] += planes_[p].dot(dense_.data(), begin, end);
            });
        }
    });
    return row;
}

void PlaneStore::add_planes(const std::vector<double>& steps, int threads) {
    std::vector<std::size_t> moved;
    for (std::size_t p = 0; p < planes_.size(); ++p) {
        if (static_cast<float>(steps[p]) != 0) moved.push_back(p);
    }
    for_each_range(threads, threads, [&](std::int64_t first, std::int64_t last, int) {
        by_chunks(moved, boundary(first, threads), boundary(last, threads),
                  [&](std::size_t p, std::size_t begin, std::size_t end) {
                      planes_[p].axpy(w_.data(), begin, end, static_cast<float>(steps[p]));
                  });
    });
    structure_.derive(w_.data());
}

std::int64_t PlaneStore::boundary(std::int64_t part, int threads) const {
    if (part == 0) return 0;
    if (part == threads || planes_.empty() || planes_.back().places.empty()) return w_.dimension();
    const auto& places = planes_.back().places;
    const std::int64_t line = 16;  // no two threads write to one cache line
    return places[places.size() * at(part) / at(threads)] / line * line;
}

void PlaneStore::remove(std::size_t p) {
    planes_.erase(planes_.begin() + static_cast<std::ptrdiff_t>(p));
    gram_.erase(gram_.begin() + static_cast<std::ptrdiff_t>(p));
    for (auto& row : gram_) row.erase(row.begin() + static_cast<std::ptrdiff_t>(p));
}

}  // namespace dualstruct
