// Names of the features of arcs and of pairs of arcs: they are hashed on the fly, so what a weight stands for is put
// together again from the sentence at hand, when somebody asks why an arc was chosen.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "structures/tree/arc_features.hpp"

namespace dualstruct {

// A feature in words, and the weights that it adds up.
struct NamedFeature {
    std::string name;
    std::vector<std::int64_t> weights;
};

class ArcNames {
public:
    // What the columns of TreeColumns are called, in their order.
    using ColumnNames = std::array<std::string, 6>;

    ArcNames(const ArcFeatures& features, std::int64_t sentence, ColumnNames columns)
        : features_(features), sentence_(sentence), columns_(std::move(columns)) {}

    // What an arc's features add up without its label, and for its label.
    std::vector<NamedFeature> arc(int h, int m) const;
    std::vector<NamedFeature> label(int h, int m, int label) const;

    // A combination of attributes of node k, which plays a role: form[head]=eats & xpos[head]=VBZ. Nodes that are
    // no words (−1: nothing, −2: the end) have a name of their own.
    std::string combination(int k, ArcFeatures::Combination c, const char* role) const;

    // Two parts of a name; attributes that the sentences do not have have none.
    static std::string joined(const std::string& a, const std::string& b);

    static constexpr int nothing = -1, end = -2;

private:
    std::string attribute(int which, int k, const char* role) const;
    std::string cell(int column, int k) const;

    const ArcFeatures& features_;
    std::int64_t sentence_;
    ColumnNames columns_;
};

}  // namespace dualstruct
