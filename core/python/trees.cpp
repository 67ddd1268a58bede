// Trees over score matrices for Python: what the structures of trees are made of, to use and to test by itself.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "inference/trees/algorithms.hpp"
#include "inference/trees/k_best.hpp"
#include "inference/trees/minimum_risk.hpp"
#include "inference/trees/pruning.hpp"
#include "inference/trees/second_order.hpp"
#include "python/bindings.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

template <class Shape>
int words_of(const Input<float, Shape>& scores) {
    if (scores.shape(0) == 0 || scores.shape(0) != scores.shape(1)) {
        throw InputError("the scores of arcs are a square matrix: heads by modifiers, the root first");
    }
    return static_cast<int>(scores.shape(0)) - 1;
}

[[noreturn]] void no_tree() { throw InputError("the arcs that have a finite score allow no tree"); }

Array<std::int32_t> decode(Input<float, nb::ndim<2>> scores, bool projective, bool single_root) {
    std::vector<std::int32_t> heads(at(words_of(scores)) + 1);
    auto found = without_gil([&] {
        return trees::make_decoder(projective)->decode(scores.data(), words_of(scores), single_root, heads.data());
    });
    if (!found) no_tree();
    return to_numpy(std::move(heads));
}

nb::tuple marginals(Input<float, nb::ndim<2>> scores, bool projective, bool single_root) {
    std::vector<float> result(scores.size());
    double log_partition = 0;
    auto found = without_gil([&] {
        return trees::make_sums(projective)
            ->marginals(scores.data(), words_of(scores), single_root, result.data(), log_partition);
    });
    if (!found) no_tree();
    return nb::make_tuple(
        log_partition, shaped(nb::cast(to_numpy(std::move(result))), nb::make_tuple(scores.shape(0), scores.shape(1))));
}

Array<std::int32_t> minimum_risk(Input<float, nb::ndim<2>> marginals, bool projective, bool single_root) {
    std::vector<std::int32_t> heads(at(words_of(marginals)) + 1);
    std::vector<float> scratch;
    bool found;
    {
        GilReleased no_gil;
        found = trees::minimum_risk(*trees::make_decoder(projective), marginals.data(), words_of(marginals),
                                    single_root, scratch, heads.data());
    }
    if (!found) no_tree();
    return to_numpy(std::move(heads));
}

auto k_best(Input<float, nb::ndim<3>> scores, int k, bool projective, bool single_root) {
    auto found = without_gil([&] {
        return trees::KBestTrees(trees::make_decoder(projective))
            .find(scores.data(), words_of(scores), static_cast<int>(scores.shape(2)), single_root, k);
    });
    std::vector<std::tuple<double, Array<std::int32_t>, Array<std::int32_t>>> result;
    for (auto& tree : found) {
        result.emplace_back(tree.score, to_numpy(std::move(tree.heads)), to_numpy(std::move(tree.labels)));
    }
    return result;
}

// Scores of arcs and of second-order parts.
void check_scores(const trees::SecondOrderParts& parts, const Input<double>& arcs, const Input<double>& extras) {
    if (static_cast<int>(arcs.size()) != parts.arcs() || static_cast<int>(extras.size()) != parts.extras()) {
        throw InputError("there is not one score for each part");
    }
}

nb::tuple second_order_decode(const trees::SecondOrderParts& parts, Input<double> arcs, Input<double> extras,
                              bool projective, bool single_root, bool grandparents, int max_iterations, bool relax) {
    check_scores(parts, arcs, extras);
    std::vector<std::int32_t> heads(at(parts.words()) + 1);
    graphs::RelaxationOptions relaxation = trees::SecondOrderDecoder::relaxation();
    relaxation.max_iterations = max_iterations;
    auto best = without_gil([&] {
        return trees::SecondOrderDecoder().decode(
            parts, view(arcs), view(extras), {projective, single_root, grandparents, relax}, relaxation, heads.data());
    });
    if (!best.found) no_tree();
    return nb::make_tuple(to_numpy(std::move(heads)), best.score, best.bound, best.exact, best.iterations);
}

nb::tuple second_order_beliefs(const trees::SecondOrderParts& parts, Input<double> arcs, Input<double> extras,
                               bool projective, bool single_root, int max_iterations, double damping) {
    check_scores(parts, arcs, extras);
    auto found = without_gil([&] {
        graphs::PropagationOptions propagation;
        propagation.max_iterations = max_iterations;
        propagation.damping = damping;
        return trees::second_order_marginals(parts, view(arcs), view(extras), {projective, single_root}, propagation);
    });
    if (!found.found) no_tree();
    return nb::make_tuple(found.log_partition, to_numpy(std::move(found.arcs)), to_numpy(std::move(found.extras)),
                          found.converged, found.iterations);
}

// (0: left, 1: right siblings, 2: grandparent; three nodes) of every part, in the order of their scores.
Array<std::int32_t> list_parts(const trees::SecondOrderParts& parts) {
    std::vector<std::int32_t> rows(4 * at(parts.extras()));
    const auto put = [&](int index, int kind, int a, int b, int c) {
        const std::int32_t row[] = {kind, a, b, c};
        std::copy_n(row, 4, rows.begin() + std::ptrdiff_t{4} * index);
    };
    parts.for_each([&](int index, int h, int s, int m, bool right) { put(index, right, h, s, m); },
                   [&](int index, int g, int h, int m) { put(index, 2, g, h, m); });
    return to_numpy(std::move(rows));
}

Array<std::int32_t> list_arcs(const trees::SecondOrderParts& parts) {
    std::vector<std::int32_t> rows;
    for (int a = 0; a < parts.arcs(); ++a) {
        rows.push_back(parts.head_of(a));
        rows.push_back(parts.modifier_of(a));
    }
    return to_numpy(std::move(rows));
}

nb::tuple prune_by(Input<float, nb::ndim<2>> marginals, int most_heads, float threshold, Input<std::int32_t> tree,
                   std::optional<Input<std::int32_t>> truth) {
    const int words = words_of(marginals);
    const auto nodes = at(words) + 1;
    if (tree.size() != nodes || (truth && truth->size() != nodes)) throw InputError("a tree has a head for each node");
    for (const auto heads : {view(tree), view(truth)}) {
        for (std::size_t m = 1; m < heads.size(); ++m) {
            if (heads[m] < 0 || heads[m] > words) throw InputError("a head that is no word of the sentence");
        }
    }
    std::vector<std::uint8_t> kept(marginals.size());
    trees::PruningReport report;
    trees::prune(view(marginals), words, {most_heads, threshold}, view(tree), view(truth), kept, report);
    return nb::make_tuple(shaped(nb::cast(to_numpy(std::move(kept))), nb::make_tuple(nodes, nodes)),
                          report.true_arcs_kept);
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("tree_decode", decode, "scores"_a, "projective"_a = true, "single_root"_a = true);
    nb::class_<trees::SecondOrderParts>(m, "SecondOrderParts")
        .def(
            "__init__",
            [](trees::SecondOrderParts* self, Input<std::uint8_t, nb::ndim<2>> kept) {
                if (kept.shape(0) == 0 || kept.shape(0) != kept.shape(1))
                    throw InputError("arcs kept are a square matrix");
                new (self) trees::SecondOrderParts();
                self->build(static_cast<int>(kept.shape(0)) - 1, view(kept));
            },
            "kept"_a)
        .def("arcs", list_arcs)
        .def("parts", list_parts)
        .def("decode", second_order_decode, "arcs"_a, "extras"_a, "projective"_a = true, "single_root"_a = true,
             "grandparents"_a = true, "max_iterations"_a = 1000, "relax"_a = false)
        .def("marginals", second_order_beliefs, "arcs"_a, "extras"_a, "projective"_a = true, "single_root"_a = true,
             "max_iterations"_a = 200, "damping"_a = 0.3);
    m.def("tree_prune", prune_by, "marginals"_a, "most_heads"_a, "threshold"_a, "tree"_a,
          "truth"_a.none() = nb::none());
    m.def("tree_marginals", marginals, "scores"_a, "projective"_a = true, "single_root"_a = true);
    m.def("tree_minimum_risk", minimum_risk, "marginals"_a, "projective"_a = true, "single_root"_a = true);
    m.def("tree_k_best", k_best, "scores"_a, "k"_a, "projective"_a = true, "single_root"_a = true);
}

}  // namespace dualstruct
