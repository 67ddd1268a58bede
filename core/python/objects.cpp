#include "python/objects.hpp"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/errors.hpp"
#include "base/index.hpp"

namespace dualstruct {

namespace {

// An owned reference.
class Reference {
public:
    explicit Reference(PyObject* object) : object_(object) {}
    ~Reference() { Py_XDECREF(object_); }
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;
    PyObject* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

private:
    PyObject* object_;
};

struct Place {
    Py_ssize_t sentence = 0;
    Py_ssize_t token = -1;

    [[noreturn]] void fail(const std::string& reason) const {
        std::string where = "sentence " + std::to_string(sentence + 1);
        if (token >= 0) where += ", token " + std::to_string(token + 1);
        throw InputError(where + ": " + reason);
    }
};

std::string type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

std::string_view utf8(PyObject* text, const Place& place) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (bytes == nullptr) {
        PyErr_Clear();
        place.fail("a string with half a surrogate pair, which is not valid text");
    }
    return {bytes, at(size)};
}

// A list or tuple with the items of any iterable but a string.
PyObject* as_list(PyObject* object) {
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object)) return nullptr;
    PyObject* list = PySequence_Fast(object, "");
    if (list == nullptr) PyErr_Clear();
    return list;
}

// Calls visit(sentence as a list, place) for each sentence.
template <class Visit>
void for_each_sentence(PyObject* sentences, Visit&& visit) {
    const Reference list(as_list(sentences));
    if (!list) throw InputError("a list of sentences is expected, not a " + type_name(sentences));
    Place place;
    for (; place.sentence < PySequence_Fast_GET_SIZE(list.get()); ++place.sentence) {
        PyObject* const item = PySequence_Fast_GET_ITEM(list.get(), place.sentence);
        const Reference sentence(as_list(item));
        if (!sentence) place.fail("a list of tokens is expected, not a " + type_name(item));
        visit(sentence.get(), place);
    }
}

class TokenReader {
public:
    void add_sentence(PyObject* sentence, Place place) {
        for (place.token = 0; place.token < PySequence_Fast_GET_SIZE(sentence); ++place.token) {
            add_token(PySequence_Fast_GET_ITEM(sentence, place.token), place);
        }
        table->sentences.push_back(table->tokens() + place.token);
    }

    std::shared_ptr<TokenTable> table = std::make_shared<TokenTable>();

private:
    void add_token(PyObject* token, const Place& place) {
        if (PyUnicode_Check(token)) {
            want_columns(1, place);
            add_cell(0, token, place);
            return;
        }
        if (!PyTuple_Check(token) && !PyList_Check(token)) {
            place.fail("a str or a tuple of str is expected, not a " + type_name(token));
        }
        const Py_ssize_t size = PySequence_Fast_GET_SIZE(token);
        if (size == 0) place.fail("an empty tuple");
        want_columns(at(size), place);
        for (Py_ssize_t column = 0; column < size; ++column) {
            PyObject* const cell = PySequence_Fast_GET_ITEM(token, column);
            if (!PyUnicode_Check(cell)) {
                place.fail("column " + std::to_string(column + 1) + " is a " + type_name(cell) + ", not a str");
            }
            add_cell(at(column), cell, place);
        }
    }

    void want_columns(std::size_t count, const Place& place) {
        if (table->columns.empty()) {
            table->columns.resize(count);
            first_ = place;
        } else if (count != table->columns.size()) {
            place.fail(std::to_string(count) + (count == 1 ? " column" : " columns") + ", but sentence " +
                       std::to_string(first_.sentence + 1) + ", token " + std::to_string(first_.token + 1) + " has " +
                       std::to_string(table->columns.size()));
        }
    }

    void add_cell(std::size_t column, PyObject* cell, const Place& place) {
        TokenTable::Column& c = table->columns[column];
        c.ids.push_back(c.types.intern(utf8(cell, place)));
    }

    Place first_;
};

// Walks over the attributes of tokens and calls sink.add(name, weight) for each, and says where a token and
// a sentence end.
template <class Sink>
class AttributeReader {
public:
    explicit AttributeReader(Sink& sink) : sink_(sink) {}

    void add_sentence(PyObject* sentence, Place place) {
        for (place.token = 0; place.token < PySequence_Fast_GET_SIZE(sentence); ++place.token) {
            place_ = place;
            PyObject* const token = PySequence_Fast_GET_ITEM(sentence, place.token);
            if (PyDict_Check(token)) {
                add_dict(token);
            } else if (!add_strings(token)) {
                place.fail("a dict or a list of str is expected, not a " + type_name(token) +
                           " (tokens that are words need templates, such as features=\"ner\")");
            }
            sink_.end_token();
        }
        sink_.end_sentence();
    }

private:
    static constexpr int deepest = 100;

    // The name grows by ":key" with each level of nesting and shrinks again behind it.
    class Level {
    public:
        Level(AttributeReader& reader, std::string_view key) : reader_(reader), size_(reader.name_.size()) {
            if (reader.depth_++ > 0) reader.name_.push_back(':');
            reader.name_.append(key);
        }
        ~Level() {
            reader_.name_.resize(size_);
            --reader_.depth_;
        }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        AttributeReader& reader_;
        std::size_t size_;
    };

    void add_dict(PyObject* dict) {
        if (depth_ > deepest) place_.fail("the attributes are nested too deeply");
        PyObject *key = nullptr, *value = nullptr;
        for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
            if (!PyUnicode_Check(key)) place_.fail("an attribute's name is a " + type_name(key) + ", not a str");
            const Level level(*this, utf8(key, place_));
            add_value(value);
        }
    }

    void add_value(PyObject* value) {
        if (PyUnicode_Check(value)) {
            add_string(value);
        } else if (PyFloat_CheckExact(value)) {
            add_weight(PyFloat_AS_DOUBLE(value));
        } else if (PyBool_Check(value)) {
            add_weight(value == Py_True ? 1.0 : 0.0);
        } else if (PyDict_Check(value)) {
            add_dict(value);
        } else if (add_vector(value)) {
            return;
        } else if (PyList_Check(value) || PyTuple_Check(value) || !add_number(value)) {
            if (!add_strings(value)) {
                fail("the value is a " + type_name(value) +
                     ", not a str, a number, a dict, a list of str or a vector of floats");
            }
        }
    }

    // A vector of floats, NumPy's for example: entry k is a feature name:k. False if it is none.
    bool add_vector(PyObject* value) {
        if (PyObject_CheckBuffer(value) == 0 || PyBytes_Check(value)) return false;
        Py_buffer view;
        if (PyObject_GetBuffer(value, &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
            PyErr_Clear();
            return false;
        }
        const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> held(&view, PyBuffer_Release);
        const std::string_view format = view.format == nullptr ? "B" : view.format;
        if (view.ndim != 1 || (format != "f" && format != "d")) return false;
        const auto* at = static_cast<const char*>(view.buf);
        for (Py_ssize_t k = 0; k < view.shape[0]; ++k, at += view.strides[0]) {
            const std::string number = std::to_string(k);
            const Level level(*this, number);
            float single = 0;
            double full = 0;
            if (format == "f") {
                std::memcpy(&single, at, sizeof single);
                full = single;
            } else {
                std::memcpy(&full, at, sizeof full);
            }
            add_weight(full);
        }
        return true;
    }

    // Any other sort of number, NumPy's for example; false if it is none.
    bool add_number(PyObject* value) {
        if (PyNumber_Check(value) == 0) return false;
        Py_INCREF(value);  // its own __float__ might drop it from the dict
        const Reference held(value);
        const double weight = PyFloat_AsDouble(value);
        if (weight == -1.0 && PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            return false;
        }
        add_weight(weight);
        return true;
    }

    // False if the object is not a collection of strings at all.
    bool add_strings(PyObject* object) {
        PyObject* collected = nullptr;
        if (PyAnySet_Check(object)) {
            // Sets have no order of their own; sorting makes ids the same in every run.
            collected = PySequence_List(object);
            if (collected != nullptr && PyList_Sort(collected) != 0) PyErr_Clear();  // a non-string is named below
        } else {
            collected = as_list(object);
        }
        if (collected == nullptr) return false;
        const Reference list(collected);
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
            PyObject* const item = PySequence_Fast_GET_ITEM(list.get(), i);
            if (!PyUnicode_Check(item)) {
                fail("item " + std::to_string(i + 1) + " is a " + type_name(item) + ", not a str");
            }
            add_string(item);
        }
        return true;
    }

    void add_string(PyObject* text) {
        if (depth_ == 0) {
            sink_.add(utf8(text, place_), 1.0);
            return;
        }
        const Level level(*this, utf8(text, place_));
        sink_.add(name_, 1.0);
    }

    void add_weight(double weight) {
        // Training is in single precision, and has to be able to hold what it is given.
        if (!std::isfinite(static_cast<float>(weight)))
            fail(std::isnan(weight) ? "the value is NaN" : "the value is infinite");
        sink_.add(name_, weight);
    }

    [[noreturn]] void fail(const std::string& reason) const {
        place_.fail(depth_ == 0 ? reason : "attribute \"" + name_ + "\": " + reason);
    }

    Sink& sink_;
    Place place_;
    std::string name_;  // of the attribute so far
    int depth_ = 0;
};

}  // namespace

AttributeRows read_attributes(PyObject* sentences, const Number& number) {
    AttributeRows rows;
    RowSink sink(rows, number);
    AttributeReader reader(sink);
    for_each_sentence(sentences, [&](PyObject* sentence, const Place& place) { reader.add_sentence(sentence, place); });
    return rows;
}

Items read_items(PyObject* sentence) {
    Items items;
    AttributeReader reader(items);
    const Reference list(as_list(sentence));
    if (!list) throw InputError("a list of tokens is expected, not a " + type_name(sentence));
    reader.add_sentence(list.get(), Place{});
    return items;
}

std::shared_ptr<TokenTable> read_tokens(PyObject* sentences) {
    TokenReader reader;
    for_each_sentence(sentences, [&](PyObject* sentence, const Place& place) { reader.add_sentence(sentence, place); });
    return std::move(reader.table);
}

}  // namespace dualstruct
