// Dependency trees as a structure, for Python.

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>

#include "base/index.hpp"
#include "python/bindings.hpp"
#include "structures/tree/second_order_tree.hpp"
#include "structures/tree/tree.hpp"
#include "text/hash.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

ArcFeatures arc_features(std::shared_ptr<TokenTable> table, const std::array<int, 6>& columns,
                         const std::vector<std::string>& between, int labels, int line_bits, int label_bits) {
    std::vector<std::uint64_t> types;
    for (const std::string& name : between) types.push_back(hash_bytes(name));
    for (int column : columns) {
        if (table->tokens() && column >= static_cast<int>(table->columns.size()))
            throw std::invalid_argument("no such column");
    }
    const TreeColumns where{columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]};
    return ArcFeatures(std::move(table), where, types, labels, line_bits, label_bits);
}

std::vector<std::int32_t> copied(const std::optional<Input<std::int32_t>>& array) {
    const auto values = view(array);
    return {values.begin(), values.end()};
}

// Kept arcs, words, arcs, and true arcs that were kept by their probability.
nb::tuple prune_arcs(const Tree& tree, const Weights& w, int most_heads, float threshold, double beta,
                     bool keep_truth) {
    checked(w, tree);
    if (keep_truth) with_truth(tree);
    trees::PruningReport report;
    KeptArcs kept;
    {
        GilReleased no_gil;
        kept = prune(tree, w.data(), {most_heads, threshold}, beta, keep_truth, report, SignalCheck());
    }
    raise_if_signalled();
    return nb::make_tuple(to_numpy(std::move(kept.offsets)), to_numpy(std::move(kept.heads)),
                          to_numpy(std::move(kept.modifiers)), report.words, report.arcs, report.true_arcs_kept);
}

KeptArcs kept_arcs(const Tree& tree, Input<std::int64_t> offsets, Input<std::uint16_t> heads,
                   Input<std::uint16_t> modifiers) {
    const auto wrong = [] { throw std::invalid_argument("these arcs belong to other sentences"); };
    const auto o = view(offsets);
    if (std::int64_t{static_cast<std::int64_t>(o.size())} != tree.size() + 1 || o.front() != 0 ||
        o.back() != static_cast<std::int64_t>(heads.size()) || heads.size() != modifiers.size()) {
        wrong();
    }
    for (std::int64_t i = 0; i < tree.size(); ++i) {
        const auto begin = o[at(i)], end = o[at(i) + 1];
        if (begin > end) wrong();
        for (auto a = begin; a < end; ++a) {
            const int h = heads.data()[a], m = modifiers.data()[a];
            if (h > tree.words(i) || m < 1 || m > tree.words(i) || h == m) wrong();
        }
    }
    return {{o.begin(), o.end()},
            {heads.data(), heads.data() + heads.size()},
            {modifiers.data(), modifiers.data() + modifiers.size()}};
}

nb::list as_tuples(const std::vector<NamedFeature>& features) {
    nb::list result;
    for (const NamedFeature& feature : features) result.append(nb::make_tuple(feature.name, feature.weights));
    return result;
}

void check_arc(const Tree& tree, std::int64_t i, int h, int m, int label) {
    if (i < 0 || i >= tree.size() || h < 0 || h > tree.words(i) || m < 1 || m > tree.words(i) || h == m || label < 0 ||
        label >= tree.features().labels()) {
        throw std::invalid_argument("there is no such arc");
    }
}

// (feature's name, its weights) of an arc by itself, then of its label.
nb::tuple name_arc(const Tree& tree, std::int64_t i, int h, int m, int label, const ArcNames::ColumnNames& columns) {
    check_arc(tree, i, h, m, label);
    const ArcNames names(tree.features(), i, columns);
    return nb::make_tuple(as_tuples(names.arc(h, m)), as_tuples(names.label(h, m, label)));
}

// (0: left, 1: right siblings, 2: grandparent; three nodes; features) of every pair of arcs in a tree.
nb::list name_parts(const SecondOrderTree& tree, std::int64_t i, Input<std::int32_t> heads,
                    const ArcNames::ColumnNames& columns) {
    if (i < 0 || i >= tree.size() || static_cast<int>(heads.size()) != tree.words(i)) {
        throw std::invalid_argument("a head for each word");
    }
    for (const std::int32_t head : view(heads)) {
        if (head < 0 || head > tree.words(i)) throw std::invalid_argument("a head that is no word of the sentence");
    }
    nb::list result;
    for (const auto& [part, features] : tree.named_parts(i, view(heads), columns)) {
        result.append(nb::make_tuple(part.kind, part.first, part.second, part.third, as_tuples(features)));
    }
    return result;
}

const int tree_max_labels = Tree::max_labels, tree_max_words = Tree::max_words;

}  // namespace

void bind_tree_structure(nb::module_& m) {
    nb::class_<Tree, Structure>(m, "Tree")
        .def(
            "__init__",
            [](Tree* self, std::shared_ptr<TokenTable> table, std::array<int, 6> columns,
               const std::vector<std::string>& between, std::optional<Input<std::int32_t>> heads,
               std::optional<Input<std::int32_t>> labels, int n_labels, int line_bits, int label_bits, bool projective,
               bool single_root, float label_cost) {
                new (self) Tree(arc_features(std::move(table), columns, between, n_labels, line_bits, label_bits),
                                copied(heads), copied(labels), {projective, single_root, label_cost});
            },
            "table"_a, "columns"_a, "between"_a, "heads"_a.none(), "labels"_a.none(), "n_labels"_a, "line_bits"_a,
            "label_bits"_a, "projective"_a, "single_root"_a, "label_cost"_a)
        .def_ro_static("max_labels", &tree_max_labels)
        .def_ro_static("max_words", &tree_max_words)
        .def_prop_ro("stride", [](const Tree& t) { return t.features().stride(); })
        .def("name_arc", name_arc, "i"_a, "h"_a, "m"_a, "label"_a, "columns"_a)
        .def(
            "expectation",
            [](const Tree& t, const Weights& w, std::int64_t i, double beta, double gamma) {
                check_cost(t, gamma);
                example(t, i);
                auto e = without_gil([&] {
                    const auto scratch = t.make_scratch();
                    return t.expectation(checked(w, t).data(), i, beta, gamma, *scratch);
                });
                const int nodes = t.words(i) + 1;
                return nb::make_tuple(e.log_partition, e.expected_cost,
                                      shaped(nb::cast(to_numpy(std::move(e.arcs))), nb::make_tuple(nodes, nodes)),
                                      shaped(nb::cast(to_numpy(std::move(e.labels))),
                                             nb::make_tuple(nodes, nodes, t.features().labels())));
            },
            "w"_a, "i"_a, "beta"_a, "gamma"_a);
    m.def("prune_arcs", prune_arcs, "tree"_a, "w"_a, "most_heads"_a, "threshold"_a, "beta"_a, "keep_truth"_a);
    nb::class_<SecondOrderTree, Structure>(m, "SecondOrderTree")
        .def(
            "__init__",
            [](SecondOrderTree* self, std::shared_ptr<Tree> first, Input<std::int64_t> offsets,
               Input<std::uint16_t> heads, Input<std::uint16_t> modifiers, int bits, bool siblings, bool grandparents,
               int max_iterations, bool branch) {
                KeptArcs kept = kept_arcs(*first, offsets, heads, modifiers);
                new (self) SecondOrderTree(std::move(first), std::move(kept), bits,
                                           {siblings, grandparents, max_iterations, branch});
            },
            "first"_a, "offsets"_a, "heads"_a, "modifiers"_a, "bits"_a, "siblings"_a, "grandparents"_a,
            "max_iterations"_a, "branch"_a)
        .def("name_parts", name_parts, "i"_a, "heads"_a, "columns"_a)
        .def_prop_ro("unproven", &SecondOrderTree::unproven)
        .def("take_effort",
             [](const SecondOrderTree& t) {
                 const auto effort = t.take_effort();
                 return nb::make_tuple(effort.decoded, effort.exact, effort.iterations);
             })
        .def(
            "marginals",
            [](const SecondOrderTree& t, const Weights& w, std::int64_t i, int max_iterations, double damping) {
                checked(w, t);
                example(t, i);
                std::vector<float> arcs;
                trees::SecondOrderMarginals found;
                {
                    GilReleased no_gil;
                    graphs::PropagationOptions options;
                    options.max_iterations = max_iterations;
                    options.damping = damping;
                    const auto scratch = t.make_scratch();
                    found = t.marginals(w.data(), i, options, *scratch, arcs);
                }
                const int nodes = t.words(i) + 1;
                return nb::make_tuple(found.log_partition,
                                      shaped(nb::cast(to_numpy(std::move(arcs))), nb::make_tuple(nodes, nodes)),
                                      found.converged, found.iterations);
            },
            "w"_a, "i"_a, "max_iterations"_a, "damping"_a);
}

}  // namespace dualstruct
