#include "clusters/neighbours.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "clusters/information.hpp"
#include "text/attributes.hpp"
#include "text/lines.hpp"
#include "text/unicode.hpp"

namespace dualstruct::clusters {
namespace {

constexpr std::int32_t line_end = -1;
constexpr std::string_view blanks = " \t\v\f\r";

// Rows of what stands beside each word, each sorted and with equal neighbours added up.
Counts counted(std::vector<std::int64_t> offsets, std::vector<std::int32_t> others, int threads) {
    const std::int64_t n = static_cast<std::int64_t>(offsets.size()) - 1;
    std::vector<std::int64_t> distinct(at(n + 1), 0);
    std::vector<std::uint32_t> counts(others.size());
    for_each_range(n, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t word = begin; word < end; ++word) {
            const auto first = others.begin() + offsets[at(word)], last = others.begin() + offsets[at(word + 1)];
            std::sort(first, last);
            auto kept = first;
            for (auto each = first; each != last; ++kept) {
                const auto next = std::upper_bound(each, last, *each);
                *kept = *each;
                counts[at(kept - others.begin())] = static_cast<std::uint32_t>(next - each);
                each = next;
            }
            distinct[at(word + 1)] = kept - first;
        }
    });
    Counts out;
    out.offsets.resize(at(n + 1));
    std::partial_sum(distinct.begin(), distinct.end(), out.offsets.begin());
    out.words.resize(at(out.offsets.back()));
    out.counts.resize(at(out.offsets.back()));
    for (std::int64_t word = 0; word < n; ++word) {
        const std::int64_t from = offsets[at(word)], to = out.offsets[at(word)], many = distinct[at(word + 1)];
        std::copy_n(others.begin() + from, many, out.words.begin() + to);
        std::copy_n(counts.begin() + from, many, out.counts.begin() + to);
    }
    return out;
}

Counts transposed(const Counts& rows) {
    Counts out;
    const std::size_t n = rows.offsets.size() - 1;
    out.offsets.assign(n + 1, 0);
    for (const std::int32_t word : rows.words) ++out.offsets[at(word + 1)];
    std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());
    out.words.resize(rows.words.size());
    out.counts.resize(rows.words.size());
    std::vector<std::int64_t> next(out.offsets.begin(), out.offsets.end() - 1);
    for (std::size_t word = 0; word < n; ++word) {
        for (std::int64_t each = rows.offsets[word]; each < rows.offsets[word + 1]; ++each) {
            const auto to = at(next[at(rows.words[at(each)])]++);
            out.words[to] = static_cast<std::int32_t>(word);
            out.counts[to] = rows.counts[at(each)];
        }
    }
    return out;
}

std::vector<std::uint64_t> sums(const Counts& rows) {
    std::vector<std::uint64_t> out(rows.offsets.size() - 1, 0);
    for (std::size_t word = 0; word < out.size(); ++word) {
        for (std::int64_t each = rows.offsets[word]; each < rows.offsets[word + 1]; ++each) {
            out[word] += rows.counts[at(each)];
        }
    }
    return out;
}

std::uint64_t digest_of(const Neighbours& found) {
    std::uint64_t digest = hash_bytes(found.words.bytes);
    const auto add = [&](std::uint64_t value) { digest = mix(digest * 0x9E3779B97F4A7C15ull + value); };
    for (const std::int64_t end : found.words.offsets) add(static_cast<std::uint64_t>(end));
    for (const std::int64_t end : found.after.offsets) add(static_cast<std::uint64_t>(end));
    for (std::size_t each = 0; each < found.after.words.size(); ++each) {
        add(static_cast<std::uint64_t>(found.after.words[each]) << 32 | found.after.counts[each]);
    }
    return digest;
}

}  // namespace

template <class Take>
void RawText::each_word(std::string_view text, std::int64_t first_line, Take take) {
    Lines lines(text);
    std::string_view line;
    const auto fail = [&](const char* reason) -> void {
        throw InputError("line " + std::to_string(lines.number() + first_line - 1) + ": " + reason);
    };
    while (lines.next(line)) {
        if (line.find('\0') != std::string_view::npos) fail("there is a NUL byte in it: this is no text");
        if (!is_valid_utf8(line)) fail("this is not UTF-8 text");
        for (std::size_t begin = 0; (begin = line.find_first_not_of(blanks, begin)) != std::string_view::npos;) {
            const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
            std::string_view word = line.substr(begin, end - begin);
            if (lowercase_) {
                lowered_.clear();
                append_lower(lowered_, word);
                word = lowered_;
            }
            take(word);
            begin = end;
        }
        take({});
    }
}

void RawText::add(std::string_view lines, std::int64_t first_line) {
    each_word(lines, first_line, [&](std::string_view word) {
        if (word.empty()) {
            ids_.push_back(line_end);
            return;
        }
        if (++tokens_ >= std::numeric_limits<std::uint32_t>::max()) {
            throw InputError("more than 4,294,967,294 words cannot be counted; give a part of the text");
        }
        const std::int32_t type = types_.intern(word);
        if (at(type) == occurrences_.size()) occurrences_.push_back(0);
        ++occurrences_[at(type)];
        ids_.push_back(type);
    });
}

void RawText::restrict_to(std::string_view lines, std::int64_t first_line) {
    restricted_ = true;
    each_word(lines, first_line, [&](std::string_view word) {
        if (!word.empty()) wanted_.insert(hash_bytes(word));
    });
}

Neighbours RawText::neighbours(std::int64_t min_count, int threads) const {
    std::vector<std::int32_t> chosen;
    for (std::size_t type = 0; type < types_.size(); ++type) {
        const bool wanted = !restricted_ || wanted_.contains(types_.hash(type));
        if (wanted && occurrences_[type] >= min_count) chosen.push_back(static_cast<std::int32_t>(type));
    }
    // Equally frequent words in the order in which the text brings them.
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::int32_t a, std::int32_t b) { return occurrences_[at(a)] > occurrences_[at(b)]; });
    Neighbours found;
    std::vector<std::int32_t> rank(types_.size(), line_end);
    for (std::size_t word = 0; word < chosen.size(); ++word) {
        rank[at(chosen[word])] = static_cast<std::int32_t>(word);
        found.words.push_back(types_[at(chosen[word])]);
        found.occurrences.push_back(occurrences_[at(chosen[word])]);
    }
    const auto each_pair = [&](auto take) {
        std::int32_t before = line_end;
        for (const std::int32_t type : ids_) {
            const std::int32_t word = type == line_end ? line_end : rank[at(type)];
            if (before != line_end && word != line_end) take(before, word);
            before = word;
        }
    };
    std::vector<std::int64_t> offsets(chosen.size() + 1, 0);
    each_pair([&](std::int32_t before, std::int32_t) { ++offsets[at(before + 1)]; });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<std::int32_t> others(at(offsets.back()));
    std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
    each_pair([&](std::int32_t before, std::int32_t word) { others[at(next[at(before)]++)] = word; });
    found.after = counted(std::move(offsets), std::move(others), threads);
    found.before = transposed(found.after);
    found.left = sums(found.after);
    found.right = sums(found.before);
    found.pairs = std::accumulate(found.left.begin(), found.left.end(), std::uint64_t{0});
    found.digest = digest_of(found);
    return found;
}

double mutual_information(const Neighbours& neighbours, std::span<const std::int32_t> cluster_of) {
    if (neighbours.pairs == 0) return 0;
    const auto n = at(neighbours.size());
    std::vector<std::int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return cluster_of[at(a)] < cluster_of[at(b)]; });
    const Information information;
    std::int64_t total = information.of(neighbours.pairs);
    std::vector<std::uint64_t> row(n, 0), right(n, 0);
    std::vector<std::int32_t> touched;
    for (std::size_t first = 0; first < n;) {
        const std::int32_t cluster = cluster_of[at(order[first])];
        std::uint64_t left = 0;
        for (; first < n && cluster_of[at(order[first])] == cluster; ++first) {
            const auto word = at(order[first]);
            left += neighbours.left[word];
            right[at(cluster)] += neighbours.right[word];
            for (std::int64_t each = neighbours.after.offsets[word]; each < neighbours.after.offsets[word + 1];
                 ++each) {
                const std::int32_t other = cluster_of[at(neighbours.after.words[at(each)])];
                if (row[at(other)] == 0) touched.push_back(other);
                row[at(other)] += neighbours.after.counts[at(each)];
            }
        }
        for (const std::int32_t other : touched) total += information.of(std::exchange(row[at(other)], 0));
        touched.clear();
        total -= information.of(left);
    }
    for (const std::uint64_t count : right) total -= information.of(count);
    return static_cast<double>(total) / information.scale / static_cast<double>(neighbours.pairs);
}

}  // namespace dualstruct::clusters
