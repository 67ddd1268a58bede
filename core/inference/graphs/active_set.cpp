#include "inference/graphs/active_set.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"

namespace dualstruct::graphs {

namespace {
// Below this a pivot of the Cholesky factor counts as 0: the entries are small whole numbers.
constexpr double least_pivot = 1e-7;
}  // namespace

void ActiveSet::reserve(int count) {
    if (count <= room_) return;
    const int room = std::max(8, 2 * count);
    std::vector<double> gram(at(room) * room), triangle(gram.size());
    for (int a = 0; a < count_; ++a) {
        for (int b = 0; b < count_; ++b) {
            gram[at(a) * room + b] = gram_[at(a) * room_ + b];
            triangle[at(a) * room + b] = triangle_[at(a) * room_ + b];
        }
    }
    gram_ = std::move(gram);
    triangle_ = std::move(triangle);
    room_ = room;
    for (auto* values : {&p_, &wanted_, &extra_, &right_, &ones_}) values->resize(at(room));
}

// Rows from `from` on of the Cholesky factor. With 1 added to each product of configurations the matrix
// is singular only when they are affinely dependent.
bool ActiveSet::factorise(int from) {
    for (int a = from; a < count_; ++a) {
        double* row = triangle_.data() + at(a) * room_;
        const double* products = gram_.data() + at(a) * room_;
        double pivot = products[a];
        for (int b = 0; b < a; ++b) {
            const double* other = triangle_.data() + at(b) * room_;
            double rest = products[b];
            for (int k = 0; k < b; ++k) rest -= row[k] * other[k];
            row[b] = rest / other[b];
            pivot -= row[b] * row[b];
        }
        if (pivot < least_pivot) return false;
        row[a] = std::sqrt(pivot);
    }
    return true;
}

void ActiveSet::remove(int c) {
    for (int a = c; a + 1 < count_; ++a) {
        std::ranges::copy(configuration(a + 1), configuration(a).begin());
        p_[at(a)] = p_[at(a) + 1];
        extra_[at(a)] = extra_[at(a) + 1];
    }
    for (int a = 0; a < count_; ++a) {
        if (a == c) continue;
        const int row = a - (a > c);
        for (int b = 0; b < count_; ++b) {
            if (b != c) {
                gram_[at(row) * room_ + (b - (b > c))] = gram_[at(a) * room_ + b];
            }
        }
    }
    --count_;
    factorise(c);
}

// The newest decoded configuration joins with p = 0. False when it depends on the others; it then has
// taken the place of the one that it drove to 0, and the products are up to date.
bool ActiveSet::append(const Factor& factor, std::span<const double> extra) {
    const int fresh = count_;
    const auto place = at(fresh);
    double* row = gram_.data() + place * room_;
    for (int b = 0; b <= fresh; ++b) {
        row[b] = factor.common(configuration(fresh), configuration(b)) + 1.0;
        gram_[at(b) * room_ + place] = row[b];
    }
    p_[place] = 0;
    extra_[place] = factor.extra_score(configuration(fresh), extra);
    ++count_;
    if (factorise(fresh)) return true;
    // a_fresh = Σ r_b a_b with Σ r = 1: weight goes from the r_b to the fresh one, at no change of q, until
    // one of the others has none left.
    double* r = wanted_.data();
    const double* solved = triangle_.data() + place * room_;  // L y = column: the row just computed
    for (int b = fresh - 1; b >= 0; --b) {
        double rest = solved[b];
        for (int k = b + 1; k < fresh; ++k) rest -= triangle_[at(k) * room_ + b] * r[k];
        r[b] = rest / triangle_[at(b) * room_ + b];
    }
    double moved = std::numeric_limits<double>::infinity();
    int emptied = 0;
    for (int b = 0; b < fresh; ++b) {
        if (r[b] > 1e-9 && p_[at(b)] / r[b] < moved) {
            moved = p_[at(b)] / r[b];
            emptied = b;
        }
    }
    for (int b = 0; b < fresh; ++b) p_[at(b)] -= moved * r[b];
    p_[place] = moved;
    remove(emptied);
    return false;
}

// wanted = the optimum over the set when p may be negative.
void ActiveSet::solve(std::span<const double> z, const Factor& factor, double rho) {
    const auto n = at(count_);
    for (std::size_t a = 0; a < n; ++a) {
        right_[a] = factor.slot_score(configuration(static_cast<int>(a)), z) + extra_[a] / rho;
        ones_[a] = 1;
    }
    for (double* values : {right_.data(), ones_.data()}) {
        for (std::size_t a = 0; a < n; ++a) {
            const double* row = triangle_.data() + a * room_;
            for (std::size_t b = 0; b < a; ++b) values[a] -= row[b] * values[b];
            values[a] /= row[a];
        }
        for (std::size_t a = n; a-- > 0;) {
            for (std::size_t b = a + 1; b < n; ++b) values[a] -= triangle_[b * room_ + a] * values[b];
            values[a] /= triangle_[a * room_ + a];
        }
    }
    double sum = 0, sum_ones = 0;
    for (std::size_t a = 0; a < n; ++a) {
        sum += right_[a];
        sum_ones += ones_[a];
    }
    const double nu = (1 - sum) / sum_ones;
    for (std::size_t a = 0; a < n; ++a) wanted_[a] = right_[a] + nu * ones_[a];
}

bool ActiveSet::project(const Factor& factor, std::span<const double> z, std::span<const double> extra, double rho,
                        int steps, std::span<double> q, std::span<double> scores) {
    size_ = at(factor.configuration_size());
    reserve(count_ + 1);
    const auto room_for_configurations = [&] {
        configurations_.resize(std::max(configurations_.size(), (at(count_) + 1) * size_));
    };
    room_for_configurations();
    if (count_ == 0) {
        for (std::size_t k = 0; k < z.size(); ++k) scores[k] = rho * (z[k] - 0.5);
        factor.maximise(scores, extra, configuration(0));
        append(factor, extra);
        p_[0] = 1;
    }
    bool optimal = false;
    for (int step = 0; step < steps && !optimal; ++step) {
        solve(z, factor, rho);
        double fraction = 1;
        int blocking = -1;
        for (int c = 0; c < count_; ++c) {
            const auto place = at(c);
            if (wanted_[place] < 0 && p_[place] - wanted_[place] > 0) {
                const double here = p_[place] / (p_[place] - wanted_[place]);
                if (here < fraction) {
                    fraction = here;
                    blocking = c;
                }
            }
        }
        for (int c = 0; c < count_; ++c) {
            const auto place = at(c);
            p_[place] = std::max(0.0, p_[place] + fraction * (wanted_[place] - p_[place]));
        }
        if (blocking >= 0) {
            remove(blocking);
            continue;
        }
        std::ranges::fill(q, 0.0);
        for (int c = 0; c < count_; ++c) factor.add_counts(configuration(c), p_[at(c)], q);
        for (std::size_t k = 0; k < z.size(); ++k) scores[k] = rho * (z[k] - q[k]);
        double reached = 0;
        for (int c = 0; c < count_; ++c) {
            const auto place = at(c);
            reached += p_[place] * (factor.slot_score(configuration(c), scores) + extra_[place]);
        }
        reserve(count_ + 1);
        room_for_configurations();
        const double best = factor.maximise(scores, extra, configuration(count_));
        optimal = best <= reached + 1e-9 * std::max(1.0, std::abs(reached));
        for (int c = 0; c < count_ && !optimal; ++c) {
            optimal = std::ranges::equal(configuration(c), configuration(count_));
        }
        if (!optimal) append(factor, extra);
    }
    std::ranges::fill(q, 0.0);
    for (int c = 0; c < count_; ++c) factor.add_counts(configuration(c), p_[at(c)], q);
    return optimal;
}

}  // namespace dualstruct::graphs
