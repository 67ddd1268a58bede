// The inner loop of feature extraction, shared by everything that walks over the features of
// a table: giving ids, looking them up, collecting names.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "base/errors.hpp"
#include "base/index.hpp"
#include "text/templates.hpp"

namespace dualstruct {

// Where a term's token is, counted from the start of its sentence.
inline std::int64_t position_of(int offset, bool absolute, std::int64_t token, std::int64_t length) {
    return !absolute ? token + offset : offset < 0 ? length + offset : offset - 1;
}

inline char mark_letter(std::int32_t mark) { return mark == Gazetteer::first ? 'B' : 'I'; }

// Ways to turn the hash of a feature into its id, or into -1.
struct TemplateFeatures::ExactIds {
    const HashIndex& index;
    void prefetch(std::uint64_t hash) const { index.prefetch(hash); }
    std::int32_t operator()(std::uint64_t hash, std::size_t, std::size_t) const { return index.find(hash); }
};

struct TemplateFeatures::NamelessIds {
    const HashIndex& index;
    KnownBy known_by;
    void prefetch(std::uint64_t hash) const { index.prefetch(known_by(hash)); }
    std::int32_t operator()(std::uint64_t hash, std::size_t, std::size_t) const { return index.find(known_by(hash)); }
};

struct TemplateFeatures::NewIds {
    HashIndex& index;
    std::vector<Origin>& origins;
    std::uint64_t first_token;
    std::size_t stored;
    void prefetch(std::uint64_t hash) const { index.prefetch(hash); }
    std::int32_t operator()(std::uint64_t hash, std::size_t token, std::size_t number) {
        const std::int32_t id = index.insert(hash);
        if (at(id) == stored + origins.size()) {
            origins.push_back({(first_token + token) & 0xFFFFFFFFFFFFull, number & 0xFFFF});
        }
        return id;
    }
};

struct TemplateFeatures::HashedIds {
    int shift;
    void prefetch(std::uint64_t) const {}
    std::int32_t operator()(std::uint64_t hash, std::size_t, std::size_t) const {
        return static_cast<std::int32_t>(hash >> shift);
    }
};

// Templates of one term ("single") have one feature per distinct word, so their ids are
// remembered per word and the hash table is asked once per word. The others ("joint") are
// hashed token by token; the slots of a block of tokens are fetched before they are read.
//
// Copies work on other sentences of the same table at the same time, as long as the first one lives.
class TemplateFeatures::Extraction {
public:
    Extraction(const TemplateFeatures& features, const TokenTable& table)
        : Extraction(features, table, [](std::size_t count, const auto& work) {
              for (std::size_t k = 0; k < count; ++k) work(k);
          }) {}
    // each(count, work) calls work(0) … work(count − 1), perhaps on several threads.
    template <class Each>
    Extraction(const TemplateFeatures& features, const TokenTable& table, Each each)
        : features_(features), table_(table), reach_(at(features.reach_)) {
        read_sources();
        values_ = std::make_shared<std::vector<Values>>(features.streams_.size());
        each(features.streams_.size(), [&](std::size_t stream) { compute_values(stream); });
        plan_templates();
    }

    // The most ids that so many tokens can have.
    std::size_t most_ids(std::int64_t tokens) const { return at(tokens) * features_.compiled_.size(); }

    template <class Ids>
    Rows run(Ids&& ids) {
        Rows rows;
        rows.offsets.resize(at(table_.tokens()) + 1);
        rows.ids.reset(new std::int32_t[most_ids(table_.tokens())]);
        run(ids, 0, table_.sentences.size() - 1, rows.ids.get(), rows.offsets.data() + 1);
        return rows;
    }

    // Those of some sentences; behind each token, how many there are up to there. Returns their number.
    template <class Ids>
    std::int64_t run(Ids& ids, std::size_t first_sentence, std::size_t last_sentence, std::int32_t* const to,
                     std::int64_t* ends) {
        std::int32_t* out = to;
        for (std::size_t s = first_sentence; s < last_sentence; ++s) {
            const auto first = at(table_.sentences[s]);
            const std::size_t length = at(table_.sentences[s + 1]) - first;
            pad_sentence(first, length);
            for (std::size_t begin = 0; begin < length; begin += block) {
                const std::size_t end = std::min(begin + block, length);
                hash_joint(begin, end, ids);
                for (std::size_t t = begin; t < end; ++t) {
                    if (t > 0 || !features_.of_pairs_) out = emit_token(t, t - begin, first + t, ids, out);
                    *ends++ = out - to;
                }
            }
        }
        return out - to;
    }

private:
    static constexpr std::size_t block = 32;      // tokens whose slots are fetched together
    static constexpr std::int32_t not_yet = -2;   // in a memo: not asked for so far
    using Values = std::vector<std::uint64_t>;    // [type], 0 for "no value"

    struct SourceView {
        const std::int32_t* ids;           // [tokens]
        std::size_t types;                 // then `reach` boundaries before, and `reach` after
        std::vector<std::int32_t> marks;   // of a gazetteer
        std::vector<std::int32_t> padded;  // the sentence with its boundaries
        std::vector<std::int32_t> memo;    // [type][single template of the source]
        std::size_t singles = 0;
    };
    struct Step {
        bool single;
        std::size_t source;  // single
        std::size_t slot;    // single: column of the memo; joint: column of the hashes
        std::size_t shift;   // single: reach + offset
        const std::uint64_t* values;
        std::uint64_t identity;
    };

    void read_sources() {
        for (const Source& source : features_.sources_) {
            const auto place = at(source.column);
            if (place >= table_.columns.size()) {
                throw InputError("the templates want column " + std::to_string(place + 1) + ", but the data has only " +
                                 std::to_string(table_.columns.size()));
            }
            const TokenTable::Column& column = table_.columns[place];
            SourceView& view = views_.emplace_back();
            if (source.gazetteer < 0) {
                view.ids = column.ids.data();
                view.types = column.types.size();
            } else {
                view.marks = features_.gazetteers_[at(source.gazetteer)]->marks(column, table_.sentences);
                view.ids = view.marks.data();
                view.types = 3;
            }
        }
    }

    std::size_t view_size(std::size_t source) const { return views_[source].types + 2 * reach_; }

    void compute_values(std::size_t number) {
        const Stream& stream = features_.streams_[number];
        const Source& source = features_.sources_[stream.source];
        Values& values = (*values_)[number];
        if (source.gazetteer >= 0) {
            values.push_back(0);
            for (const Gazetteer::Mark mark : {Gazetteer::first, Gazetteer::inside}) {
                values.push_back(hash_bytes(std::string(1, mark_letter(mark))));
            }
            values.resize(view_size(stream.source), 0);
            return;
        }
        const StringTable& types = table_.columns[at(source.column)].types;
        values.reserve(view_size(stream.source));
        if (stream.attribute.functions().empty()) {
            values = types.hashes();
        } else {
            std::string value;
            for (std::size_t type = 0; type < types.size(); ++type) {
                values.push_back(stream.attribute.compute(types[type], value) ? hash_bytes(value) : 0);
            }
        }
        const Boundaries& boundaries = features_.boundaries_;
        for (std::size_t k = 1; k <= reach_; ++k) {
            values.push_back(boundary_value(stream, boundaries.before_start(static_cast<std::int64_t>(k))));
        }
        for (std::size_t k = 1; k <= reach_; ++k) {
            values.push_back(boundary_value(stream, boundaries.behind_end(static_cast<std::int64_t>(k))));
        }
    }

    std::uint64_t boundary_value(const Stream& stream, std::string text) const {
        if (!features_.boundaries_.have_attributes) return hash_bytes(text);
        std::string value;
        return stream.attribute.compute(text, value) ? hash_bytes(value) : 0;
    }

    void plan_templates() {
        is_joint_stream_.assign(features_.streams_.size(), 0);
        for (const Compiled& compiled : features_.compiled_) {
            Step& step = steps_.emplace_back();
            step.identity = compiled.identity;
            step.single = compiled.terms.size() == 1 && !compiled.terms.front().absolute;
            if (step.single) {
                const Reference& term = compiled.terms.front();
                step.source = features_.streams_[term.stream].source;
                step.slot = views_[step.source].singles++;
                step.shift = reach_ + at(term.offset);
                step.values = (*values_)[term.stream].data();
            } else {
                step.slot = joint_.size();
                joint_.push_back(&compiled);
                for (const Reference& term : compiled.terms) is_joint_stream_[term.stream] = 1;
            }
        }
        for (SourceView& view : views_) view.memo.assign((view.types + 2 * reach_) * view.singles, not_yet);
        joint_values_.resize(values_->size());
        hashes_.resize(block * joint_.size());
    }

    void pad_sentence(std::size_t first, std::size_t length) {
        length_ = static_cast<std::int64_t>(length);
        for (SourceView& view : views_) {
            view.padded.resize(length + 2 * reach_);
            for (std::size_t k = 0; k < reach_; ++k) {
                view.padded[k] = static_cast<std::int32_t>(view.types + reach_ - 1 - k);
                view.padded[reach_ + length + k] = static_cast<std::int32_t>(view.types + reach_ + k);
            }
            std::copy_n(view.ids + first, length, view.padded.data() + reach_);
        }
        for (std::size_t stream = 0; stream < values_->size(); ++stream) {
            if (is_joint_stream_[stream] == 0) continue;
            const Values& values = (*values_)[stream];
            const std::vector<std::int32_t>& padded = views_[features_.streams_[stream].source].padded;
            joint_values_[stream].resize(padded.size());
            for (std::size_t i = 0; i < padded.size(); ++i) {
                joint_values_[stream][i] = values[at(padded[i])];
            }
        }
    }

    // Hash 0 stands for "no feature", because a term has no value.
    template <class Ids>
    void hash_joint(std::size_t begin, std::size_t end, Ids& ids) {
        const std::size_t width = joint_.size();
        for (std::size_t j = 0; j < width; ++j) {
            std::uint64_t h[block];
            std::fill_n(h, end - begin, joint_[j]->identity);
            for (const Reference& term : joint_[j]->terms) {
                const std::uint64_t* values = joint_values_[term.stream].data() + reach_;
                if (term.absolute) {
                    const std::uint64_t value = values[position_of(term.offset, true, 0, length_)];
                    for (std::size_t t = 0; t < end - begin; ++t) h[t] = h[t] != 0 ? combine(h[t], value) : 0;
                    continue;
                }
                values += begin + static_cast<std::ptrdiff_t>(term.offset);
                for (std::size_t t = 0; t < end - begin; ++t) {
                    h[t] = values[t] != 0 && h[t] != 0 ? combine(h[t], values[t]) : 0;
                }
            }
            for (std::size_t t = 0; t < end - begin; ++t) {
                ids.prefetch(h[t]);
                hashes_[t * width + j] = h[t];
            }
        }
    }

    template <class Ids>
    std::int32_t* emit_token(std::size_t t, std::size_t row, std::size_t token, Ids& ids, std::int32_t* out) {
        const std::uint64_t* const joint = hashes_.data() + row * joint_.size();
        for (std::size_t number = 0; number < steps_.size(); ++number) {
            const Step& step = steps_[number];
            std::int32_t id;
            if (step.single) {
                SourceView& view = views_[step.source];
                const auto type = at(view.padded[t + step.shift]);
                std::int32_t& memo = view.memo[type * view.singles + step.slot];
                if (memo == not_yet) {
                    const std::uint64_t value = step.values[type];
                    memo = value == 0 ? HashIndex::absent : ids(combine(step.identity, value), token, number);
                }
                id = memo;
            } else {
                const std::uint64_t hash = joint[step.slot];
                id = hash == 0 ? HashIndex::absent : ids(hash, token, number);
            }
            *out = id;
            out += id >= 0;
        }
        return out;
    }

    const TemplateFeatures& features_;
    const TokenTable& table_;
    std::size_t reach_;
    std::int64_t length_ = 0;                          // of the sentence
    std::vector<SourceView> views_;                    // [source]
    std::shared_ptr<std::vector<Values>> values_;      // [stream]
    std::vector<Step> steps_;                          // [template]
    std::vector<const Compiled*> joint_;
    std::vector<std::uint8_t> is_joint_stream_;
    std::vector<std::vector<std::uint64_t>> joint_values_;  // [stream][padded position]
    std::vector<std::uint64_t> hashes_;                     // [token of the block][joint template]
};

template <class Ids>
Rows TemplateFeatures::extract(const TokenTable& table, Ids&& ids) const {
    return Extraction(*this, table).run(ids);
}

}  // namespace dualstruct
