#include "inference/trees/second_order_parts.hpp"

#include <limits>

#include "base/index.hpp"

namespace dualstruct::trees {

void SecondOrderParts::build(int words, std::span<const std::uint8_t> allowed) {
    const int nodes = words + 1;
    clear(words);
    heads_.assign(at(nodes), Head{});
    for (int h = 0; h < nodes; ++h) {
        Head& node = heads_[at(h)];
        node.first_arc = arcs();
        const auto take = [&](int m) {
            if (!allowed[cell(h, m)]) return 0;
            add(h, m);
            return 1;
        };
        for (int m = h - 1; m >= 1; --m) node.left += take(m);
        for (int m = h + 1; m < nodes; ++m) node.right += take(m);
    }
    entering_.clear();
    place_.resize(at(arcs()));
    for (int m = 1; m < nodes; ++m) {
        Head& node = heads_[at(m)];
        node.first_in = static_cast<std::int32_t>(entering_.size());
        for (int h = 0; h < nodes; ++h) {
            const std::int32_t a = arc(h, m);
            if (a < 0) continue;
            place_[at(a)] = node.in++;
            entering_.push_back(a);
        }
    }
    extras_ = 0;
    for (Head& node : heads_) {
        node.first_step = extras_;
        extras_ += steps(node.left) + steps(node.right) + node.in * node.arcs();
    }
}

double SecondOrderParts::score(std::span<const std::int32_t> heads, std::span<const double> arcs,
                               std::span<const double> extras) const {
    double total = 0;
    for (int m = 1; m <= words(); ++m) {
        const int a = arc(heads[at(m)], m);
        if (a < 0) return -std::numeric_limits<double>::infinity();
        total += arcs[at(a)];
    }
    for_each_of(heads, [&](int index) { total += extras[at(index)]; });
    return total;
}

}  // namespace dualstruct::trees
