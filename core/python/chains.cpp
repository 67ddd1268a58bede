// Chains for Python.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "python/passes.hpp"
#include "structures/chain/chain.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

// The arrays a chain reads; it keeps them alive.
struct ChainArrays {
    Input<std::int64_t> sentences, offsets;
    Input<std::int32_t> features;
    std::optional<Input<float>> values;
    std::optional<Input<std::int32_t>> truth;
    Input<float, nb::ndim<2>> cost;
    std::optional<Input<float>> token_weights;
    std::optional<Input<std::uint8_t, nb::ndim<2>>> transitions;
    std::optional<Input<std::int64_t>> allowed_offsets;
    std::optional<Input<std::int32_t>> allowed;
    std::optional<Input<std::int64_t>> pair_offsets;
    std::optional<Input<std::int32_t>> pair_features;
    std::optional<Input<float>> pair_values;
};

ChainData chain_data(ChainArrays given, std::int64_t dimension, int labels, std::int64_t pair_dimension) {
    const auto arrays = std::make_shared<const ChainArrays>(std::move(given));
    return {.sentences = view(arrays->sentences),
            .offsets = view(arrays->offsets),
            .features = view(arrays->features),
            .values = view(arrays->values),
            .truth = view(arrays->truth),
            .dimension = dimension,
            .labels = labels,
            .cost = view(arrays->cost),
            .token_weights = view(arrays->token_weights),
            .transitions = view(arrays->transitions),
            .allowed_offsets = view(arrays->allowed_offsets),
            .allowed = view(arrays->allowed),
            .pair_offsets = view(arrays->pair_offsets),
            .pair_features = view(arrays->pair_features),
            .pair_values = view(arrays->pair_values),
            .pair_dimension = pair_dimension,
            .owner = arrays};
}

std::vector<float> marginals_all(const Chain& chain, const Weights& w, double beta, double gamma, int threads,
                                 const Interrupt& interrupt) {
    const std::int64_t n = chain.size(), K = chain.labels();
    std::vector<float> marginals(at(n ? chain.first_token(n) * K : 0));
    for_each_range(n, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
        const auto scratch = chain.make_scratch();
        for (std::int64_t i = begin; i < end; ++i) {
            if (thread == 0 && interrupt()) return;
            const auto found = chain.expectation(w.data(), i, beta, gamma, false, *scratch);
            std::ranges::copy(found.labels, marginals.begin() + chain.first_token(i) * K);
        }
    });
    return marginals;
}

const int chain_max_labels = Chain::max_labels;
const std::int64_t chain_max_tokens = Chain::max_tokens;

}  // namespace

void bind_chains(nb::module_& m) {
    nb::class_<Chain, Structure>(m, "Chain")
        .def(
            "__init__",
            [](Chain* self, Input<std::int64_t> sentences, Input<std::int64_t> offsets, Input<std::int32_t> features,
               std::optional<Input<float>> values, std::optional<Input<std::int32_t>> truth, std::int64_t dimension,
               int labels, Input<float, nb::ndim<2>> cost, std::optional<Input<float>> token_weights,
               std::optional<Input<std::uint8_t, nb::ndim<2>>> transitions,
               std::optional<Input<std::int64_t>> allowed_offsets, std::optional<Input<std::int32_t>> allowed,
               std::optional<Input<std::int64_t>> pair_offsets, std::optional<Input<std::int32_t>> pair_features,
               std::optional<Input<float>> pair_values, std::int64_t pair_dimension) {
                new (self)
                    Chain(chain_data({sentences, offsets, features, values, truth, cost, token_weights, transitions,
                                      allowed_offsets, allowed, pair_offsets, pair_features, pair_values},
                                     dimension, labels, pair_dimension));
            },
            "sentences"_a, "offsets"_a, "features"_a, "values"_a.none(), "truth"_a.none(), "dimension"_a, "labels"_a,
            "cost"_a, "token_weights"_a.none(), "transitions"_a.none(), "allowed_offsets"_a.none(), "allowed"_a.none(),
            "pair_offsets"_a.none() = nb::none(), "pair_features"_a.none() = nb::none(),
            "pair_values"_a.none() = nb::none(), "pair_dimension"_a = 0)
        .def_prop_ro("stride", &Chain::stride)
        .def(
            "set_truth",
            [](Chain& c, Input<std::int32_t> truth) {
                if (static_cast<std::int64_t>(truth.size()) != c.first_token(c.size())) {
                    throw std::invalid_argument("a label for every token");
                }
                for (std::int32_t label : view(truth)) {
                    if (label < 0 || label >= c.labels()) throw std::invalid_argument("no such label");
                }
                c.set_truth({truth.data(), truth.data() + truth.size()});
            },
            "truth"_a)
        .def_ro_static("max_labels", &chain_max_labels)
        .def_ro_static("max_tokens", &chain_max_tokens)
        .def(
            "marginals_all",
            [](const Chain& c, const Weights& w, double beta, double gamma, int threads) {
                check_cost(c, gamma);
                auto marginals = run([&](const Interrupt& interrupt) {
                    return marginals_all(c, checked(w, c), beta, gamma, threads, interrupt);
                });
                return shaped(nb::cast(to_numpy(std::move(marginals))), nb::make_tuple(-1, c.labels()));
            },
            "w"_a, "beta"_a, "gamma"_a, "threads"_a)
        .def(
            "expectation",
            [](const Chain& c, const Weights& w, std::int64_t i, double beta, double gamma) {
                check_cost(c, gamma);
                example(c, i);
                auto e = without_gil([&] {
                    const auto scratch = c.make_scratch();
                    return c.expectation(checked(w, c).data(), i, beta, gamma, true, *scratch);
                });
                const int K = c.labels();
                return nb::make_tuple(e.log_partition, e.expected_cost,
                                      shaped(nb::cast(to_numpy(std::move(e.labels))), nb::make_tuple(-1, K)),
                                      shaped(nb::cast(to_numpy(std::move(e.pairs))), nb::make_tuple(-1, K, K)));
            },
            "w"_a, "i"_a, "beta"_a, "gamma"_a);
}

}  // namespace dualstruct
