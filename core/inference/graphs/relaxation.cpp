#include "inference/graphs/relaxation.hpp"

#include <algorithm>
#include <cmath>

#include "base/index.hpp"
#include "base/infinity.hpp"
#include "inference/graphs/projections.hpp"

namespace dualstruct::graphs {

namespace {

// A factor whose input moved less than this keeps its copies.
constexpr double still = 1e-12;

std::size_t slot_of(Relaxation::Link link) { return at(link < 0 ? ~link : link); }
}  // namespace

void Relaxation::clear() {
    theta_.clear();
    given_.clear();
    degree_.clear();
    entries_.clear();
    links_.clear();
    others_.clear();
    extra_.clear();
    rounding_ = nullptr;
}

int Relaxation::add_slot(double score) {
    theta_.push_back(score);
    given_.push_back(-1);
    degree_.push_back(0);
    return slots() - 1;
}

void Relaxation::add_entry(Kind kind, std::span<const Link> links, int least, int most) {
    const auto begin = static_cast<std::int32_t>(links_.size());
    links_.insert(links_.end(), links.begin(), links.end());
    for (Link link : links) ++degree_[slot_of(link)];
    entries_.push_back({kind, begin, static_cast<std::int32_t>(links_.size()), least, most, -1, 0});
}

void Relaxation::add_pair(int a, int b, double score) {
    const Link links[] = {a, b};
    add_entry(Kind::pair, links, 0, 0);
    entries_.back().score = score;
}

void Relaxation::add_count(std::span<const Link> links, int least, int most) {
    if (links.empty() && least <= 0 && most >= 0) return;
    add_entry(Kind::count, links, std::max(least, 0), std::min(most, static_cast<int>(links.size())));
}

void Relaxation::add_or_out(std::span<const Link> links) {
    if (links.size() == 1) {  // nothing to be on: the output is off
        const Link output = links[0];
        add_entry(Kind::count, {&output, 1}, 0, 0);
        return;
    }
    add_entry(Kind::or_out, links, 0, 0);
}

void Relaxation::add_factor(const Factor& factor, std::span<const Link> links, std::span<const double> extra) {
    add_entry(Kind::other, links, 0, 0);
    entries_.back().other = static_cast<std::int32_t>(others_.size());
    const auto begin = static_cast<std::int32_t>(extra_.size());
    extra_.insert(extra_.end(), extra.begin(), extra.end());
    others_.push_back({&factor, begin, static_cast<std::int32_t>(extra_.size())});
}

void Relaxation::prepare() {
    std::size_t widest = 0, largest = 0;
    for (const Entry& a : entries_) {
        widest = std::max(widest, at(a.end - a.begin));
        if (a.kind == Kind::other) {
            largest = std::max(largest, at(others_[at(a.other)].factor->configuration_size()));
        }
    }
    scores_.resize(widest);
    work_.resize(2 * widest);
    local_.resize(widest);
    configuration_.resize(largest);
    rounded_.resize(theta_.size());
    lambda_.resize(links_.size());
    copy_.resize(links_.size());
    target_.resize(links_.size());
    settled_.resize(entries_.size());
    u_.resize(theta_.size());
    previous_u_.resize(theta_.size());
    if (active_.size() < others_.size()) active_.resize(others_.size());

    // No allowed assignment scores less than the sum of everything negative.
    double size = 0, count = 0;
    least_score_ = 0;
    const auto see = [&](double score) {
        if (!std::isfinite(score)) return;
        least_score_ += std::min(0.0, score);
        if (score != 0) {
            size += std::abs(score);
            ++count;
        }
    };
    for (double score : theta_) see(score);
    for (const Entry& a : entries_) see(a.score);
    for (double score : extra_) see(score);
    for (const Other& other : others_) {
        if (other.factor->has_hidden_scores()) least_score_ = -infinity;
    }
    scale_ = count > 0 ? size / count : 1;
}

void Relaxation::start() {
    fixed_ = given_;
    std::ranges::fill(lambda_, 0.0);
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] = fixed_[i] < 0 ? 0.5 : fixed_[i];
    for (std::size_t k = 0; k < others_.size(); ++k) active_[k].clear();
    rho_ = options_.rho * scale_;
}

// The scores of a factor's links, as it sees them, with the multipliers.
void Relaxation::load(const Entry& a) {
    for (std::int32_t k = a.begin; k < a.end; ++k) {
        const std::size_t i = slot_of(links_[at(k)]);
        const double score = theta_[i] / degree_[i] + lambda_[at(k)];
        scores_[at(k - a.begin)] = links_[at(k)] < 0 ? -score : score;
    }
}

// Moves the copies of a factor to their new place, in target_; true when that is exact.
bool Relaxation::project(const Entry& a) {
    const auto n = at(a.end - a.begin);
    const std::span z(target_.data() + a.begin, n);
    const std::span q(copy_.data() + a.begin, n);
    if (a.kind == Kind::other) {
        const Other& other = others_[at(a.other)];
        return active_[at(a.other)].project(*other.factor, z, extra_of(other), rho_, options_.active_set_steps, q,
                                            {scores_.data(), n});
    }
    std::ranges::copy(z, q.begin());
    if (a.kind == Kind::pair) {
        project_pair(a.score / rho_, q);
    } else if (a.kind == Kind::count) {
        project_count(q, a.least, a.most, work_);
    } else {
        project_or_out(q, work_);
    }
    return true;
}

// One iteration of AD3; returns how far u is from whole numbers.
double Relaxation::iterate(bool everything) {
    for (std::size_t f = 0; f < entries_.size(); ++f) {
        const Entry& a = entries_[f];
        bool moved = everything || !settled_[f];
        for (std::int32_t k = a.begin; k < a.end; ++k) {
            const std::size_t i = slot_of(links_[at(k)]);
            double z = u_[i] + (theta_[i] / degree_[i] + lambda_[at(k)]) / rho_;
            if (links_[at(k)] < 0) z = 1 - z;
            if (std::abs(z - target_[at(k)]) > still) moved = true;
            scores_[at(k - a.begin)] = z;
        }
        if (!moved) continue;
        std::copy_n(scores_.begin(), a.end - a.begin, target_.begin() + a.begin);
        settled_[f] = project(a);
    }
    std::swap(u_, previous_u_);
    std::ranges::fill(u_, 0.0);
    for (std::size_t k = 0; k < links_.size(); ++k) {
        u_[slot_of(links_[k])] += links_[k] < 0 ? 1 - copy_[k] : copy_[k];
    }
    double changed = 0, total = 0, fractional = 0;
    for (std::size_t i = 0; i < u_.size(); ++i) {
        if (fixed_[i] >= 0) {
            u_[i] = fixed_[i];
        } else if (degree_[i] > 0) {
            u_[i] /= degree_[i];
        } else {
            u_[i] = theta_[i] > 0;
        }
        changed += degree_[i] * (u_[i] - previous_u_[i]) * (u_[i] - previous_u_[i]);
        total += degree_[i];
        fractional = std::max(fractional, std::min(u_[i], 1 - u_[i]));
    }
    double apart = 0;
    for (std::size_t k = 0; k < links_.size(); ++k) {
        const double difference = (links_[k] < 0 ? 1 - copy_[k] : copy_[k]) - u_[slot_of(links_[k])];
        lambda_[k] -= rho_ * difference;
        apart += difference * difference;
    }
    total = std::max(total, 1.0);
    primal_residual_ = std::sqrt(apart / total);
    dual_residual_ = std::sqrt(changed / total);
    return fractional;
}

double Relaxation::maximum(const Entry& a) {
    const std::span<const double> scores(scores_.data(), at(a.end - a.begin));
    if (a.kind == Kind::pair) {
        return std::max({0.0, scores[0], scores[1], scores[0] + scores[1] + a.score});
    }
    if (a.kind == Kind::count) return a.least > a.most ? -infinity : maximise_count(scores, a.least, a.most, work_);
    if (a.kind == Kind::or_out) return maximise_or_out(scores);
    const Other& other = others_[at(a.other)];
    return other.factor->maximise(scores, extra_of(other),
                                  {configuration_.data(), at(other.factor->configuration_size())});
}

double Relaxation::upper_bound() {
    double bound = 0;
    for (std::size_t i = 0; i < theta_.size(); ++i) {
        if (degree_[i] == 0) bound += fixed_[i] < 0 ? std::max(0.0, theta_[i]) : fixed_[i] * theta_[i];
    }
    for (const Entry& a : entries_) {
        load(a);
        bound += maximum(a);
        for (std::int32_t k = a.begin; k < a.end; ++k) {
            const std::size_t i = slot_of(links_[at(k)]);
            if (links_[at(k)] < 0) bound += theta_[i] / degree_[i] + lambda_[at(k)];
            if (fixed_[i] > 0) bound -= lambda_[at(k)];
        }
    }
    return bound;
}

bool Relaxation::allows(const Entry& a, std::span<const std::uint8_t> slots, double& score) const {
    const auto on = [&](std::int32_t k) { return (slots[slot_of(links_[at(k)])] != 0) != (links_[at(k)] < 0); };
    if (a.kind == Kind::pair) {
        if (on(a.begin) && on(a.begin + 1)) score += a.score;
        return true;
    }
    if (a.kind == Kind::other) {
        const Other& other = others_[at(a.other)];
        thread_local std::vector<std::uint8_t> local;
        thread_local std::vector<std::int32_t> configuration;
        local.clear();
        for (std::int32_t k = a.begin; k < a.end; ++k) local.push_back(on(k));
        configuration.resize(at(other.factor->configuration_size()));
        if (!other.factor->read(local, configuration)) return false;
        score += other.factor->extra_score(configuration, extra_of(other));
        return true;
    }
    int count = 0;
    for (std::int32_t k = a.begin; k < a.end; ++k) count += on(k);
    if (a.kind == Kind::count) return count >= a.least && count <= a.most;
    return on(a.end - 1) ? count > 1 : count == 0;
}

double Relaxation::score(std::span<const std::uint8_t> slots) const {
    double total = 0;
    for (std::size_t i = 0; i < theta_.size(); ++i) {
        if (slots[i]) total += theta_[i];
        if (given_[i] >= 0 && given_[i] != slots[i]) return -infinity;
    }
    for (const Entry& a : entries_) {
        if (!allows(a, slots, total)) return -infinity;
    }
    return std::isnan(total) ? -infinity : total;
}

// Each factor that the assignment violates switches its slots to what it likes best near u.
void Relaxation::repair(std::span<std::uint8_t> slots) {
    for (const Entry& a : entries_) {
        double ignored = 0;
        if (a.kind == Kind::pair || allows(a, slots, ignored)) continue;
        const auto n = at(a.end - a.begin);
        for (std::int32_t k = a.begin; k < a.end; ++k) {
            const std::size_t i = slot_of(links_[at(k)]);
            const double leaning = fixed_[i] < 0 ? u_[i] - 0.5 : (fixed_[i] - 0.5) * 1e3;
            scores_[at(k - a.begin)] = links_[at(k)] < 0 ? -leaning : leaning;
            local_[at(k - a.begin)] = 0;
        }
        if (a.kind == Kind::other) {
            const Other& other = others_[at(a.other)];
            const std::span configuration(configuration_.data(), at(other.factor->configuration_size()));
            if (other.factor->maximise({scores_.data(), n}, extra_of(other), configuration) == -infinity) return;
            std::fill_n(work_.begin(), n, 0.0);
            other.factor->add_counts(configuration, 1, {work_.data(), n});
            for (std::size_t k = 0; k < n; ++k) local_[k] = work_[k] > 0.5;
        } else {
            // The inputs in order of their scores; for OR-with-output the output follows them.
            const std::size_t inputs = a.kind == Kind::or_out ? n - 1 : n;
            const int least = a.kind == Kind::or_out ? scores_[n - 1] > 0 : a.least;
            const int most = a.kind == Kind::or_out ? (scores_[n - 1] > 0 ? static_cast<int>(inputs) : 0) : a.most;
            for (int chosen = 0; chosen < most; ++chosen) {
                std::size_t best = n;
                for (std::size_t k = 0; k < inputs; ++k) {
                    if (!local_[k] && (best == n || scores_[k] > scores_[best])) best = k;
                }
                if (best == n || (chosen >= least && scores_[best] <= 0)) break;
                local_[best] = 1;
            }
            if (a.kind == Kind::or_out) local_[n - 1] = scores_[n - 1] > 0;
        }
        for (std::int32_t k = a.begin; k < a.end; ++k) {
            slots[slot_of(links_[at(k)])] = (local_[at(k - a.begin)] != 0) != (links_[at(k)] < 0);
        }
    }
}

void Relaxation::try_rounding() {
    const auto keep = [this] {
        const double found = score(rounded_);
        if (found > result_.score) {
            result_.score = found;
            result_.slots = rounded_;
            result_.status = Status::solved;
        }
        return found > -infinity;
    };
    if (rounding_) {
        rounding_(u_, rounded_);
        if (keep()) return;
    }
    for (std::size_t i = 0; i < u_.size(); ++i) rounded_[i] = u_[i] > 0.5;
    if (keep()) return;
    repair(rounded_);
    keep();
}

// Whether nothing below this bound can beat what was found.
bool Relaxation::closed(double bound) const {
    if (bound == -infinity) return true;
    if (std::isfinite(least_score_) &&
        bound < least_score_ - options_.tolerance * std::max(1.0, std::abs(least_score_))) {
        return true;
    }
    return result_.status == Status::solved &&
           bound <= result_.score + options_.tolerance * std::max(1.0, std::abs(result_.score));
}

// AD3 from where the multipliers are. `bound` becomes the least upper bound seen.
Relaxation::Node Relaxation::relax(const RelaxationOptions& options, double& bound) {
    bound = upper_bound();
    if (closed(bound)) return Node::pruned;
    if (branching_slot() < 0) {  // nothing is left to choose
        for (std::size_t i = 0; i < u_.size(); ++i) {
            if (fixed_[i] < 0) u_[i] = theta_[i] > 0;
        }
        try_rounding();
        return Node::pruned;
    }
    std::ranges::fill(settled_, 0);
    bool everything = true;
    for (int t = 1; t <= options.max_iterations; ++t) {
        const double fractional = iterate(everything);
        everything = false;
        ++result_.iterations;
        const bool converged = primal_residual_ < options.residual && dual_residual_ < options.residual;
        const bool whole = fractional < 1e-3 && primal_residual_ < 1e-2 && t % 2 == 0;
        if (converged || whole || t % options.bound_every == 0 || t == options.max_iterations) {
            bound = std::min(bound, upper_bound());
            try_rounding();
            if (closed(bound)) return Node::pruned;
            if (options.interrupted && options.interrupted()) {
                stopped_ = true;
                return Node::fractional;
            }
        }
        if (converged) return fractional < 1e-4 ? Node::integral : Node::fractional;
        if (t % 10 == 0) {  // keeps the two residuals of one size
            const double before = rho_;
            if (primal_residual_ > 10 * dual_residual_) rho_ *= 2;
            if (dual_residual_ > 10 * primal_residual_) rho_ /= 2;
            everything = rho_ != before;
        }
    }
    return Node::fractional;
}

int Relaxation::branching_slot() const {
    int best = -1;
    double least = infinity;
    for (std::size_t i = 0; i < u_.size(); ++i) {
        if (fixed_[i] >= 0 || degree_[i] == 0) continue;
        const double off = std::abs(u_[i] - 0.5);
        if (off < least) {
            least = off;
            best = static_cast<int>(i);
        }
    }
    return best;
}

// Multipliers of a free slot add up to 0; those of a fixed one need not.
void Relaxation::fix_slot(int slot, std::int8_t value) {
    const auto i = at(slot);
    fixed_[i] = value;
    if (value >= 0) {
        u_[i] = value;
        return;
    }
    double sum = 0;
    for (std::size_t k = 0; k < links_.size(); ++k) {
        if (slot_of(links_[k]) == i) sum += lambda_[k];
    }
    for (std::size_t k = 0; k < links_.size(); ++k) {
        if (slot_of(links_[k]) == i) lambda_[k] -= sum / degree_[i];
    }
}

// Depth first, the likelier value first. Without `branch` it ends at the first allowed assignment: then the
// root's bound is what is known.
void Relaxation::search(const RelaxationOptions& options) {
    struct Open {
        int slot;
        bool second;     // both values were tried
        double bound;    // of the node above
    };
    std::vector<Open> path;
    double bound = infinity, root_bound = infinity, left_open = -infinity;
    bool exhausted = false;
    while (true) {
        ++result_.nodes;
        Node node = relax(options, bound);
        if (path.empty()) {
            root_bound = bound;
            result_.relaxed = u_;
        } else {
            bound = std::min(bound, path.back().bound);
        }
        if (!options.branch && result_.status == Status::solved) break;
        if (stopped_ || result_.nodes >= options.max_nodes) {
            left_open = node == Node::pruned ? -infinity : bound;
            exhausted = true;
            break;
        }
        const int slot = node == Node::pruned ? -1 : branching_slot();
        if (slot >= 0) {
            const double leaning = u_[at(slot)];
            path.push_back({slot, false, bound});
            fix_slot(slot, leaning > 0.5);
            continue;
        }
        while (!path.empty() && (path.back().second || closed(path.back().bound))) {
            fix_slot(path.back().slot, -1);
            path.pop_back();
        }
        if (path.empty()) break;
        path.back().second = true;
        const int other = path.back().slot;
        fix_slot(other, !fixed_[at(other)]);
    }
    if (exhausted) {
        for (const Open& open : path) {
            if (!open.second) left_open = std::max(left_open, open.bound);
        }
        result_.bound = std::min(root_bound, std::max(left_open, result_.score));
    } else if (options.branch || result_.status != Status::solved) {
        result_.bound = result_.score;  // nothing is left open
        if (result_.status != Status::solved) result_.status = Status::infeasible;
    } else {
        result_.bound = root_bound;
    }
}

const RelaxationResult& Relaxation::solve(const RelaxationOptions& options) {
    options_ = options;
    result_.status = Status::unknown;
    result_.slots.assign(theta_.size(), 0);
    result_.score = -infinity;
    result_.iterations = result_.nodes = 0;
    stopped_ = false;
    prepare();
    for (std::size_t f = 0; f < entries_.size(); ++f) {
        if (entries_[f].kind == Kind::count && entries_[f].least > entries_[f].most) {
            result_.status = Status::infeasible;
            result_.bound = -infinity;
            result_.relaxed.assign(theta_.size(), 0.5);
            result_.exact = false;
            return result_;
        }
    }
    start();
    search(options);
    result_.exact = result_.status == Status::solved &&
                    result_.bound <= result_.score + options.tolerance * std::max(1.0, std::abs(result_.score));
    if (result_.exact) result_.bound = std::max(result_.bound, result_.score);
    return result_;
}

}  // namespace dualstruct::graphs
