// What the binding files share: array types, checks and the functions each of them offers.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "learning/examples.hpp"
#include "learning/weights.hpp"
#include "python/gil.hpp"

namespace dualstruct {

namespace nb = nanobind;

// A C-contiguous numpy vector or matrix that the core reads.
template <class T, class Shape = nb::ndim<1>>
using Input = nb::ndarray<const T, nb::numpy, Shape, nb::c_contig, nb::device::cpu>;

template <class T, class Shape = nb::ndim<1>>
using Array = nb::ndarray<T, nb::numpy, Shape, nb::c_contig, nb::device::cpu>;

// Hands a vector to numpy without copying it.
template <class T>
Array<T> to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(owned->data(), {owned->size()}, owner);
}

template <class T, class Shape>
std::span<const T> view(const Input<T, Shape>& array) {
    return {array.data(), array.size()};
}

template <class T, class Shape>
std::span<const T> view(const std::optional<Input<T, Shape>>& array) {
    return array ? view(*array) : std::span<const T>{};
}

inline nb::object shaped(nb::object array, nb::tuple shape) { return array.attr("reshape")(shape); }

// Lets Python's signal handlers run, ten times a second at most.
class SignalCheck {
public:
    bool operator()() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return false;
        next_ = now + std::chrono::milliseconds(100);
        GilHeld gil;
        return PyErr_CheckSignals() != 0;  // leaves the exception set for the caller
    }

private:
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
};

inline void raise_if_signalled() {
    if (PyErr_Occurred()) throw nb::python_error();
}

// Weights of another layout would be read and written out of bounds.
template <class W>
W& checked(W& w, const Structure& structure) {
    if (!w.fits(structure)) throw std::invalid_argument("these weights belong to another structure");
    return w;
}

template <class W>
W& checked(W& w, const Examples& examples) {
    return checked(w, examples.structure);
}

inline const Structure& with_truth(const Structure& structure) {
    if (!structure.has_truth()) throw std::invalid_argument("the structure has no true outputs to learn from");
    return structure;
}

inline const Examples& with_truth(const Examples& examples) {
    with_truth(examples.structure);
    return examples;
}

// Of a structure, or of what is learned from.
template <class Examples>
std::int64_t example(const Examples& examples, std::int64_t i) {
    if (i < 0 || i >= examples.size()) throw nb::index_error("no such example");
    return i;
}

// Outputs from outside are checked: their numbers are places in memory.
inline std::span<const std::int32_t> output_of(const Structure& structure, std::int64_t i,
                                               const Input<std::int32_t>& output) {
    if (!structure.is_output(example(structure, i), view(output))) {
        throw std::invalid_argument("these numbers are no output of this example");
    }
    return view(output);
}

// Costs are those of true outputs.
inline void check_cost(const Structure& structure, double cost_weight) {
    if (cost_weight != 0) with_truth(structure);
}

// Sets the weights of a structure's layout and what is derived from them.
void assign(Weights& w, const Structure& structure, Input<float> values);

void bind_text(nb::module_& m);
void bind_tokenizer(nb::module_& m);
void bind_clusters(nb::module_& m);
void bind_derived_columns(nb::module_& m);
void bind_files(nb::module_& m);
void bind_structures(nb::module_& m);
void bind_chains(nb::module_& m);
void bind_precise_chains(nb::module_& m);
void bind_crfsuite(nb::module_& m);
void bind_graphs(nb::module_& m);
void bind_tree_structure(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_duals(nb::module_& m);
void bind_planes(nb::module_& m);
void bind_online(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_packing(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_custom(nb::module_& m);

}  // namespace dualstruct
