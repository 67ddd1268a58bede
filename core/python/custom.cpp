// Structures that users write in Python: the core calls their methods, and holds the GIL only then. A
// decoder may also be a C function, which is called without the GIL.

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/index.hpp"
#include "python/bindings.hpp"
#include "structures/custom/custom.hpp"
#include "text/hash.hpp"

namespace dualstruct {

using namespace nb::literals;

namespace {

// Larger values would overflow sums in single precision.
constexpr double max_value = 1e12;
// How many outputs of an example are known by their features; beyond, all are forgotten.
constexpr std::size_t most_known = 100;

// Writes the argmax to `output` and returns its length; more than `capacity` asks for a larger
// buffer, a negative number is a failure.
using CompiledDecoder = std::int64_t (*)(const float* w, std::int64_t dimension, std::int64_t example,
                                         float cost_weight, void* data, std::int32_t* output, std::int64_t capacity);

std::uint32_t hashed_index(std::string_view name, int bits) {
    return static_cast<std::uint32_t>(hash_bytes(name) >> (64 - bits));
}

std::string shown(nb::handle value) {
    const std::string text = nb::repr(value).c_str();
    if (text.size() <= 60) return text;
    std::size_t length = 57;
    while ((text[length] & 0xC0) == 0x80) --length;  // not inside a character
    return text.substr(0, length) + "...";
}

// The methods of a Calls object (structures/custom.py). All of Python's objects are touched with the
// GIL held; between two calls another thread may run.
class PythonCode : public UserCode {
public:
    PythonCode(nb::object calls, std::int64_t dimension)
        : calls_(std::move(calls)), decode_(calls_.attr("decode")), features_(calls_.attr("features")),
          cost_(calls_.attr("cost")), key_(calls_.attr("key")), X_(calls_.attr("X")), Y_(calls_.attr("Y")),
          names_(calls_.attr("names")), hash_bits_(nb::cast<int>(calls_.attr("hash_bits"))), dimension_(dimension),
          has_expectation_(!calls_.attr("expectation").is_none()), known_(nb::len(X_)) {}

    // φ_i(y_i) of all examples, with the GIL held.
    std::shared_ptr<const TrueFeatures> learn_truth() {
        const auto truth = std::make_shared<TrueFeatures>();
        truth_ = truth;
        if (Y_.is_none()) return truth;
        SparseVector row;
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(known_.size()); ++i) {
            Known& known = known_[at(i)];
            const bool fine = attempt(i, [&](const char*& method) {
                method = "features";
                read_features(i, method, features_(X_[i], Y_[i]), row);
                method = "cost";
                const float cost = read_cost(i, cost_(Y_[i], Y_[i]));
                if (cost != 0)
                    wrong(i, method, "is " + shown(nb::float_(cost)) + " for the truth itself; it must be 0");
                known.outputs.push_back({0});
                if (nb::object key = key_of(Y_[i]); !key.is_none()) remember(known, key, 0);
            });
            known.skipped = !fine;
            truth->add(fine ? row : SparseVector{});
        }
        return truth;
    }

    void decode(const float* w, std::int64_t i, float cost_weight, CustomOutput& output) override {
        if (skips(i, output)) return;
        GilHeld gil;
        attempt(i, output, [&](const char*& method) {
            method = "decode";
            describe(i, decode_(view(w), X_[i], truth(i), cost_weight), method, output);
        });
    }

    std::vector<CustomOutput> k_best(const float* w, std::int64_t i, float cost_weight, int k) override {
        std::vector<CustomOutput> outputs(1);
        if (skips(i, outputs[0])) return outputs;
        GilHeld gil;
        const nb::object method_ = calls_.attr("k_best");
        if (method_.is_none()) throw Unsupported("it has no method k_best");
        attempt(i, outputs[0], [&](const char*& method) {
            method = "k_best";
            const nb::list best(method_(view(w), X_[i], k, truth(i), cost_weight));
            outputs.resize(std::max<std::size_t>(nb::len(best), 1));
            if (!nb::len(best)) wrong(i, method, "found no output");
            for (std::size_t n = 0; n < nb::len(best); ++n) {
                method = "k_best";
                describe(i, best[n], method, outputs[n]);
            }
        });
        return outputs;
    }

    bool has_expectation() const override { return has_expectation_; }
    double expectation(const float* w, std::int64_t i, double beta, double gamma, SparseVector& features) override {
        GilHeld gil;
        double log_partition = 0;
        const nb::object method_ = calls_.attr("expectation");
        const bool fine = !known_[at(i)].skipped && attempt(i, [&](const char*& method) {
            method = "expectation";
            const nb::object pair = method_(view(w), X_[i], beta, gamma, truth(i));
            if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2) {
                wrong(i, method, "must return (log-partition, expected features), not " + shown(pair));
            }
            log_partition = read_number(pair[0]);
            if (!std::isfinite(log_partition)) wrong(i, method, "returned the log-partition " + shown(pair[0]));
            read_features(i, method, pair[1], features);
        });
        if (!fine) {  // as if the truth were certain
            const auto row = (*truth_)[i];
            features.assign(row.begin(), row.end());
            log_partition = 0;
            for (const Entry& entry : row) log_partition += double{entry.value} * w[entry.index];
        }
        return log_partition;
    }

    // The output y of example i, as learning knows it; with the GIL held.
    CustomOutput encode(std::int64_t i, nb::handle y) {
        CustomOutput output;
        const char* method = "features";
        describe(i, y, method, output);
        return output;
    }

    // For Python's garbage collector: what a user's methods refer to may refer to this.
    int traverse(visitproc visit, void* arg) {
        for (nb::object* held : objects()) Py_VISIT(held->ptr());
        for (const Known& known : known_) Py_VISIT(known.places.ptr());
        return 0;
    }
    void clear() {
        for (nb::object* held : objects()) held->reset();
        for (Known& known : known_) known.places.reset();
    }

protected:
    struct Known {
        nb::object places;  // key of an output → where in `outputs` it is
        std::vector<CustomOutput> outputs;
        bool skipped = false;
    };

    bool skips(std::int64_t i, CustomOutput& output) const {
        if (!known_[at(i)].skipped) return false;
        output.assign(1, 0);
        return true;
    }

    // Runs work(method), which says in `method` which of the user's methods it is about to call. What
    // Python raises gets the example's name and is passed on as it is, unless the user asked to skip: false.
    template <class Work>
    bool attempt(std::int64_t i, Work work) {
        const char* method = "";
        try {
            work(method);
            return true;
        } catch (nb::python_error& error) {
            if (!nb::cast<bool>(calls_.attr("skips")(i, method, error.value()))) throw;
            return false;
        }
    }
    // The same for an output: a skipped one is the truth, which teaches nothing.
    template <class Work>
    void attempt(std::int64_t i, CustomOutput& output, Work work) {
        if (!attempt(i, work)) output.assign(1, 0);
    }

    // Features and cost of an output, from memory where it is known.
    void describe(std::int64_t i, nb::handle y, const char*& method, CustomOutput& output) {
        Known& known = known_[at(i)];
        if (y.is_none()) wrong(i, method, "returned None");
        const nb::object key = key_of(y);
        if (!key.is_none() && known.places.is_valid()) {
            if (PyObject* place = PyDict_GetItemWithError(known.places.ptr(), key.ptr())) {
                output = known.outputs[PyLong_AsSize_t(place)];
                return;
            }
            if (PyErr_Occurred()) throw nb::python_error();
        }
        SparseVector features;
        method = "features";
        read_features(i, method, features_(X_[i], y), features);
        float cost = 0;
        if (!Y_.is_none()) {
            method = "cost";
            cost = read_cost(i, cost_(Y_[i], y));
        }
        encode_output((*truth_)[i], features, cost, output);
        if (key.is_none()) return;
        if (known.outputs.size() >= most_known) {
            known.outputs.clear();
            known.places.reset();
        }
        known.outputs.push_back(output);
        remember(known, key, known.outputs.size() - 1);
    }

    nb::object truth(std::int64_t i) const { return Y_.is_none() ? nb::object(nb::none()) : nb::object(Y_[i]); }

    // Ends the example with an InputError.
    [[noreturn]] void wrong(std::int64_t i, const char* method, const std::string& what) const {
        calls_.attr("wrong")(i, method, what);
        throw std::logic_error("an error was not raised");
    }

    nb::object calls_;

    nb::object x(std::int64_t i) const { return X_[i]; }

private:
    std::array<nb::object*, 9> objects() {
        return {&calls_, &decode_, &features_, &cost_, &key_, &X_, &Y_, &names_, &view_};
    }

    static void remember(Known& known, const nb::object& key, std::size_t place) {
        if (!known.places.is_valid()) known.places = nb::dict();
        const nb::object number = nb::steal(PyLong_FromSize_t(place));
        if (PyDict_SetItem(known.places.ptr(), key.ptr(), number.ptr()) != 0) throw nb::python_error();
    }

    // What an output is known by; None if it cannot be distinguished from others.
    nb::object key_of(nb::handle y) const {
        PyObject* p = y.ptr();
        if (PyLong_CheckExact(p) || PyUnicode_CheckExact(p) || PyBytes_CheckExact(p)) return nb::borrow(y);
        return key_(y);
    }

    // w as a read-only array that keeps its memory alive.
    nb::object view(const float* w) {
        if (w != viewed_) {
            view_ = calls_.attr("view")(reinterpret_cast<std::uintptr_t>(w));
            if (view_.is_none()) {
                view_ = nb::cast(nb::ndarray<const float, nb::numpy, nb::ndim<1>>(w, {at(dimension_)}, nb::handle()),
                                 nb::rv_policy::reference);
            }
            viewed_ = w;
        }
        return view_;
    }

    static double read_number(nb::handle value) {
        const double number = PyFloat_AsDouble(value.ptr());
        if (number == -1 && PyErr_Occurred()) throw nb::python_error();
        return number;
    }

    float read_cost(std::int64_t i, nb::handle value) const {
        const double cost = read_number(value);
        if (!(cost >= 0 && cost <= max_value)) wrong(i, "cost", "is " + shown(value) + "; it must be at least 0");
        return static_cast<float>(cost);
    }

    void read_features(std::int64_t i, const char* method, nb::handle given, SparseVector& features) {
        features.clear();
        if (PyDict_Check(given.ptr())) {
            PyObject *key, *value;
            Py_ssize_t at = 0;
            while (PyDict_Next(given.ptr(), &at, &key, &value)) {
                const std::int64_t index = index_of(i, method, key);
                if (index >= 0) add(i, method, key, index, read_number(value), features);
            }
        } else {
            const nb::object pairs = calls_.attr("as_pairs")(i, method, given);
            const auto indices = nb::cast<Input<std::int64_t>>(pairs[0]);
            const auto values = nb::cast<Input<double>>(pairs[1]);
            for (std::size_t k = 0; k < indices.size(); ++k) {
                const std::int64_t index = indices.data()[k];
                if (index < 0 || index >= dimension_) out_of_range(i, method, index);
                add(i, method, nb::int_(index), index, values.data()[k], features);
            }
        }
        tidy(features);
    }

    void add(std::int64_t i, const char* method, nb::handle name, std::int64_t index, double value,
             SparseVector& features) const {
        if (!(std::abs(value) <= max_value)) {
            wrong(i, method, "has the value " + shown(nb::float_(value)) + " for the feature " + shown(name));
        }
        features.push_back({static_cast<std::uint32_t>(index), static_cast<float>(value)});
    }

    [[noreturn]] void out_of_range(std::int64_t i, const char* method, std::int64_t index) const {
        wrong(i, method,
              "has the feature " + std::to_string(index) + ", which is not in 0 … " + std::to_string(dimension_ - 1));
    }

    // The weight of a feature; −1 for a name that training never met.
    std::int64_t index_of(std::int64_t i, const char* method, nb::handle key) {
        const bool named = PyUnicode_Check(key.ptr());
        if (named != (!names_.is_none() || hash_bits_ > 0)) {
            wrong(i, method,
                  "has the feature " + shown(key) + (named ? ", and others have numbers" : ", and others have names") +
                      "; use one or the other");
        }
        if (!named) {
            const nb::object number = nb::steal(PyNumber_Index(key.ptr()));
            if (!number.is_valid()) throw nb::python_error();
            const std::int64_t index = PyLong_AsLongLong(number.ptr());
            if (index == -1 && PyErr_Occurred()) throw nb::python_error();
            if (index < 0 || index >= dimension_) out_of_range(i, method, index);
            return index;
        }
        if (hash_bits_ > 0) {
            Py_ssize_t size;
            const char* text = PyUnicode_AsUTF8AndSize(key.ptr(), &size);
            if (!text) throw nb::python_error();
            return hashed_index({text, at(size)}, hash_bits_);
        }
        if (PyObject* place = PyDict_GetItemWithError(names_.ptr(), key.ptr())) return PyLong_AsLongLong(place);
        if (PyErr_Occurred()) throw nb::python_error();
        if (!nb::cast<bool>(calls_.attr("learns_names"))) return -1;
        const Py_ssize_t next = PyDict_Size(names_.ptr());
        if (next >= dimension_) {
            wrong(i, method,
                  "brings more than " + std::to_string(dimension_) +
                      " feature names; set max_features higher, or hash_bits");
        }
        const nb::object number = nb::steal(PyLong_FromSsize_t(next));
        if (PyDict_SetItem(names_.ptr(), key.ptr(), number.ptr()) != 0) throw nb::python_error();
        return next;
    }

    nb::object decode_, features_, cost_, key_, X_, Y_, names_;
    int hash_bits_;
    std::int64_t dimension_;
    bool has_expectation_;
    std::shared_ptr<const TrueFeatures> truth_;
    std::vector<Known> known_;
    const float* viewed_ = nullptr;
    nb::object view_;
};

// Finds outputs by a C function; Python is asked only about outputs not met before.
class CompiledCode final : public PythonCode {
public:
    CompiledCode(nb::object calls, std::int64_t dimension, std::int64_t size, std::uintptr_t function,
                 std::uintptr_t data)
        : PythonCode(std::move(calls), dimension), function_(reinterpret_cast<CompiledDecoder>(function)),
          data_(reinterpret_cast<void*>(data)), dimension_(dimension), met_(at(size)) {}

    void decode(const float* w, std::int64_t i, float cost_weight, CustomOutput& output) override {
        if (skips(i, output)) return;
        std::vector<std::int32_t> found;
        const std::int64_t length = find(w, i, cost_weight, found);
        auto& met = met_[at(i)];
        const std::string key(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(std::int32_t));
        if (length >= 0) {
            const std::lock_guard lock(mutex_);
            if (const auto at = met.find(key); at != met.end()) {
                output = at->second;
                return;
            }
        }
        GilHeld gil;
        bool known = false;
        attempt(i, output, [&](const char*& method) {
            method = "compiled_decoder";
            if (length < 0) wrong(i, method, "failed with " + std::to_string(length));
            const nb::object y = calls_.attr("from_compiled")(x(i), to_numpy(std::move(found)));
            describe(i, y, method, output);
            known = true;
        });
        if (!known) return;
        const std::lock_guard lock(mutex_);  // nobody who holds it waits for the GIL
        if (met.size() >= most_known) met.clear();
        met.emplace(key, output);
    }

    // What the function says: the length of `found`, or its failure.
    std::int64_t find(const float* w, std::int64_t i, float cost_weight, std::vector<std::int32_t>& found) const {
        found.resize(256);
        auto call = [&] {
            return function_(w, dimension_, i, cost_weight, data_, found.data(),
                             static_cast<std::int64_t>(found.size()));
        };
        std::int64_t length = call();
        if (length > static_cast<std::int64_t>(found.size())) {
            found.resize(at(length));
            length = call();
            if (length > static_cast<std::int64_t>(found.size())) length = -1;
        }
        found.resize(at(std::max<std::int64_t>(length, 0)));
        return length;
    }

private:
    CompiledDecoder function_;
    void* data_;
    std::int64_t dimension_;
    std::mutex mutex_;  // guards what was met
    std::vector<std::unordered_map<std::string, CustomOutput>> met_;
};

PythonCode& code_of(const Custom& custom) { return static_cast<PythonCode&>(custom.code()); }

std::int64_t checked_example(const Custom& custom, std::int64_t i) {
    if (i < 0 || i >= custom.size()) throw nb::index_error("no such example");
    return i;
}

int traverse_custom(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? code_of(*nb::inst_ptr<Custom>(self)).traverse(visit, arg) : 0;
}

int clear_custom(PyObject* self) {
    code_of(*nb::inst_ptr<Custom>(self)).clear();
    return 0;
}

PyType_Slot collector_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_custom)},
                                 {Py_tp_clear, reinterpret_cast<void*>(clear_custom)},
                                 {0, nullptr}};

}  // namespace

void bind_custom(nb::module_& m) {
    m.def("hashed_index", &hashed_index, "name"_a, "bits"_a);
    nb::class_<Custom, Structure>(m, "Custom", nb::type_slots(collector_slots))
        .def(
            "__init__",
            [](Custom* self, nb::object calls, std::int64_t dimension, std::uintptr_t function, std::uintptr_t data) {
                const auto size = static_cast<std::int64_t>(nb::len(nb::object(calls.attr("X"))));
                const bool has_truth = !calls.attr("Y").is_none();
                std::unique_ptr<PythonCode> code;
                if (function) {
                    code = std::make_unique<CompiledCode>(calls, dimension, size, function, data);
                } else {
                    code = std::make_unique<PythonCode>(calls, dimension);
                }
                auto truth = code->learn_truth();
                new (self) Custom(std::move(code), std::move(truth), size, dimension, has_truth);
            },
            "calls"_a, "dimension"_a, "function"_a = 0, "data"_a = 0)
        .def(
            "encode",
            [](const Custom& custom, std::int64_t i, nb::object y) {
                return to_numpy(code_of(custom).encode(checked_example(custom, i), y));
            },
            "i"_a, "y"_a)
        // What the compiled decoder finds, or how it failed.
        .def(
            "run_compiled",
            [](const Custom& custom, const Weights& w, std::int64_t i, float cost_weight) {
                checked(w, custom);
                auto& code = dynamic_cast<CompiledCode&>(custom.code());
                std::vector<std::int32_t> found;
                std::int64_t length;
                {
                    GilReleased no_gil;
                    length = code.find(w.data(), checked_example(custom, i), cost_weight, found);
                }
                return nb::make_tuple(length, to_numpy(std::move(found)));
            },
            "w"_a, "i"_a, "cost_weight"_a)
        // [offsets], [indices], [values] of the true outputs' features.
        .def("true_features", [](const Custom& custom) {
            const TrueFeatures& truth = custom.truth();
            std::vector<std::uint32_t> indices;
            std::vector<float> values;
            for (const Entry& entry : truth.entries) {
                indices.push_back(entry.index);
                values.push_back(entry.value);
            }
            return nb::make_tuple(to_numpy(std::vector<std::int64_t>(truth.offsets)), to_numpy(std::move(indices)),
                                  to_numpy(std::move(values)));
        });
}

}  // namespace dualstruct
