#include "structures/tree/arc_features.hpp"

#include "base/index.hpp"
#include "base/prefetch.hpp"
#include "base/random.hpp"
#include "simd/dispatch.hpp"
#include "text/hash.hpp"

namespace dualstruct {

DUALSTRUCT_DISPATCH(ArcKernels, arc_kernels, arc_kernels)

namespace {

// What stands in for the root and for the places before the first and after the last word.
constexpr std::uint64_t root_value = 0x5A17'33C0'9E4B'D821ull, outside_value = 0xC3D2'08F7'41AE'965Dull;

std::array<std::uint64_t, 512> make_salts() {
    std::array<std::uint64_t, 512> salts;
    for (std::size_t k = 0; k < salts.size(); ++k) salts[k] = mix(0x9E3779B97F4A7C15ull * (k + 1));
    return salts;
}

template <class F>
void each_attribute(std::string_view morphology, F f) {
    while (!morphology.empty() && morphology != "_") {
        const std::size_t end = std::min(morphology.find('|'), morphology.size());
        f(morphology.substr(0, end));
        morphology.remove_prefix(std::min(end + 1, morphology.size()));
    }
}

}  // namespace

const std::array<std::uint64_t, 512> ArcFeatures::salts = make_salts();

ArcFeatures::ArcFeatures(std::shared_ptr<const TokenTable> table, const TreeColumns& columns,
                         std::span<const std::uint64_t> between_types, int labels, int line_bits, int label_bits)
    : table_(std::move(table)), columns_(columns), labels_(labels), stride_((labels + 15) / 16 * 16),
      line_bits_(line_bits), between_bits_(std::min(line_bits, 14)), label_bits_(label_bits), kernels_(&arc_kernels()),
      line_shift_(64 - line_bits), between_shift_(64 - between_bits_), label_shift_(64 - label_bits) {
    if (table_->tokens() == 0) return;  // such a table may have no columns
    const TokenTable::Column& coarse = table_->columns[at(columns_.coarse)];
    std::vector<std::uint8_t> slot_of_type;
    for (std::uint64_t hash : coarse.types.hashes()) {
        const auto known = between_types.first(std::min<std::size_t>(between_types.size(), between_width - 1));
        const auto at = std::ranges::find(known, hash);
        slot_of_type.push_back(static_cast<std::uint8_t>(at == known.end() ? between_width - 1 : at - known.begin()));
    }
    for (std::int32_t id : coarse.ids) between_.push_back(slot_of_type[at(id)]);
    if (columns_.morphology >= 0) {
        const StringTable& types = table_->columns[at(columns_.morphology)].types;
        for (std::size_t id = 0; id < types.size(); ++id) {
            auto& values = morphology_.emplace_back();
            each_attribute(types[id], [&](std::string_view attribute) { values.push_back(hash_bytes(attribute)); });
        }
    }
}

std::uint64_t ArcFeatures::layout() const {
    return combine(
        combine(combine(0x7EE5, static_cast<std::uint64_t>(labels_)), static_cast<std::uint64_t>(line_bits_)),
        static_cast<std::uint64_t>(label_bits_));
}

std::uint64_t ArcFeatures::attribute(int column, std::int64_t token) const {
    if (column < 0) return outside_value;
    const TokenTable::Column& c = table_->columns[at(column)];
    return c.types.hash(at(c.ids[at(token)]));
}

std::uint64_t ArcFeatures::tag(std::int64_t first, std::int64_t end, std::int64_t token) const {
    return token < first || token >= end ? outside_value : attribute(columns_.fine, token);
}

ArcFeatures::Node ArcFeatures::node(std::int64_t i, int k) const {
    const std::int64_t first = table_->sentences[at(i)];
    const std::int64_t end = table_->sentences[at(i) + 1];
    Node node;
    if (k == 0) {
        for (std::size_t c = 0; c < combinations; ++c) node.key[c] = mix(root_value + c);
        return node;
    }
    const std::int64_t token = first + k - 1;
    const std::uint64_t form = attribute(columns_.form, token), lemma_value = attribute(columns_.lemma, token);
    const std::uint64_t tag_value = attribute(columns_.fine, token), coarse_value = attribute(columns_.coarse, token);
    const std::uint64_t before = tag(first, end, token - 1), next = tag(first, end, token + 1);
    node.key[word] = form;
    node.key[lemma] = lemma_value;
    node.key[fine] = tag_value;
    node.key[coarse] = coarse_value;
    node.key[word_fine] = combine(form, tag_value);
    node.key[lemma_fine] = combine(lemma_value, tag_value);
    node.key[coarse_morphology] = combine(coarse_value, attribute(columns_.morphology, token));
    node.key[fine_next] = combine(tag_value, next);
    node.key[before_fine] = combine(before, tag_value);
    node.key[before_fine_next] = combine(combine(before, tag_value), next);
    node.key[cluster] = attribute(columns_.cluster, token);
    if (columns_.morphology >= 0) {
        const auto& column = table_->columns[at(columns_.morphology)];
        node.morphology = morphology_[at(column.ids[at(token)])];
    }
    return node;
}

std::string ArcFeatures::morphology_value(std::int64_t i, int k, int number) const {
    std::string value;
    const std::int64_t token = table_->sentences[at(i)] + k - 1;
    each_attribute(table_->cell(at(columns_.morphology), token), [&](std::string_view attribute) {
        if (number-- == 0) value = attribute;
    });
    return value;
}

void ArcFeatures::nodes(std::int64_t i, std::vector<Node>& out) const {
    const auto n = table_->sentences[at(i) + 1] - table_->sentences[at(i)];
    out.clear();
    for (int k = 0; k <= static_cast<int>(n); ++k) out.push_back(node(i, k));
}

// The features of one word alone: as head, as modifier, and for labels in both directions.
void ArcFeatures::sum_words(const float* w, Sums& sums) const {
    const std::size_t size = sums.nodes.size(), S = at(stride_);
    float* head_lines = sums.head_lines.ensure(size * line_width);
    float* modifier_lines = sums.modifier_lines.ensure(size * line_width);
    float* head_labels = sums.head_labels.ensure(size * 2 * S);
    float* modifier_labels = sums.modifier_labels.ensure(size * 2 * S);
    // The rows of a word are on their way to the cache while those of the word before are summed.
    const auto fetch = [&](std::size_t k) {
        for (std::uint64_t salt : {head_salt, modifier_salt}) {
            if (k == 0 && salt == modifier_salt) continue;  // the root modifies nothing
            each_word_line(sums.nodes[k], salt, [&](std::int64_t line) { prefetch(w + line); });
            for (int right = 0; right < 2; ++right) {
                each_label_word(sums.nodes[k], salt, right, [&](std::int64_t row) {
                    for (std::size_t at = 0; at < S; at += line_width) prefetch(w + row + at);
                });
            }
        }
    };
    const auto add_up = [&](int width, float* out, auto each_part) {
        sums.parts.clear();
        each_part([&](std::int64_t row) { sums.parts.push_back(w + row); });
        kernels_->sum_rows(sums.parts.data(), static_cast<int>(sums.parts.size()), width, out);
    };
    fetch(0);
    for (std::size_t k = 0; k < size; ++k) {
        if (k + 1 < size) fetch(k + 1);
        const auto sum = [&](std::uint64_t salt, float* lines, float* labels) {
            add_up(line_width, lines + k * line_width, [&](auto part) { each_word_line(sums.nodes[k], salt, part); });
            for (int right = 0; right < 2; ++right) {
                add_up(stride_, labels + (2 * k + at(right)) * S,
                       [&](auto part) { each_label_word(sums.nodes[k], salt, right, part); });
            }
        };
        sum(head_salt, head_lines, head_labels);
        if (k > 0) sum(modifier_salt, modifier_lines, modifier_labels);
    }
}

// Where the features of the arc from h to m are, on their way to the cache.
void ArcFeatures::find_rows(const float* w, int h, int m, Sums& sums) const {
    const std::size_t place = at(m % 2) * sums.nodes.size() + at(h);
    std::uint32_t* lines = sums.lines.data() + place * pair_templates;
    std::uint32_t* rows = sums.rows.data() + place * label_templates;
    const Node &head = sums.nodes[at(h)], &modifier = sums.nodes[at(m)];
    for (int t = 0; t < pair_templates; ++t) {
        const std::int64_t line = pair_line(t, head, modifier);
        lines[t] = static_cast<std::uint32_t>(line / line_width);
        prefetch(w + line);
    }
    const int right = h < m, bucket = distance_bucket(h, m);
    for (int t = 0; t < label_templates; ++t) {
        rows[t] = label_row(t, head, modifier, right, bucket);
        for (int k = 0; k < stride_; k += line_width) prefetch(w + label_place(rows[t]) + k);
    }
    const std::int64_t between = between_row(head, modifier, right);
    for (int k = 0; k < between_width; k += line_width) prefetch(w + between + k);
}

int ArcFeatures::add_labels(const float* w, const Sums& sums, int h, int m, int right, const std::uint32_t* rows,
                            float* labels) const {
    const int S = stride_;
    const float* of_head = sums.head_labels.data() + (2 * h + right) * S;
    const float* of_modifier = sums.modifier_labels.data() + (2 * m + right) * S;
    const float* pair[label_templates + 2];
    for (int t = 0; t < label_templates; ++t) pair[t] = w + label_place(rows[t]);
    pair[label_templates] = of_head;
    pair[label_templates + 1] = of_modifier;
    return kernels_->sum_labels(pair, label_templates + 2, S, labels_, labels);
}

}  // namespace dualstruct
