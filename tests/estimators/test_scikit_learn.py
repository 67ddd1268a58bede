"""Every estimator keeps scikit-learn's contract: one suite, a row in CASES for each of them."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn
import sklearn.exceptions
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from dualstruct import DependencyParser, NotFittedError, ParsingPipeline, SequenceTagger
from dualstruct.compat.sklearn_crfsuite import CRF, scorers
from dualstruct.errors import InputError
from dualstruct.outputs import Outputs
from patience import HANGS
from scikit_learn_cases import CASES

FOLDS = KFold(3)
WEIGHTED = [name for name in CASES if name not in ("ParsingPipeline", "CRF")]


@pytest.fixture(params=CASES, scope="module")
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def fitted(case):
    return case.make().fit(case.X, case.y)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def chosen(examples, numbers):
    return None if examples is None else [examples[i] for i in numbers]


def outputs(predicted):
    return [y.tolist() if isinstance(y, np.ndarray) else y for y in predicted]


def test_a_clone_has_the_parameters_and_no_model(case, fitted):
    twin = clone(fitted)
    assert twin is not fitted
    assert twin.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    assert type(twin) is type(fitted)
    with pytest.raises(NotFittedError):
        twin.predict(case.X)
    assert outputs(twin.fit(case.X, case.y).predict(case.X)) == outputs(fitted.predict(case.X))


def test_parameters_come_back_as_they_were_set(case):
    estimator = case.make()
    for name, values in case.grid.items():
        for value in values:
            assert estimator.set_params(**{name: value}).get_params()[name] == value
    shallow, deep = estimator.get_params(deep=False), estimator.get_params()
    assert shallow.items() <= deep.items()
    assert all("__" in name for name in deep.keys() - shallow.keys())
    before = deep.copy()
    for wrong in ("nothing", "nothing__C", f"{next(iter(shallow))}__nothing"):
        with pytest.raises(InputError, match="has no parameter"):
            estimator.set_params(**{wrong: 1})
    assert estimator.get_params() == before


def test_fit_answers_itself_and_changes_no_parameter(case):
    estimator = case.make()
    before = {name: copy.deepcopy(value) for name, value in estimator.get_params().items()}
    assert estimator.fit(case.X, case.y) is estimator
    after = estimator.get_params()
    assert {name: repr(value) for name, value in after.items() if "structure" not in name} == {
        name: repr(value) for name, value in before.items() if "structure" not in name
    }


def test_fitting_again_gives_the_same_predictions(case, fitted):
    again = case.make().fit(case.X[:6], chosen(case.y, range(6))).fit(case.X, case.y)
    assert outputs(again.predict(case.X)) == outputs(fitted.predict(case.X))


@pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
def test_pickles_and_copies_predict_the_same(case, fitted, copied):
    again = copied(fitted)
    check_is_fitted(again)
    assert outputs(again.predict(case.X)) == outputs(fitted.predict(case.X))
    assert not copied(case.make()).__sklearn_is_fitted__()


def test_an_unfitted_estimator_raises_both_not_fitted_errors(case):
    estimator = case.make()
    for call in (
        lambda: estimator.predict(case.X),
        lambda: estimator.score(case.X, case.y),
    ):
        with pytest.raises(NotFittedError, match="call fit first") as raised:
            call()
        assert isinstance(raised.value, sklearn.exceptions.NotFittedError)
        assert type(pickle.loads(pickle.dumps(raised.value))) is NotFittedError
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(estimator)


def test_the_representation_builds_the_same_estimator(case):
    estimator = case.make()
    names = {
        kind.__name__: kind for kind in (SequenceTagger, DependencyParser, ParsingPipeline, CRF)
    }
    if type(estimator).__name__ not in names:
        assert repr(estimator).startswith(f"{type(estimator).__name__}(structure=")
        return
    built = eval(repr(estimator), names)
    assert repr(built) == repr(estimator)
    assert built.get_params().keys() == estimator.get_params().keys()


def test_notebooks_show_a_diagram_unless_text_is_wanted(case, fitted):
    for estimator in (case.make(), fitted):
        assert type(estimator).__name__ in estimator._repr_html_()
        assert "<div" in Pipeline([("last", estimator)])._repr_html_()
        with sklearn.config_context(display="text"):
            assert not hasattr(estimator, "_repr_html_")


def test_cross_val_predict_has_one_output_an_example_in_their_order(case):
    found = cross_val_predict(case.make(), case.X, case.y, cv=FOLDS)
    assert found.shape == (len(case.X),)
    expected = [None] * len(case.X)
    for train, test in FOLDS.split(case.X):
        part = case.make().fit(chosen(case.X, train), chosen(case.y, train))
        for i, output in zip(test, part.predict(chosen(case.X, test)), strict=True):
            expected[i] = output
    assert outputs(found) == outputs(expected)


def test_predictions_are_lists_and_become_arrays_of_one_entry_an_example(case, fitted):
    predicted = fitted.predict(case.X)
    assert len(predicted) == len(case.X)
    assert isinstance(predicted, list) or case.y is None  # a Treebank, of which trees can be read
    assert np.asarray(predicted).shape == np.asarray(predicted, object).shape == (len(case.X),)


def test_searches_choose_the_value_with_the_best_mean_score(case):
    (name, values), *_ = case.grid.items()
    means = []
    for value in values:
        estimator = case.make().set_params(**{name: value})
        means.append(cross_val_score(estimator, case.X, case.y, cv=FOLDS).mean())
    search = GridSearchCV(case.make(), case.grid, cv=FOLDS).fit(case.X, case.y)
    assert search.cv_results_["mean_test_score"] == pytest.approx(means)
    assert search.best_params_ == {name: values[int(np.argmax(means))]}
    assert search.best_estimator_.get_params()[name] == search.best_params_[name]
    assert means[0] != means[1]
    random = RandomizedSearchCV(
        case.make(), case.grid, n_iter=1, cv=FOLDS, random_state=0, scoring=own_scorer
    ).fit(case.X, case.y)
    assert outputs(random.predict(case.X)) == outputs(random.best_estimator_.predict(case.X))


def own_scorer(estimator, X, y=None):
    return estimator.score(X, y)


def test_scorers_of_labels_work_with_every_estimator_of_sequences():
    for name in ("SequenceTagger", "StructuredSVM of sequences", "CRF"):
        case = CASES[name]
        scoring = {"flat": scorers.flat_accuracy, "whole": scorers.sequence_accuracy}
        found = cross_validate(case.make(), case.X, case.y, cv=FOLDS, scoring=scoring)
        assert 0 < found["test_whole"].mean() <= found["test_flat"].mean() <= 1


def test_a_pipeline_fits_predicts_scores_and_sets_parameters(case, fitted):
    def pipeline():
        return Pipeline([("same", FunctionTransformer()), ("model", case.make())])

    whole = pipeline().fit(case.X, case.y)
    assert outputs(whole.predict(case.X)) == outputs(fitted.predict(case.X))
    assert whole.score(case.X, case.y) == fitted.score(case.X, case.y)
    grid = {f"model__{name}": values for name, values in case.grid.items()}
    search = GridSearchCV(pipeline(), grid, cv=FOLDS).fit(case.X, case.y)
    alone = GridSearchCV(case.make(), case.grid, cv=FOLDS).fit(case.X, case.y)
    assert search.best_score_ == alone.best_score_


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("routed", [True, False])
def test_weights_of_examples_are_divided_as_the_examples_are(name, routed):
    case = CASES[name]
    weights = np.linspace(0.1, 3.0, len(case.X))
    with sklearn.config_context(enable_metadata_routing=routed):
        estimator = case.make()
        if routed:
            estimator.set_fit_request(sample_weight=True)
        found = cross_validate(
            estimator, case.X, case.y, cv=FOLDS, params={"sample_weight": weights},
            return_estimator=True,
        )["estimator"]  # fmt: skip
    for one, (train, _) in zip(found, FOLDS.split(case.X), strict=True):
        part = (chosen(case.X, train), chosen(case.y, train))
        expected = case.make().fit(*part, sample_weight=weights[train])
        assert one.result_.primal == expected.result_.primal
        assert one.result_.primal != case.make().fit(*part).result_.primal


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_search_routes_what_its_estimator_requests(name, routing):
    case = CASES[name]
    weights = np.linspace(0.1, 3.0, len(case.X))
    estimator = case.make().set_fit_request(sample_weight=True)
    search = GridSearchCV(estimator, case.grid, cv=FOLDS)
    search.fit(case.X, case.y, sample_weight=weights)
    best = case.make().set_params(**search.best_params_)
    expected = best.fit(case.X, case.y, sample_weight=weights).result_.primal
    assert search.best_estimator_.result_.primal == expected


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_pipeline_routes_what_its_last_step_requests(name, routing):
    case = CASES[name]
    weights = np.linspace(0.1, 3.0, len(case.X))
    estimator = case.make().set_fit_request(sample_weight="importance")
    whole = Pipeline([("same", FunctionTransformer()), ("model", estimator)])
    whole.fit(case.X, case.y, importance=weights)
    expected = case.make().fit(case.X, case.y, sample_weight=weights)
    assert whole["model"].result_.primal == expected.result_.primal


def test_requests_are_kept_by_clones_and_pickles_and_missing_ones_are_named(case, routing):
    estimator = case.make()
    name = "X_dev" if isinstance(estimator, CRF) else "dev"
    assert estimator.get_metadata_routing().fit.requests[name] is None
    assert estimator.set_fit_request(**{name: True}) is estimator
    for kept in (clone(estimator), pickle.loads(pickle.dumps(estimator)), copy.copy(estimator)):
        assert kept.get_metadata_routing().fit.requests[name] is True
    with pytest.raises(TypeError, match="takes no 'colour'; it takes "):
        estimator.set_fit_request(colour=True)
    with sklearn.config_context(enable_metadata_routing=False):  # noqa: SIM117
        with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
            estimator.set_fit_request(**{name: True})
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match=name):
        GridSearchCV(case.make(), case.grid).fit(case.X, case.y, **{name: case.X})


def test_only_methods_that_take_metadata_have_requests():
    assert hasattr(SequenceTagger(), "set_predict_request")  # allowed
    assert hasattr(SequenceTagger(), "set_partial_fit_request")
    assert not hasattr(CRF(), "set_partial_fit_request")
    assert not hasattr(CRF(), "set_score_request")
    assert "sample_weight" in SequenceTagger().set_fit_request.__doc__


def test_parts_of_a_pipeline_for_parsing_have_their_parameters_even_if_none_was_given():
    pipeline = ParsingPipeline().set_params(parser__C=1.0, tagger__passes=2)
    assert (pipeline.parser.C, pipeline.tagger.passes) == (1.0, 2)
    assert pipeline.tagger.unseen_labels == "count"  # as the default tagger has it
    assert ParsingPipeline().get_params()["parser__C"] == DependencyParser().C
    assert ParsingPipeline().get_params(deep=False)["parser"] is None
    given = ParsingPipeline(parser=DependencyParser(order=2)).set_params(parser__C=3.0)
    assert (given.parser.order, given.parser.C) == (2, 3.0)
    both = ParsingPipeline().set_params(parser=DependencyParser(order=2), parser__C=4.0)
    assert (both.parser.order, both.parser.C) == (2, 4.0)


def test_outputs_are_a_list_for_everybody_but_numpy():
    ragged = Outputs([["a", "b"], ["c"]])
    assert ragged == [["a", "b"], ["c"]]
    assert repr(ragged) == "[['a', 'b'], ['c']]"
    for equal in (Outputs([[1, 2], [3, 4]]), Outputs([np.zeros(2), np.ones(2)]), ragged):
        assert np.concatenate([equal, equal]).shape == (4,)
        assert np.asarray(equal).dtype == object
    assert np.asarray(Outputs([1, 2])).dtype == np.array([1]).dtype
    assert np.asarray(Outputs(["a"])).dtype.kind == "U"
    assert np.asarray(Outputs([])).shape == (0,)
    assert pickle.loads(pickle.dumps(ragged)) == ragged


def test_estimators_work_without_the_import_of_scikit_learn():
    code = """
import sys
from dualstruct import NotFittedError, SequenceTagger
tagger = SequenceTagger(passes=1).fit([["a", "b"]], [["X", "Y"]])
tagger.set_params(C=1.0).get_params(); repr(tagger); tagger.predict([["a"]])
try:
    SequenceTagger().predict([["a"]])
except NotFittedError as error:
    print(error)
print("sklearn" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS
    )
    assert done.stdout.splitlines() == [
        "this SequenceTagger is not trained yet: call fit first",
        "False",
    ], done.stderr
