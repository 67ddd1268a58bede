// Trees over score matrices for Python: what the structures of trees are made of, to use and to test by itself.

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "text/input_error.hpp"
#include "trees/algorithms.hpp"
#include "trees/k_best.hpp"
#include "trees/minimum_risk.hpp"

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
    std::vector<std::int32_t> heads(static_cast<std::size_t>(words_of(scores)) + 1);
    bool found;
    {
        nb::gil_scoped_release no_gil;
        found = trees::make_decoder(projective)->decode(scores.data(), words_of(scores), single_root, heads.data());
    }
    if (!found) no_tree();
    return to_numpy(std::move(heads));
}

nb::tuple marginals(Input<float, nb::ndim<2>> scores, bool projective, bool single_root) {
    std::vector<float> result(scores.size());
    double log_partition = 0;
    bool found;
    {
        nb::gil_scoped_release no_gil;
        found = trees::make_sums(projective)
                    ->marginals(scores.data(), words_of(scores), single_root, result.data(), log_partition);
    }
    if (!found) no_tree();
    return nb::make_tuple(log_partition, shaped(nb::cast(to_numpy(std::move(result))),
                                                nb::make_tuple(scores.shape(0), scores.shape(1))));
}

Array<std::int32_t> minimum_risk(Input<float, nb::ndim<2>> marginals, bool projective, bool single_root) {
    std::vector<std::int32_t> heads(static_cast<std::size_t>(words_of(marginals)) + 1);
    std::vector<float> scratch;
    bool found;
    {
        nb::gil_scoped_release no_gil;
        found = trees::minimum_risk(*trees::make_decoder(projective), marginals.data(), words_of(marginals), single_root,
                                    scratch, heads.data());
    }
    if (!found) no_tree();
    return to_numpy(std::move(heads));
}

auto k_best(Input<float, nb::ndim<3>> scores, int k, bool projective, bool single_root) {
    std::vector<trees::LabelledTree> found;
    {
        nb::gil_scoped_release no_gil;
        found = trees::KBestTrees(trees::make_decoder(projective))
                    .find(scores.data(), words_of(scores), static_cast<int>(scores.shape(2)), single_root, k);
    }
    std::vector<std::tuple<double, Array<std::int32_t>, Array<std::int32_t>>> result;
    for (auto& tree : found) {
        result.emplace_back(tree.score, to_numpy(std::move(tree.heads)), to_numpy(std::move(tree.labels)));
    }
    return result;
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("tree_decode", decode, "scores"_a, "projective"_a = true, "single_root"_a = true);
    m.def("tree_marginals", marginals, "scores"_a, "projective"_a = true, "single_root"_a = true);
    m.def("tree_minimum_risk", minimum_risk, "marginals"_a, "projective"_a = true, "single_root"_a = true);
    m.def("tree_k_best", k_best, "scores"_a, "k"_a, "projective"_a = true, "single_root"_a = true);
}

}  // namespace dualstruct
