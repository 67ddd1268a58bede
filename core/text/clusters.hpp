// Brown clusters: each word's path in a binary tree, as a string of 0s and 1s.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "text/string_table.hpp"

namespace dualstruct {

class Clusters {
public:
    // Lines "path TAB word TAB count" (the count may be missing); blanks may stand for tabs.
    static Clusters parse(std::string_view data);
    // From the arrays of a model file; words are known by their hashes only.
    Clusters(std::span<const std::uint64_t> words, std::span<const std::int32_t> path_of, Strings paths);
    Clusters() = default;

    // The word's path, or an empty string.
    std::string_view path(std::uint64_t word_hash) const {
        const std::int32_t word = words_.find(word_hash);
        if (word == HashIndex::absent) return {};
        return paths_[at(path_of_[at(word)])];
    }

    const std::vector<std::uint64_t>& words() const { return words_.hashes(); }  // [word]
    const std::vector<std::int32_t>& path_of() const { return path_of_; }        // [word]
    const Strings& paths() const { return paths_; }

private:
    HashIndex words_;
    std::vector<std::int32_t> path_of_;
    Strings paths_;
};

}  // namespace dualstruct
