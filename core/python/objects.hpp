// Reads Python lists of tokens straight into the tables of the core. Needs the GIL.
#pragma once

#include <Python.h>

#include <memory>

#include "text/attribute_features.hpp"
#include "text/token_table.hpp"

namespace dualstruct {

// Sentences of tokens that are str, or tuples or lists of str with one entry a column.
std::shared_ptr<TokenTable> read_tokens(PyObject* sentences);

// Sentences of tokens that state their features themselves: dicts, or sets or lists of str.
AttributeRows read_attributes(PyObject* sentences, const Number& number);
Items read_items(PyObject* sentence);

// The same for features that are fitted.
inline AttributeFeatures::Read reading(PyObject* sentences) {
    return [sentences](const Number& number) { return read_attributes(sentences, number); };
}
inline AttributeFeatures::Read reading(const Items& items) {
    return [&items](const Number& number) { return number_items(items, number); };
}

}  // namespace dualstruct
