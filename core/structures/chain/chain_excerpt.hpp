// The scores of those (token, label) pairs and transitions in which the cuts of one sentence differ from the truth.
//
// A change of a pair's weights by d changes the score of every pair (u, same label) of the sentence by d·G[t][u], with
// G[t][u] = f(t)·f(u), the features that two tokens share. So all cuts can move many times before w hears of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "structures/chain/chain.hpp"

namespace dualstruct {

class ChainExcerpt final : public Excerpt {
public:
    static constexpr int most_chain_labels = 512;  // there is a place for each pair of them

    ChainExcerpt(const Chain& chain, const SharedFeatures& shared);

    void start(std::int64_t i) override;
    bool include(std::span<const Code> codes) override;
    void prefetch(const float* w) const override;
    void read(const float* w) override;
    double dot(int cut) const override;
    void axpy(int cut, float step) override;
    double combination_norm2(std::span<const double> coefficients) override;
    void write(float* w) override;
    double decode(Difference& found) override;
    void append(std::span<const Code> codes) override;

private:
    static constexpr std::size_t most_labels = 64;  // bits of a mask

    // A token that some cut has wrong.
    struct Token {
        std::int32_t in_sentence;
        std::int32_t truth;    // its true label's place in labels_
        std::uint64_t labels;  // a bit for each of labels_ that it has in the truth or a cut
    };
    struct Pair {
        std::int32_t token, truth, label;  // places: in tokens_; of the scores of its true and its other label
    };
    struct Move {
        std::int32_t place;  // in transitions_
        float sign;
    };
    struct Transition {
        std::int32_t from, to;
        float score, moved;
    };
    int place_of_label(int label);
    int place_of_transition(int from, int to);
    std::span<const std::int32_t> features_of(const Token& token) const;
    template <class Visit>
    void for_labels(const Token& token, Visit visit) const;
    std::span<const Pair> pairs_of(int cut) const;
    std::span<const Move> moves_of(int cut) const;
    float transition(int from, int to) const;
    bool is_allowed(const Token& token, int label) const;
    double decode_stretch(std::span<const std::int32_t> stretch);

    const Chain& chain_;
    const SharedFeatures& shared_features_;
    std::int64_t i_ = 0;
    const float* w_ = nullptr;
    const std::uint8_t* counts_ = nullptr;  // [tokens of the sentence]²
    std::vector<std::span<const Code>> cuts_;
    std::vector<Token> tokens_;
    std::vector<int> labels_;
    std::vector<Transition> transitions_;
    std::vector<std::int32_t> token_places_;       // by its number in the sentence; −1: none
    std::vector<std::int32_t> label_places_;       // −1: none
    std::vector<std::int32_t> transition_places_;  // [labels + 1, labels + 1]; −1: none
    std::size_t width_ = 0;                        // tokens, padded
    std::vector<float> scores_, moved_;            // [labels, width]
    std::vector<float> shared_;                    // [tokens, width]: G
    std::vector<Pair> pairs_;
    std::vector<Move> moves_;
    std::vector<std::size_t> pairs_before_, moves_before_;  // [cuts + 1]
    std::vector<float> combined_;

    // What decode works with: the tokens' places in order; each label's best score with those before it, one token of a
    // stretch after the other, and the labels of the best path.
    struct Step {
        int label, before;
        float score;
    };
    std::vector<std::int32_t> in_order_;
    std::vector<Step> steps_;
    std::vector<int> path_;
};

}  // namespace dualstruct
