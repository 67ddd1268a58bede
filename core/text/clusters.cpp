#include "text/clusters.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/lines.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

Clusters Clusters::parse(std::string_view data) {
    Clusters clusters;
    StringTable paths;
    Lines lines(data);
    const auto fail = [&](const char* reason) -> void {
        throw InputError("line " + std::to_string(lines.number()) + ": " + reason);
    };
    std::string_view line;
    while (lines.next(line)) {
        if (line.empty()) continue;

        const char* const blanks = line.find('\t') != std::string_view::npos ? "\t" : " ";
        const std::size_t path_end = line.find_first_of(blanks);
        if (path_end == std::string_view::npos) fail("a path, a word and a count are expected, with tabs between them");
        const std::string_view path = line.substr(0, path_end);
        std::string_view word = line.substr(path_end + 1);
        word = word.substr(0, std::min(word.find_first_of(blanks), word.size()));
        if (path.empty() || path.find_first_not_of("01") != std::string_view::npos) {
            fail("the path has to be a string of 0s and 1s");
        }
        if (!is_valid_utf8(word)) fail("this is not UTF-8 text");

        const std::int32_t path_id = paths.intern(path);
        const std::size_t known = clusters.words_.size();
        const auto id = at(clusters.words_.insert(hash_bytes(word)));
        if (id == known) clusters.path_of_.push_back(path_id);
    }
    if (clusters.path_of_.empty()) throw InputError("it has no clusters");
    clusters.paths_ = paths.strings();
    return clusters;
}

Clusters::Clusters(std::span<const std::uint64_t> words, std::span<const std::int32_t> path_of, Strings paths)
    : path_of_(path_of.begin(), path_of.end()), paths_(std::move(paths)) {
    if (words.size() != path_of.size()) throw InputError("clusters: as many paths as words are expected");
    words_.reserve(words.size());
    for (const std::uint64_t word : words) words_.insert(word);
    if (words_.size() != words.size()) throw InputError("clusters: a word is there twice");
    for (const std::int32_t path : path_of_) {
        if (path < 0 || at(path) >= paths_.size()) {
            throw InputError("clusters: a path number is out of range");
        }
    }
}

}  // namespace dualstruct
