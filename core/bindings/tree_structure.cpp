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

#include "bindings/bindings.hpp"
#include "structures/tree.hpp"
#include "text/hash.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

ArcFeatures arc_features(std::shared_ptr<TokenTable> table, const std::array<int, 6>& columns,
                         const std::vector<std::string>& between, int labels, int line_bits, int label_bits) {
    std::vector<std::uint64_t> types;
    for (const std::string& name : between) types.push_back(hash_bytes(name));
    for (int column : columns) {
        if (table->tokens() && column >= static_cast<int>(table->columns.size())) throw std::invalid_argument("no such column");
    }
    const TreeColumns where{columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]};
    return ArcFeatures(std::move(table), where, types, labels, line_bits, label_bits);
}

std::vector<std::int32_t> copied(const std::optional<Input<std::int32_t>>& array) {
    const auto values = view(array);
    return {values.begin(), values.end()};
}

const int tree_max_labels = Tree::max_labels, tree_max_words = Tree::max_words;

}  // namespace

void bind_tree_structure(nb::module_& m) {
    nb::class_<Tree, Structure>(m, "Tree")
        .def("__init__", [](Tree* self, std::shared_ptr<TokenTable> table, std::array<int, 6> columns,
                            const std::vector<std::string>& between, std::optional<Input<std::int32_t>> heads,
                            std::optional<Input<std::int32_t>> labels, int n_labels, int line_bits, int label_bits,
                            bool projective, bool single_root, float label_cost) {
            new (self) Tree(arc_features(std::move(table), columns, between, n_labels, line_bits, label_bits),
                            copied(heads), copied(labels), {projective, single_root, label_cost});
        }, "table"_a, "columns"_a, "between"_a, "heads"_a.none(), "labels"_a.none(), "n_labels"_a, "line_bits"_a,
           "label_bits"_a, "projective"_a, "single_root"_a, "label_cost"_a)
        .def_ro_static("max_labels", &tree_max_labels)
        .def_ro_static("max_words", &tree_max_words)
        .def("expectation", [](const Tree& t, const Weights& w, std::int64_t i, double beta, double gamma) {
            TreeExpectation e;
            {
                nb::gil_scoped_release no_gil;
                const auto scratch = t.make_scratch();
                e = t.expectation(checked(w, t).data(), i, beta, gamma, *scratch);
            }
            const int nodes = t.words(i) + 1;
            return nb::make_tuple(
                e.log_partition, e.expected_cost,
                shaped(nb::cast(to_numpy(std::move(e.arcs))), nb::make_tuple(nodes, nodes)),
                shaped(nb::cast(to_numpy(std::move(e.labels))), nb::make_tuple(nodes, nodes, t.features().labels())));
        }, "w"_a, "i"_a, "beta"_a, "gamma"_a);
}

}  // namespace dualstruct
