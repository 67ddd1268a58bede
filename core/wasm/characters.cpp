#include "wasm/characters.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "text/unicode.hpp"

namespace dualstruct {

namespace {

constexpr std::uint8_t upper = 1, lower = 2, digit = 4, letter = 8, space = 16, changes = 32;
constexpr std::size_t code_points = 0x110000;

std::vector<std::uint8_t> properties(code_points);
std::vector<std::uint32_t> lower_from, lower_to;  // rising

bool has(char32_t c, std::uint8_t property) { return c < code_points && (properties[c] & property) != 0; }

}  // namespace

void read_characters(Reader& in) {
    for (const std::uint8_t property : {upper, lower, digit, letter, space}) {
        const auto ends = in.array<std::uint32_t>();
        for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
            for (std::size_t c = ends[i]; c < std::min<std::size_t>(ends[i + 1], code_points); ++c) {
                properties[c] |= property;
            }
        }
    }
    lower_from = in.copy<std::uint32_t>();
    lower_to = in.copy<std::uint32_t>();
    if (lower_from.size() != lower_to.size()) throw InputError("characters: as many small ones as others are expected");
    for (const std::uint32_t c : lower_from) properties[std::min<std::size_t>(c, code_points - 1)] |= changes;
}

char32_t to_lower(char32_t c) {
    if (c < 0x80) return c >= U'A' && c <= U'Z' ? c + 32 : c;
    if (!has(c, changes)) return c;
    const auto found = std::lower_bound(lower_from.begin(), lower_from.end(), static_cast<std::uint32_t>(c));
    return found != lower_from.end() && *found == c ? lower_to[at(found - lower_from.begin())] : c;
}
bool is_upper(char32_t c) { return has(c, upper); }
bool is_lower(char32_t c) { return has(c, lower); }
bool is_digit(char32_t c) { return has(c, digit); }
bool is_letter(char32_t c) { return has(c, letter); }
bool is_space(char32_t c) { return has(c, space); }

}  // namespace dualstruct
