// CPython's tables of characters, for text/unicode.hpp. They need neither the GIL nor an interpreter state.

#include <Python.h>

#include "text/unicode.hpp"

namespace dualstruct {

char32_t to_lower(char32_t c) { return static_cast<char32_t>(Py_UNICODE_TOLOWER(static_cast<Py_UCS4>(c))); }
bool is_upper(char32_t c) {
    const auto u = static_cast<Py_UCS4>(c);
    return Py_UNICODE_ISUPPER(u) != 0 || Py_UNICODE_ISTITLE(u) != 0;
}
bool is_lower(char32_t c) { return Py_UNICODE_ISLOWER(static_cast<Py_UCS4>(c)) != 0; }
bool is_digit(char32_t c) { return Py_UNICODE_ISDECIMAL(static_cast<Py_UCS4>(c)) != 0; }
bool is_letter(char32_t c) { return Py_UNICODE_ISALPHA(static_cast<Py_UCS4>(c)) != 0; }
bool is_space(char32_t c) { return Py_UNICODE_ISSPACE(static_cast<Py_UCS4>(c)) != 0; }

}  // namespace dualstruct
