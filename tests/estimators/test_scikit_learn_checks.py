"""scikit-learn's own checks: those that make sense here, and why the others do not.

``check_estimator`` feeds matrices with one label per row. Estimators of sequences take them as
sequences of one token (``Rows``), so that all checks run on them; parsers take no matrix at all,
and get the checks that need no data. test_scikit_learn.py has the rest of the contract for all.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dualstruct.errors import InputError
from scikit_learn_cases import CASES, ROW_ESTIMATORS

pytest.importorskip("sklearn", minversion="1.6", reason="pip install 'scikit-learn>=1.6'")
from sklearn.utils import estimator_checks

#: Checks that need no data.
WITHOUT_DATA = (
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
#: Checks that pass with every estimator of rows that they are for, but for the reasons below.
WITH_DATA = (
    "check_all_zero_sample_weights_error",
    "check_class_weight_classifiers",
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_regression_target",
    "check_classifiers_train",
    "check_complex_data",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_partial_fit_n_features",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_f_contiguous_array_estimator",
    "check_fit1d",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_non_transformer_estimators_n_iter",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_requires_y_none",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
    "check_supervised_y_no_nan",
)
OTHER_WORDS = "refused, in words of our own that name the place"
NO_COLUMNS = "the inputs are sequences, which have no fixed number of columns"
LABELS_OF_SEQUENCES = "an entry of y has the labels of a sequence"
ANY_LABEL = "whatever can be written can be a label, nan and 0.5 too"
UNKNOWN = "features that training has not seen are left out, they are no error"
REASONS = {
    "SequenceTagger": {
        "check_class_weight_classifiers": "labels are text, the check weighs numbers",
        "check_classifiers_classes": "labels are text, the check wants numbers back",
        "check_classifiers_regression_target": ANY_LABEL,
        "check_classifiers_train": UNKNOWN,
        "check_dtype_object": OTHER_WORDS,
        "check_estimators_empty_data_messages": OTHER_WORDS,
        "check_estimators_nan_inf": OTHER_WORDS,
        "check_estimators_partial_fit_n_features": "partial_fit may bring new features",
        "check_fit2d_predict1d": OTHER_WORDS,
        "check_n_features_in": NO_COLUMNS,
        "check_n_features_in_after_fitting": NO_COLUMNS,
        "check_requires_y_none": OTHER_WORDS,
        "check_supervised_y_2d": LABELS_OF_SEQUENCES,
        "check_supervised_y_no_nan": ANY_LABEL,
    },
    "CRF": {
        "check_classifiers_classes": "classes_ are in CRFsuite's order, that of the training data",
        "check_classifiers_regression_target": ANY_LABEL,
        "check_classifiers_train": UNKNOWN,
        "check_complex_data": OTHER_WORDS,
        "check_dtype_object": "items are dicts, whose values may be dicts",
        "check_estimators_empty_data_messages": OTHER_WORDS,
        "check_estimators_nan_inf": OTHER_WORDS,
        "check_fit1d": "a sequence of numbers is none of items",
        "check_fit2d_predict1d": "a sequence of numbers is none of items",
        "check_n_features_in": NO_COLUMNS,
        "check_n_features_in_after_fitting": NO_COLUMNS,
        "check_supervised_y_2d": LABELS_OF_SEQUENCES,
        "check_supervised_y_no_nan": ANY_LABEL,
    },
    "StructuredSVM": {
        "check_classifiers_classes": "structures in general have no classes_",
        "check_classifiers_regression_target": ANY_LABEL,
        "check_classifiers_train": "structures in general have no classes_",
        "check_complex_data": OTHER_WORDS,
        "check_dtype_object": OTHER_WORDS,
        "check_estimators_empty_data_messages": "without columns there is still the bias to learn",
        "check_fit2d_predict1d": OTHER_WORDS,
        "check_n_features_in": NO_COLUMNS,
        "check_n_features_in_after_fitting": NO_COLUMNS,
        "check_supervised_y_2d": OTHER_WORDS,
        "check_supervised_y_no_nan": ANY_LABEL,
    },
}  # fmt: skip


@pytest.mark.parametrize("check", WITHOUT_DATA)
@pytest.mark.parametrize("name", CASES)
def test_a_check_without_data_passes(name, check):
    if not hasattr(estimator_checks, check):
        pytest.skip(f"this version of scikit-learn has no {check}")
    estimator = CASES[name].make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.parametrize("name", ROW_ESTIMATORS)
def test_checks_on_rows_pass_but_for_those_with_a_reason(name):
    estimator = ROW_ESTIMATORS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(
            estimator, expected_failed_checks=REASONS[name], on_skip=None, on_fail=None
        )
    known = {*WITHOUT_DATA, *WITH_DATA}
    failed = {
        result["check_name"]: result["exception"]
        for result in results
        if result["status"] == "failed" and result["check_name"] in known
    }
    assert not failed
    assert sum(result["status"] == "passed" for result in results) > 35
    assert REASONS[name].keys() <= known


DICT = np.full((4, 2), 1.0, object)
DICT[0, 0] = {"a": "b"}


@pytest.mark.parametrize("name", ROW_ESTIMATORS)
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0, np.nan], [1.0, 1.0]], ["a", "b"]),
        ([[1.0, np.inf], [1.0, 1.0]], ["a", "b"]),
        ([[1j, 1.0], [1.0, 1.0]], ["a", "b"]),
        (np.ones((2, 2)), None),
        (np.ones((2, 2)), ["a"]),
        (np.ones((0, 2)), []),
    ],
    ids=["nan", "inf", "complex", "no labels", "too few labels", "nothing"],
)
def test_what_cannot_be_learned_is_refused_in_a_sentence(name, X, y):
    with pytest.raises(InputError) as raised:
        ROW_ESTIMATORS[name]().fit(np.asarray(X), y)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["SequenceTagger", "StructuredSVM"])
def test_what_is_no_number_is_refused_in_a_sentence(name):
    with pytest.raises(InputError, match=r"not numbers|does not support dtype object"):
        ROW_ESTIMATORS[name]().fit(DICT, list("abab"))
