// Extraction on several threads: each has some of the sentences, and what they find is put together in order.

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/parallel.hpp"
#include "text/extraction.hpp"
#include "text/rare.hpp"

namespace dualstruct {

// The sentences of a table in as many shares as there are threads, of about as many tokens.
class TemplateFeatures::Shares {
public:
    Shares(const TemplateFeatures& features, const TokenTable& table, int threads)
        : table_(table), plan_(features, table, [&](std::size_t count, const auto& work) {
              for_each_range(threads, threads, [&](std::int64_t first, std::int64_t, int) {
                  for (std::size_t k = at(first); k < count; k += at(threads)) work(k);
              });
          }) {
        const auto& begins = table.sentences;
        for (int k = 0; k < threads; ++k) {
            const std::int64_t token = table.tokens() * (k + 1) / threads;
            const auto end = at(std::ranges::lower_bound(begins, token) - begins.begin());
            const std::size_t begin = shares_.empty() ? 0 : shares_.back().end;
            shares_.push_back({begin, k + 1 < threads ? end : begins.size() - 1, nullptr, 0});
        }
    }

    // Every share by ids_of(its number), where there is room for as many ids as its tokens can have.
    template <class IdsOf>
    void run(IdsOf ids_of) {
        rows_.offsets.resize(at(table_.tokens()) + 1);
        rows_.ids.reset(new std::int32_t[plan_.most_ids(table_.tokens())]);
        for_each([&](std::size_t number) {
            Share& share = shares_[number];
            const std::int64_t first = table_.sentences[share.begin];
            Extraction extraction = plan_;
            auto ids = ids_of(number);
            share.ids = rows_.ids.get() + plan_.most_ids(first);
            share.count = extraction.run(ids, share.begin, share.end, share.ids, rows_.offsets.data() + first + 1);
        });
    }

    // number_of(share, id) instead of each id.
    template <class NumberOf>
    void renumber(NumberOf number_of) {
        for_each([&](std::size_t number) {
            const std::span ids(shares_[number].ids, at(shares_[number].count));
            for (std::int32_t& id : ids) id = number_of(number, id);
        });
    }

    // All rows, without the room that the shares have left.
    Rows together() {
        std::int64_t before = 0;
        for (const Share& share : shares_) {
            if (rows_.ids.get() + before != share.ids) std::copy_n(share.ids, share.count, rows_.ids.get() + before);
            const auto begin = rows_.offsets.begin() + table_.sentences[share.begin] + 1;
            const auto end = rows_.offsets.begin() + table_.sentences[share.end] + 1;
            std::transform(begin, end, begin, [&](std::int64_t offset) { return offset + before; });
            before += share.count;
        }
        return std::move(rows_);
    }

    std::size_t size() const { return shares_.size(); }

private:
    struct Share {
        std::size_t begin, end;  // sentences
        std::int32_t* ids;
        std::int64_t count;
    };
    template <class Work>
    void for_each(Work work) {
        for_each_range(static_cast<std::int64_t>(size()), static_cast<int>(size()),
                       [&](std::int64_t k, std::int64_t end, int) {
                           for (; k < end; ++k) work(at(k));
                       });
    }

    const TokenTable& table_;
    Extraction plan_;
    std::vector<Share> shares_;
    Rows rows_;
};

namespace {

// It takes some microseconds to wake a thread.
int useful_threads(const TokenTable& table, int threads) {
    constexpr std::int64_t least_tokens = 1000;  // of each
    return static_cast<int>(std::clamp<std::int64_t>(table.tokens() / least_tokens, 1, threads));
}

}  // namespace

template <class Ids>
Rows TemplateFeatures::extract(const TokenTable& table, Ids ids, int threads) const {
    threads = useful_threads(table, threads);
    if (threads == 1) return extract(table, ids);
    Shares shares(*this, table, threads);
    shares.run([&](std::size_t) { return ids; });
    return shares.together();
}

Rows TemplateFeatures::transform(const TokenTable& table, int threads) const {
    const auto reading = lock_.read();
    if (hash_bits_ > 0) return extract(table, HashedIds{64 - hash_bits_}, threads);
    return has_names() ? extract(table, ExactIds{index_}, threads)
                       : extract(table, NamelessIds{index_, known_by_}, threads);
}

// Each share numbers what is new to it. Share after share these get ids of all, in the order in which one thread would
// have met them.
Rows TemplateFeatures::extract_new(const TokenTable& table, std::uint64_t seen, int threads) {
    const std::size_t stored = stored_names_.size();
    threads = useful_threads(table, threads);
    if (threads == 1) return extract(table, NewIds{index_, origins_, seen, stored});
    struct Found {
        HashIndex index;
        std::vector<Origin> origins;
        std::vector<std::int32_t> ids;
    };
    Shares shares(*this, table, threads);
    std::vector<Found> found(shares.size());
    shares.run([&](std::size_t k) { return NewIds{found[k].index, found[k].origins, seen, 0}; });
    constexpr std::size_t ahead = 16;
    for (Found& each : found) {
        const auto& hashes = each.index.hashes();
        each.ids.reserve(hashes.size());
        for (std::size_t k = 0; k < hashes.size(); ++k) {
            if (k + ahead < hashes.size()) index_.prefetch(hashes[k + ahead]);
            each.ids.push_back(index_.insert(hashes[k]));
            if (at(each.ids.back()) == stored + origins_.size()) origins_.push_back(each.origins[k]);
        }
    }
    shares.renumber([&](std::size_t share, std::int32_t id) { return found[share].ids[at(id)]; });
    return shares.together();
}

Rows TemplateFeatures::fit(std::shared_ptr<const TokenTable> table, std::int64_t min_count, int threads) {
    const auto writing = lock_.write();
    if (hash_bits_ > 0) {
        Rows rows = extract(*table, HashedIds{64 - hash_bits_}, threads);
        tables_.push_back(std::move(table));
        return rows;
    }
    check_named();
    const std::size_t known = index_.size();
    const std::int64_t seen = table_ends_.empty() ? 0 : table_ends_.back();
    Rows rows = extract_new(*table, static_cast<std::uint64_t>(seen), threads);
    if (min_count > 1) {
        const std::span ids(rows.ids.get(), at(rows.offsets.back()));
        const std::vector<std::uint8_t> keep = frequent(ids, index_.size(), known, min_count);
        renumber_rows(rows.offsets, rows.ids.get(), nullptr, keep);
        keep_only(keep);
    }
    if (index_.size() > known) {
        table_ends_.push_back(seen + table->tokens());
        tables_.push_back(std::move(table));
    }
    return rows;
}

}  // namespace dualstruct
