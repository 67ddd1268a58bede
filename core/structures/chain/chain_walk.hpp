// What a cut of a chain consists of: the tokens and transitions in which it differs from the truth.
#pragma once

#include <cstdint>
#include <span>

#include "structures/chain/chain.hpp"

namespace dualstruct {

inline int token_of(Code code) { return static_cast<int>(code >> Chain::label_bits); }
inline int label_of(Code code) { return static_cast<int>(code & (Chain::max_labels - 1)); }

// Everything in δ = φ(truth) − φ(cut): emit(token, true label, cut's label) for each token that
// differs, move(token, from, to, ±1) for each transition into a token; `to` = labels stands for the end.
template <class Emit, class Move>
void Chain::walk(std::int64_t i, std::span<const Code> codes, Emit emit, Move move) const {
    const std::int64_t first = data_.sentences[i];
    const std::int32_t* truth = data_.truth.data() + first;
    const int last = static_cast<int>(tokens(i)) - 1, start = data_.labels, end = data_.labels;
    int previous_token = -2, previous_label = 0;
    for (std::size_t q = 0; q < codes.size(); ++q) {
        const int t = token_of(codes[q]), label = label_of(codes[q]);
        emit(first + t, truth[t], label);
        const int true_from = t ? truth[t - 1] : start;
        move(first + t, true_from, truth[t], 1);
        move(first + t, previous_token == t - 1 ? previous_label : true_from, label, -1);
        if (t == last || q + 1 == codes.size() || token_of(codes[q + 1]) != t + 1) {
            const int to = t == last ? end : truth[t + 1];
            move(first + t + 1, truth[t], to, 1);
            move(first + t + 1, label, to, -1);
        }
        previous_token = t;
        previous_label = label;
    }
}

}  // namespace dualstruct
