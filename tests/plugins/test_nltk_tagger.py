"""A tagger of ours as one of NLTK's, by the real library."""

from __future__ import annotations

import pytest

from dualstruct.datasets import load_english

nltk = pytest.importorskip("nltk", reason="NLTK is not installed: pip install dualstruct[nltk]")


def test_it_is_trained_and_judged_as_nltk_has_it(tmp_path):
    from nltk.tag.api import TaggerI

    from dualstruct.plugins.nltk_tagger import NLTKTagger

    tagged = [list(zip(s.forms, s.upos, strict=True)) for s in load_english("train")[:150]]
    tagger = NLTKTagger.train(tagged, features="pos", passes=3)
    assert isinstance(tagger, TaggerI)
    assert tagger.accuracy(tagged) > 0.95
    assert tagger.tag(["a", "dog"])[0] == ("a", "DET")
    assert tagger.tag([]) == []
    assert tagger.tag_sents([["a"], [], ["the"]]) == [[("a", "DET")], [], [("the", "DET")]]
    tagger._tagger.save(tmp_path / "m")
    assert NLTKTagger.load(tmp_path / "m").tag(["a", "dog"]) == tagger.tag(["a", "dog"])
