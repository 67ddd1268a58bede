// CoNLL-U and CoNLL-X: the words of a file as a table, with their heads and where they stand. The
// file itself is kept as it is by the caller, so that writing it loses nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_table.hpp"

namespace dualstruct {

// The file's ten columns. ID and HEAD are numbers; the others are columns of the table, in this order.
constexpr std::size_t conllu_columns = 10;
constexpr std::size_t conllu_id = 0;
constexpr std::size_t conllu_head = 6;

struct ConlluWords {
    std::shared_ptr<TokenTable> table;   // FORM LEMMA UPOS XPOS FEATS DEPREL DEPS MISC
    std::vector<std::int32_t> heads;     // [words] 0 is the root, -1 where the file has none (_)
    std::vector<std::int64_t> lines;     // [words] counted from 1
    std::vector<std::int64_t> bytes{0};  // [sentences + 1] where each sentence, comments included, begins
};

// Checks the form of the file: columns, ids in order, heads that exist. Errors start with "line N";
// `lines_before` were read before this text.
ConlluWords parse_conllu(std::string_view text, std::int64_t lines_before);

// Cells to write instead of those of a column: one string of `strings` for each word.
struct NewCells {
    std::size_t column;  // of the ten
    std::span<const std::int32_t> ids;
    std::vector<std::string> strings;
};

// The text with some columns of its words changed and everything else as it is.
std::string rewrite_conllu(std::string_view text, const std::vector<NewCells>& changed);

// What keeps the heads of a sentence from being one tree, or a tree under several roots.
enum class TreeFault { none, no_head, two_roots, cycle };

struct FaultyWord {
    TreeFault fault = TreeFault::none;
    std::int32_t word = 0;  // from 0: the one without a head, the second root, one on the cycle
};

FaultyWord find_fault(std::span<const std::int32_t> heads, bool single_root);

// How many arcs of a tree cross another one, those from the root (left of all words) included.
std::int64_t count_crossing(std::span<const std::int32_t> heads);

}  // namespace dualstruct
