"""Scores of trees, written down as slowly and plainly as possible."""

from __future__ import annotations

import unicodedata

CONTENT = [
    "nsubj",
    "obj",
    "iobj",
    "csubj",
    "ccomp",
    "xcomp",
    "obl",
    "vocative",
    "expl",
    "dislocated",
    "advcl",
    "advmod",
    "discourse",
    "nmod",
    "appos",
    "nummod",
    "acl",
    "amod",
    "conj",
    "fixed",
    "flat",
    "compound",
    "list",
    "parataxis",
    "orphan",
    "goeswith",
    "reparandum",
    "root",
    "dep",
]
FUNCTION = ["aux", "cop", "mark", "det", "clf", "case", "cc"]
FEATURES = [
    "PronType",
    "NumType",
    "Poss",
    "Reflex",
    "Foreign",
    "Abbr",
    "Gender",
    "Animacy",
    "Number",
    "Case",
    "Definite",
    "Degree",
    "VerbForm",
    "Mood",
    "Tense",
    "Aspect",
    "Voice",
    "Evident",
    "Polarity",
    "Person",
    "Polite",
]


def all_words(truth, predicted):
    for a, b in zip(truth, predicted, strict=True):
        for t in range(len(a.forms)):
            yield a, b, t


def unlabelled(truth, predicted, counts=lambda a, t: True):
    scored = [(a, b, t) for a, b, t in all_words(truth, predicted) if counts(a, t)]
    right = [1 for a, b, t in scored if a.heads[t] == b.heads[t]]
    return len(right) / len(scored) if scored else 0.0


def labelled(truth, predicted, counts=lambda a, t: True, change=lambda relation: relation):
    scored = [(a, b, t) for a, b, t in all_words(truth, predicted) if counts(a, t)]
    right = 0
    for a, b, t in scored:
        if a.heads[t] == b.heads[t] and change(a.relations[t]) == change(b.relations[t]):
            right += 1
    return right / len(scored) if scored else 0.0


def not_punctuation(sentence, t):
    return any(not unicodedata.category(c).startswith("P") for c in sentence.forms[t])


def universal(relation):
    return relation.split(":")[0]


def exact(truth, predicted, with_relations):
    right = 0
    for a, b in zip(truth, predicted, strict=True):
        if a.heads == b.heads and (not with_relations or a.relations == b.relations):
            right += 1
    return right / len(truth)


def _features(cell):
    return sorted(x for x in cell.split("|") if x.split("=")[0] in FEATURES)


def _function_words(sentence, t):
    found = []
    for child in range(len(sentence.forms)):
        relation = universal(sentence.relations[child])
        if sentence.heads[child] == t + 1 and relation in FUNCTION:
            features = _features(sentence.feats[child])
            found.append((child, relation, sentence.upos[child], features))
    return found


def content_f1(truth, predicted, name):
    support = found = correct = 0
    for a, b, t in all_words(truth, predicted):
        support += universal(a.relations[t]) in CONTENT
        found += universal(b.relations[t]) in CONTENT
        if universal(a.relations[t]) not in CONTENT:
            continue
        right = a.heads[t] == b.heads[t]
        right = right and universal(a.relations[t]) == universal(b.relations[t])
        if name == "mlas":
            right = right and a.upos[t] == b.upos[t]
            right = right and _features(a.feats[t]) == _features(b.feats[t])
            right = right and _function_words(a, t) == _function_words(b, t)
        if name == "blex":
            right = right and (a.lemmas[t] == "_" or a.lemmas[t] == b.lemmas[t])
        correct += right
    return 2 * correct / (support + found) if support + found else 0.0


def distance(sentence, t):
    if sentence.heads[t] == 0:
        return "to root"
    d = abs(sentence.heads[t] - (t + 1))
    return "1" if d == 1 else "2" if d == 2 else "3-6" if d <= 6 else "7-"


def by_type(truth, predicted, kind, is_right):
    """(support, predicted, correct) of each type."""
    counts = {}
    for a, b, t in all_words(truth, predicted):
        counts.setdefault(kind(a, t), [0, 0, 0])[0] += 1
        counts.setdefault(kind(b, t), [0, 0, 0])[1] += 1
        if is_right(a, b, t):
            counts[kind(a, t)][2] += 1
    return {name: tuple(each) for name, each in counts.items()}
