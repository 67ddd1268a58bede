#include "wasm/tagger.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

// Weights that are not 0, row by row: where rows begin, the columns, the weights.
struct StoredRows {
    std::span<const std::uint32_t> begins, columns;
    std::span<const float> values;

    explicit StoredRows(Reader& in)
        : begins(in.array<std::uint32_t>()), columns(in.array<std::uint32_t>()), values(in.array<float>()) {
        if (begins.empty() || begins.back() != values.size() || columns.size() != values.size()) wrong();
    }
    std::int64_t size() const { return static_cast<std::int64_t>(begins.size()) - 1; }
    // Calls visit(row, column, weight).
    template <class Visit>
    void walk(std::uint32_t width, Visit visit) const {
        for (std::size_t row = 0; row + 1 < begins.size(); ++row) {
            if (begins[row] > begins[row + 1] || begins[row + 1] > values.size()) wrong();
            for (std::uint32_t k = begins[row]; k < begins[row + 1]; ++k) {
                if (columns[k] >= width) wrong();
                visit(row, columns[k], values[k]);
            }
        }
    }
    [[noreturn]] static void wrong() { throw InputError("the weights of the exported model are damaged"); }
};

TokenizerSettings read_tokenizer(Reader& in) {
    TokenizerSettings found;
    found.words = in.flag() ? TokenizerSettings::Words::blanks : TokenizerSettings::Words::rules;
    found.sentences = static_cast<TokenizerSettings::Sentences>(in.small());
    found.split_contractions = in.flag();
    found.split_hyphens = in.flag();
    for (std::int64_t n = in.number(); n > 0; --n) found.abbreviations.emplace_back(in.text());
    return found;
}

}  // namespace

WasmTagger::WasmTagger(Reader& in) : labels_(in.small()) {
    if (labels_ < 1 || labels_ > Chain::max_labels) throw InputError("the exported model has no labels");
    no_cost_.assign(at(labels_) * labels_, 0);
    features_ = in.flag() ? read_templates(in) : read_attributes(in);
    has_pairs_ = in.flag();
    read_weights(in);
    if (in.flag()) tokenizer_.emplace(read_tokenizer(in));
}

void WasmTagger::read_weights(Reader& in) {
    const auto K = at(labels_);
    const StoredRows emission(in);
    rows_ = emission.size();
    std::optional<StoredRows> pairs;
    if (has_pairs_) pairs.emplace(in);
    if (pairs) pair_rows_ = pairs->size();
    const auto transition = in.array<float>();  // [labels + 1, labels + 1]: the last row is the start, column the end
    allowed_ = in.copy<std::uint8_t>();
    if (transition.size() != (K + 1) * (K + 1) || (!allowed_.empty() && allowed_.size() != transition.size())) {
        StoredRows::wrong();
    }
    const Chain chain(data(Sentences()));
    const auto stride = at(chain.stride());
    w_ = allocate_floats(at(chain.storage()));
    float* const w = w_.get();
    emission.walk(static_cast<std::uint32_t>(K),
                  [&](std::size_t row, std::size_t k, float value) { w[row * stride + k] = value; });
    for (std::size_t j = 0; j <= K; ++j) {
        for (std::size_t k = 0; k < K; ++k) w[(at(rows_) + j) * stride + k] = transition[j * (K + 1) + k];
    }
    for (std::size_t j = 0; j < K; ++j) w[(at(rows_) + K + 1) * stride + j] = transition[j * (K + 1) + K];
    if (pairs) {
        float* const first = w + (at(rows_) + K + 2) * stride;
        pairs->walk(static_cast<std::uint32_t>(K * K), [&](std::size_t row, std::size_t pair, float value) {
            first[(row * K + pair / K) * stride + pair % K] = value;
        });
    }
    chain.derive(w);
    scratch_ = chain.make_scratch();
}

ChainData WasmTagger::data(const Sentences& sentences) const {
    ChainData found;
    found.sentences = sentences.bounds;
    found.offsets = sentences.rows.rows.offsets;
    found.features = sentences.rows.ids();
    found.values = sentences.rows.values;
    found.dimension = rows_;
    found.labels = labels_;
    found.cost = no_cost_;
    found.transitions = allowed_;
    if (has_pairs_) {
        found.pair_offsets = sentences.pairs.rows.offsets;
        found.pair_features = sentences.pairs.ids();
        found.pair_dimension = pair_rows_;
    }
    return found;
}

const std::vector<std::int32_t>& WasmTagger::label(Input& in, std::size_t columns) {
    const Sentences sentences = features_->read(in, columns);
    const Chain chain(data(sentences));
    found_.clear();
    for (std::int64_t i = 0; i < chain.size(); ++i) {
        chain.decode(w_.get(), i, 0, *scratch_);
        found_.insert(found_.end(), scratch_->output.begin(), scratch_->output.end());
    }
    return found_;
}

const std::vector<float>& WasmTagger::scores(Input& in, std::size_t columns) {
    const Sentences sentences = features_->read(in, columns);
    const std::vector<std::int32_t> any(at(sentences.bounds.back()), 0);  // what the cost of 0 is counted from
    ChainData with_truth = data(sentences);
    with_truth.truth = any;
    const Chain chain(with_truth);
    scores_.resize(at(chain.part_count(0)));
    chain.part_scores(w_.get(), 0, 0, scores_);
    return scores_;
}

const std::vector<std::int32_t>& WasmTagger::split(std::string_view text) {
    if (!tokenizer_) throw InputError("this model does not label plain words, and so no texts");
    TokenizedTexts found;
    tokenizer_->add(text, found);
    std::vector<std::int32_t> units{0};  // UTF-16 before each character
    for (std::size_t at = 0; at < text.size();) {
        units.push_back(units.back() + (next_code_point(text, at) > 0xFFFF ? 2 : 1));
    }
    const auto& bounds = found.table->sentences;
    found_ = {static_cast<std::int32_t>(bounds.size()) - 1, static_cast<std::int32_t>(found.begins.size())};
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        found_.push_back(static_cast<std::int32_t>(bounds[i + 1] - bounds[i]));
    }
    for (const std::int64_t place : found.begins) found_.push_back(units[at(place)]);
    for (const std::int64_t place : found.ends) found_.push_back(units[at(place)]);
    return found_;
}

}  // namespace dualstruct
