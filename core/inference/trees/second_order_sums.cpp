#include "inference/trees/second_order_sums.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "base/infinity.hpp"

namespace dualstruct::trees {
namespace {

// A total within these bounds leaves room for what is multiplied by it.
constexpr double least_total = 1e-100, largest_total = 1e100;

template <class Number>
Number exponential_as(double x);
template <>
double exponential_as<double>(double x) {
    return std::exp(x);
}
template <>
Scaled exponential_as<Scaled>(double x) {
    return exponential(x);
}

bool is_nothing(double x) { return x == 0; }
bool is_nothing(Scaled x) { return x.is_zero(); }
bool is_usable(double x) { return x >= least_total && x <= largest_total; }
bool is_usable(Scaled) { return true; }
double log_of(double x) { return std::log(x); }
double log_of(Scaled x) { return x.log(); }
double share_of(double x, double total) { return x / total; }
double share_of(Scaled x, Scaled total) { return ratio(x, total); }

}  // namespace

template <class Number>
struct SecondOrderSums::Inside {
    Buffers<Number>& of;

    void add(std::size_t cell, Number x) { of.inside[cell] = of.inside[cell] + x; }
    void start(std::size_t cell, int step) { of.inside[cell] = of.extras[at(step)]; }
    void first(std::size_t cell, std::size_t a, int step, int) { add(cell, of.inside[a] * of.extras[at(step)]); }
    void pair(std::size_t cell, std::size_t a, std::size_t b, int) { add(cell, of.inside[a] * of.inside[b]); }
    void join(std::size_t cell, std::size_t a, std::size_t b, int step, int) {
        add(cell, of.inside[a] * of.inside[b] * of.extras[at(step)]);
    }
    void close(std::size_t cell, int arc, int grandparent) {
        of.inside[cell] = of.inside[cell] * of.arcs[at(arc)];
        if (grandparent >= 0) of.inside[cell] = of.inside[cell] * of.extras[at(grandparent)];
    }
};

// outside: what a cell is multiplied by, in the sum of all trees.
template <class Number>
struct SecondOrderSums::Outside {
    Buffers<Number>& of;

    static void add(Number& to, Number x) { to = to + x; }
    void start(std::size_t cell, int step) { add(of.extra_mass[at(step)], of.outside[cell] * of.inside[cell]); }
    void first(std::size_t cell, std::size_t a, int step, int) {
        if (is_nothing(of.outside[cell])) return;
        const Number around = of.outside[cell] * of.extras[at(step)];
        add(of.outside[a], around);
        add(of.extra_mass[at(step)], around * of.inside[a]);
    }
    void pair(std::size_t cell, std::size_t a, std::size_t b, int) {
        const Number around = of.outside[cell];
        if (is_nothing(around)) return;
        add(of.outside[a], around * of.inside[b]);
        add(of.outside[b], around * of.inside[a]);
    }
    void join(std::size_t cell, std::size_t a, std::size_t b, int step, int) {
        if (is_nothing(of.outside[cell])) return;
        const Number around = of.outside[cell] * of.extras[at(step)];
        const Number around_a = around * of.inside[b];
        add(of.outside[a], around_a);
        add(of.outside[b], around * of.inside[a]);
        add(of.extra_mass[at(step)], around_a * of.inside[a]);
    }
    void close(std::size_t cell, int arc, int grandparent) {
        if (is_nothing(of.outside[cell])) return;
        const Number mass = of.outside[cell] * of.inside[cell];
        add(of.arc_mass[at(arc)], mass);
        of.outside[cell] = of.outside[cell] * of.arcs[at(arc)];
        if (grandparent < 0) return;
        add(of.extra_mass[at(grandparent)], mass);
        of.outside[cell] = of.outside[cell] * of.extras[at(grandparent)];
    }
};

template <class Number>
bool SecondOrderSums::run(Buffers<Number>& of, std::span<const double> arcs, std::span<const double> extras,
                          bool single_root, std::vector<double>& arc_marginals, std::vector<double>& extra_marginals,
                          double& log_total) {
    const auto exponentials = [](std::span<const double> scores, std::vector<Number>& to) {
        to.resize(scores.size());
        std::ranges::transform(scores, to.begin(), [](double x) { return exponential_as<Number>(x); });
    };
    exponentials(arcs, of.arcs);
    exponentials(extras, of.extras);
    of.inside.assign(chart_.cells(), Number{});
    Inside<Number> inside{of};
    chart_.forwards(single_root, inside);
    const Number total = of.inside[chart_.goal()];
    if (!is_usable(total)) return false;
    log_total = is_nothing(total) ? -infinity : log_of(total);
    if (is_nothing(total)) return true;
    of.outside.assign(chart_.cells(), Number{});
    of.arc_mass.assign(arcs.size(), Number{});
    of.extra_mass.assign(extras.size(), Number{});
    of.outside[chart_.goal()] = exponential_as<Number>(0);
    Outside<Number> outside{of};
    chart_.backwards(single_root, outside);
    double sum = 0;
    const auto shares = [&](const std::vector<Number>& mass, std::vector<double>& to) {
        to.resize(mass.size());
        for (std::size_t k = 0; k < mass.size(); ++k) {
            to[k] = share_of(mass[k], total);
            sum += to[k];
        }
    };
    shares(of.arc_mass, arc_marginals);
    shares(of.extra_mass, extra_marginals);
    extra_marginals[at(chart_.root_step())] = 1;
    return std::isfinite(sum);
}

bool SecondOrderSums::marginals(const SecondOrderParts& parts, std::span<const double> arcs,
                                std::span<const double> extras, bool single_root, std::vector<double>& arc_marginals,
                                std::vector<double>& extra_marginals, double& log_partition) {
    chart_.bind(parts);
    arc_marginals.assign(arcs.size(), 0);
    extra_marginals.assign(extras.size(), 0);
    log_partition = 0;
    if (parts.words() == 0) return true;
    shifted_.assign(arcs.begin(), arcs.end());
    double shift = extras[at(chart_.root_step())];
    for (int m = 1; m <= parts.words(); ++m) {
        double largest = -infinity;
        for (const auto arc : parts.entering(m)) largest = std::max(largest, arcs[at(arc)]);
        if (largest == -infinity) return false;
        for (const auto arc : parts.entering(m)) shifted_[at(arc)] -= largest;
        shift += largest;
    }
    double log_total = 0;
    if (!run(plain_, shifted_, extras, single_root, arc_marginals, extra_marginals, log_total)) {
        run(scaled_, shifted_, extras, single_root, arc_marginals, extra_marginals, log_total);
    }
    log_partition = shift + log_total;
    return log_total > -infinity;
}

}  // namespace dualstruct::trees
