#include "structures/tree/arc_names.hpp"

#include "base/index.hpp"

namespace dualstruct {

namespace {

// Their order is that of TreeColumns.
enum WordAttribute { form, lemma, coarse, fine, morphology, cluster };

// What is left of a feature without any attribute is where the arc goes.
std::string or_place(std::string name) { return name.empty() ? "direction and distance" : name; }

}  // namespace

std::string ArcNames::joined(const std::string& a, const std::string& b) {
    return a.empty() || b.empty() ? a + b : a + " & " + b;
}

std::string ArcNames::cell(int column, int k) const {
    const TokenTable& table = features_.table();
    const std::int64_t first = table.sentences[at(sentence_)];
    const std::int64_t count = table.sentences[at(sentence_) + 1] - first;
    if (k < 1) return "<s>";
    if (k > count) return "</s>";
    return std::string(table.cell(at(column), first + k - 1));
}

std::string ArcNames::attribute(int which, int k, const char* role) const {
    const TreeColumns& c = features_.columns();
    const std::array<int, 6> columns{c.form, c.lemma, c.coarse, c.fine, c.morphology, c.cluster};
    const auto place = at(which);
    if (columns[place] < 0) return "";
    return columns_[place] + "[" + role + "]=" + cell(columns[place], k);
}

std::string ArcNames::combination(int k, ArcFeatures::Combination c, const char* role) const {
    const auto special = [&](const char* text) { return std::string("word[") + role + "]=" + text; };
    if (k == 0) return special("<root>");
    if (k == nothing) return special("<none>");
    if (k == end) return special("<end>");
    const std::string here(role), before = here + "-1", next = here + "+1";
    const auto of = [&](WordAttribute which) { return attribute(which, k, role); };
    const auto tag = [&](int node, const std::string& where) { return attribute(fine, node, where.c_str()); };
    switch (c) {
        case ArcFeatures::word: return of(form);
        case ArcFeatures::lemma: return of(lemma);
        case ArcFeatures::fine: return of(fine);
        case ArcFeatures::coarse: return of(coarse);
        case ArcFeatures::word_fine: return joined(of(form), of(fine));
        case ArcFeatures::lemma_fine: return joined(of(lemma), of(fine));
        case ArcFeatures::coarse_morphology: return joined(of(coarse), of(morphology));
        case ArcFeatures::fine_next: return joined(of(fine), tag(k + 1, next));
        case ArcFeatures::before_fine: return joined(tag(k - 1, before), of(fine));
        case ArcFeatures::before_fine_next: return joined(joined(tag(k - 1, before), of(fine)), tag(k + 1, next));
        default: return of(cluster);
    }
}

std::vector<NamedFeature> ArcNames::arc(int h, int m) const {
    std::vector<NamedFeature> found;
    const ArcFeatures::Node head = features_.node(sentence_, h), modifier = features_.node(sentence_, m);
    const int right = h < m, slots[3] = {0, 1 + right, ArcFeatures::distance_slot(h, m)};
    const auto add = [&](std::string name, std::int64_t line) {
        found.push_back({or_place(std::move(name)), {line + slots[0], line + slots[1], line + slots[2]}});
    };
    for (int t = 0; t < ArcFeatures::pair_templates; ++t) {
        const auto [a, b] = ArcFeatures::pair_table[at(t)];
        add(joined(combination(h, a, "head"), combination(m, b, "child")), features_.pair_line(t, head, modifier));
    }
    const auto words = [&](int k, const ArcFeatures::Node& node, std::uint64_t salt, const char* role) {
        int c = 0;
        features_.each_word_line(node, salt, [&](std::int64_t line) {
            const bool is_value = c >= ArcFeatures::combinations;
            add(is_value ? columns_[morphology] + "[" + role + "]~" +
                               features_.morphology_value(sentence_, k, c - ArcFeatures::combinations)
                         : combination(k, static_cast<ArcFeatures::Combination>(c), role),
                line);
            ++c;
        });
    };
    words(h, head, ArcFeatures::head_salt, "head");
    words(m, modifier, ArcFeatures::modifier_salt, "child");
    const std::int64_t row = features_.between_row(head, modifier, right);
    std::uint32_t seen = 0;
    for (int k = std::min(h, m) + 1; k < std::max(h, m); ++k) {
        const int slot = features_.between_slot(sentence_, k);
        if (seen >> slot & 1) continue;
        seen |= 1u << slot;
        const std::string value = slot == ArcFeatures::between_width - 1 ? columns_[coarse] + "[between]=<other>"
                                                                         : attribute(coarse, k, "between");
        found.push_back({joined(joined(combination(h, ArcFeatures::fine, "head"), value),
                                combination(m, ArcFeatures::fine, "child")),
                         {row + slot}});
    }
    return found;
}

std::vector<NamedFeature> ArcNames::label(int h, int m, int label) const {
    std::vector<NamedFeature> found;
    const ArcFeatures::Node head = features_.node(sentence_, h), modifier = features_.node(sentence_, m);
    const int pairs = ArcFeatures::label_templates;
    const int of_head = ArcFeatures::combinations + static_cast<int>(head.morphology.size());
    int t = 0;
    features_.for_each_label_row(h, m, head, modifier, [&](std::int64_t row) {
        std::string name;
        if (t < pairs) {
            const auto [a, b, by_distance] = ArcFeatures::label_table[at(t)];
            name = joined(combination(h, a, "head"), combination(m, b, "child"));
            if (by_distance) name = joined(name, "distance");
        } else {
            const bool is_head = t < pairs + of_head;
            const int c = t - pairs - (is_head ? 0 : of_head), k = is_head ? h : m;
            const char* role = is_head ? "head" : "child";
            name = c >= ArcFeatures::combinations
                       ? columns_[morphology] + "[" + role + "]~" +
                             features_.morphology_value(sentence_, k, c - ArcFeatures::combinations)
                       : combination(k, static_cast<ArcFeatures::Combination>(c), role);
        }
        found.push_back({or_place(std::move(name)), {row + label}});
        ++t;
    });
    return found;
}

}  // namespace dualstruct
