"""Pickles of sklearn-crfsuite, as packages ship them, load and tag with the look-alikes alone."""

from __future__ import annotations

import pickle
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from dualstruct.compat import install_aliases
from dualstruct.compat.pycrfsuite import _logparser
from dualstruct.compat.sklearn_crfsuite import CRF
from dualstruct.errors import InputError, NotFittedError
from patience import HANGS

pycrfsuite = pytest.importorskip("pycrfsuite", reason="missing: pip install python-crfsuite")
PACKAGES = ("pycrfsuite", "sklearn_crfsuite")


def made_up(seed, sentences=12):
    random = np.random.default_rng(seed)
    X = [
        [{"word": str(random.integers(9)), "size": float(random.random())} for _ in range(n)]
        for n in random.integers(1, 7, size=sentences)
    ]
    return X, [[f"L{int(item['word']) // 3}" for item in x] for x in X]


X, Y = made_up(0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model of CRFsuite: the bytes of its file, and its tagger."""
    path = str(tmp_path_factory.mktemp("models") / "model")
    trainer = pycrfsuite.Trainer(params={"c2": 0.1, "max_iterations": 9}, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    with open(path, "rb") as file:
        return file.read(), tagger


@pytest.fixture
def aliases():
    """``install_aliases`` for one test, even if python-crfsuite was imported."""
    mine = [name for name in sys.modules if name.split(".")[0] in PACKAGES]
    saved = {name: sys.modules.pop(name) for name in mine}
    install_aliases()
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
        del sys.modules[name]
    sys.modules.update(saved)


def written_by_sklearn_crfsuite(state, resource, protocol):
    """A pickle with the classes' names and the layout that sklearn-crfsuite gives it."""
    names = {"sklearn_crfsuite.estimator": "CRF", "sklearn_crfsuite._fileresource": "FileResource"}
    classes = {
        name: type(name, (), {"__module__": module, "__qualname__": name})
        for module, name in names.items()
    }
    modules = {name: ModuleType(name) for name in ("sklearn_crfsuite", *names)}
    for module, name in names.items():
        setattr(modules[module], name, classes[name])
    crf, file = classes["CRF"](), classes["FileResource"]()
    vars(file).update(resource)
    vars(crf).update(state, modelfile=file)
    saved = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)
    try:
        return pickle.dumps(crf, protocol)
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(saved)


def their_state():
    of_new_versions = ("model_filename", "keep_tempfiles")
    parameters = {k: v for k, v in CRF().get_params().items() if k not in of_new_versions}
    return {
        **parameters,
        "algorithm": "lbfgs",
        "c2": np.float64(0.1),
        "training_log_": None,
        "_tagger": None,
        "_info_cached": None,
    }


def their_file(**changed):
    return {
        "name": None, "auto": True, "keep_tempfiles": False, "suffix": ".crfsuite",
        "prefix": "model", "fd": 4, **changed,
    }  # fmt: skip


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_in_their_layout_tags_as_crfsuite_does(aliases, trained, protocol):
    data, tagger = trained
    resource = their_file(__FILE_RESOURCE_DATA__=data)
    pickled = written_by_sklearn_crfsuite(their_state(), resource, protocol)
    crf = pickle.loads(pickled)
    assert type(crf) is CRF
    assert crf.modelfile.bytes == data
    assert crf.get_params() == {**CRF().get_params(), "algorithm": "lbfgs", "c2": 0.1}
    sequences = [*X, *made_up(1)[0], []]
    assert crf.predict(sequences) == [tagger.tag(x) for x in sequences]
    for x, marginals in zip(sequences, crf.predict_marginals(sequences), strict=True):
        tagger.set(x)
        for t, row in enumerate(marginals):
            assert row == pytest.approx({k: tagger.marginal(k, t) for k in row}, abs=1e-9)
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(sequences) == crf.predict(sequences)
    assert crf.fit(X, Y).predict(X) == Y


def test_a_pickle_of_the_library_itself_tags_as_the_library_does(request):
    library = pytest.importorskip(
        "sklearn_crfsuite", reason="missing: pip install sklearn-crfsuite"
    )
    theirs = library.CRF("lbfgs", c2=0.1, max_iterations=9, keep_tempfiles=False)
    theirs.fit(X, Y, X[:3], Y[:3])
    sequences = made_up(2)[0]
    expected = [list(y) for y in theirs.predict(sequences)]
    pickled, iterations = pickle.dumps(theirs), theirs.training_log_.iterations
    request.getfixturevalue("aliases")
    crf = pickle.loads(pickled)
    assert type(crf) is CRF
    assert crf.predict(sequences) == expected
    assert crf.c2 == 0.1
    assert type(crf.training_log_) is _logparser.TrainLogParser
    assert crf.training_log_.iterations == iterations
    assert type(crf.training_log_.last_iteration["scores"]["L0"]) is _logparser.LabelScore


def test_a_pickle_of_python_2_is_read_or_refused_but_never_emptied(aliases, trained):
    data, tagger = trained
    resource = their_file(__FILE_RESOURCE_DATA__=data.decode("latin1"))
    crf = pickle.loads(written_by_sklearn_crfsuite(their_state(), resource, 2))
    assert crf.predict(X) == [tagger.tag(x) for x in X]
    in_bytes = {name.encode(): value for name, value in resource.items()}
    with pytest.raises(InputError, match="encoding='latin1'"):
        type(crf.modelfile).__new__(type(crf.modelfile)).__setstate__(in_bytes)


def test_a_pickle_that_names_a_file_reads_it_or_says_that_it_is_missing(aliases, trained, tmp_path):
    data, tagger = trained
    path = tmp_path / "model.crfsuite"
    resource = their_file(name=str(path), auto=False)
    pickled = written_by_sklearn_crfsuite(their_state(), resource, 4)
    with pytest.raises(NotFittedError, match=r"no model in .*model\.crfsuite"):
        pickle.loads(pickled).predict(X)
    path.write_bytes(data)
    assert pickle.loads(pickled).predict(X) == [tagger.tag(x) for x in X]


def test_a_damaged_model_in_a_pickle_is_refused(aliases, trained):
    resource = their_file(__FILE_RESOURCE_DATA__=trained[0][:-5])
    crf = pickle.loads(written_by_sklearn_crfsuite(their_state(), resource, 4))
    with pytest.raises(InputError, match="damaged"):
        crf.predict(X)


def test_aliases_are_the_modules_themselves_and_can_be_installed_twice():
    code = """
import pickle, sys
from dualstruct.compat import install_aliases
install_aliases(); install_aliases()
import pycrfsuite, pycrfsuite._logparser, sklearn_crfsuite._fileresource, sklearn_crfsuite.trainer
from sklearn_crfsuite import CRF, metrics, scorers, utils
from sklearn_crfsuite.estimator import CRF as Same
import dualstruct.compat.sklearn_crfsuite as ours
assert CRF is Same is ours.CRF and sklearn_crfsuite is ours and metrics is ours.metrics
assert issubclass(sklearn_crfsuite.trainer.LinePerIterationTrainer, pycrfsuite.Trainer)
assert utils.flatten([[1], [2, 3]]) == [1, 2, 3]
assert "sklearn" not in sys.modules
from sklearn.base import BaseEstimator
assert sklearn_crfsuite.compat.BaseEstimator is BaseEstimator
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_aliases_are_refused_once_the_library_was_imported():
    with pytest.raises(InputError, match=r"pycrfsuite was already imported from .*before"):
        install_aliases()
    assert sys.modules["pycrfsuite"] is pycrfsuite


def test_pickles_of_ours_from_before_name_modules_that_have_moved():
    # protocol 0 is text: what a class is called can be read and replaced
    now = pickle.dumps(_logparser.TrainLogParser(), protocol=0)
    before = now.replace(b"dualstruct.crfsuite.log", b"dualstruct.compat.log")
    assert now != before
    sys.modules.pop("dualstruct.compat.log", None)
    with pytest.warns(DeprecationWarning, match=r"compat.log is now dualstruct.crfsuite.log"):
        assert type(pickle.loads(before)) is _logparser.TrainLogParser
