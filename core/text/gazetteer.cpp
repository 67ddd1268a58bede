#include "text/gazetteer.hpp"

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/attributes.hpp"
#include "text/hash.hpp"

namespace dualstruct {

std::uint64_t Gazetteer::hash_of(std::string_view word) const {
    if (!fold_case_) return hash_bytes(word);
    std::string lowered;
    append_lower(lowered, word);
    return hash_bytes(lowered);
}

Gazetteer::Gazetteer(std::span<const std::uint64_t> prefixes, std::span<const std::uint8_t> is_phrase, bool fold_case)
    : fold_case_(fold_case), is_phrase_(is_phrase.begin(), is_phrase.end()) {
    if (prefixes.size() != is_phrase.size()) throw InputError("gazetteer: as many flags as prefixes are expected");
    for (const std::uint64_t prefix : prefixes) prefixes_.insert(prefix);
    if (prefixes_.size() != prefixes.size()) throw InputError("gazetteer: a prefix is there twice");
}

void Gazetteer::add(std::span<const std::string_view> words) {
    if (words.empty()) return;
    std::uint64_t prefix = 0;
    std::size_t id = 0;
    for (const std::string_view word : words) {
        prefix = combine(prefix, hash_of(word));
        id = at(prefixes_.insert(prefix));
        if (id == is_phrase_.size()) is_phrase_.push_back(0);
    }
    is_phrase_[id] = 1;
}

std::vector<std::int32_t> Gazetteer::marks(const TokenTable::Column& column,
                                           std::span<const std::int64_t> sentences) const {
    std::vector<std::uint64_t> hashes(column.types.size());  // [type]
    for (std::size_t type = 0; type < hashes.size(); ++type) hashes[type] = hash_of(column.types[type]);

    std::vector<std::int32_t> marks(column.ids.size(), outside);
    for (std::size_t s = 0; s + 1 < sentences.size(); ++s) {
        const auto end = at(sentences[s + 1]);
        for (auto token = at(sentences[s]); token < end;) {
            std::uint64_t prefix = 0;
            std::size_t matched = token;  // end of the longest phrase so far
            for (std::size_t next = token; next < end;) {
                prefix = combine(prefix, hashes[at(column.ids[next])]);
                const std::int32_t id = prefixes_.find(prefix);
                if (id == HashIndex::absent) break;
                ++next;
                if (is_phrase_[at(id)] != 0) matched = next;
            }
            if (matched == token) {
                ++token;
                continue;
            }
            marks[token] = first;
            for (++token; token < matched; ++token) marks[token] = inside;
        }
    }
    return marks;
}

}  // namespace dualstruct
