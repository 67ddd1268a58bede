// What JavaScript calls. An instance of the module holds one model, and one answer at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "wasm/characters.hpp"
#include "wasm/input.hpp"
#include "wasm/parser.hpp"
#include "wasm/reader.hpp"
#include "wasm/tagger.hpp"

#define TO_JAVASCRIPT(name) __attribute__((export_name(name)))

namespace {

using namespace dualstruct;

std::vector<std::uint64_t> room;  // for what JavaScript hands over
std::unique_ptr<WasmTagger> tagger;
std::unique_ptr<WasmParser> parser;

const char* given() { return reinterpret_cast<const char*>(room.data()); }

}  // namespace

extern "C" {

TO_JAVASCRIPT("room") void* room_for(std::size_t bytes) {
    if (room.size() < bytes / 8 + 1) {
        room = {};
        room.resize(bytes / 8 + 1);
    }
    return room.data();
}

// Opens the model in the room.
TO_JAVASCRIPT("open") void open_model(std::size_t bytes) {
    Reader in({given(), bytes});
    read_characters(in);
    if (in.flag()) {
        parser = std::make_unique<WasmParser>(in);
    } else {
        tagger = std::make_unique<WasmTagger>(in);
    }
    room = {};
}

TO_JAVASCRIPT("label") const std::int32_t* label(std::size_t sentences, std::size_t columns, std::size_t bytes) {
    Input in(given(), sentences, bytes);
    return tagger->label(in, columns).data();
}

TO_JAVASCRIPT("stride") int stride() { return tagger->stride(); }

TO_JAVASCRIPT("scores") const float* scores(std::size_t sentences, std::size_t columns, std::size_t bytes) {
    Input in(given(), sentences, bytes);
    return tagger->scores(in, columns).data();
}

TO_JAVASCRIPT("split") const std::int32_t* split(std::size_t bytes) {
    return tagger->split(std::string_view(given(), bytes)).data();
}

TO_JAVASCRIPT("parse") const std::int32_t* parse(std::size_t sentences, std::size_t bytes) {
    Input in(given(), sentences, bytes);
    return parser->parse(in).data();
}
}
