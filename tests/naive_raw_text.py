"""CoNLL-2018's scores of raw text, character by character, as slowly and plainly as possible.

Sentences are lists of tokens, tokens are (form, words), words are dicts.
"""

from __future__ import annotations

from naive_tree_metrics import CONTENT, FEATURES, FUNCTION, universal


def spans(sentences):
    """Spans of tokens and sentences, and of each word with whether it is in a multiword token."""
    tokens, wholes, words = [], [], []
    place = 0
    for sentence in sentences:
        begin, first = place, len(words)
        for form, parts in sentence:
            span = (place, place + len(form))
            place += len(form)
            tokens.append(span)
            for part in parts:
                words.append(dict(part, span=span, several=len(parts) > 1, first=first))
        wholes.append((begin, place))
    for word in words:
        word["parent"] = None if word["head"] == 0 else word["first"] + word["head"] - 1
    return tokens, wholes, words


def aligned(true, predicted):
    """As the script of CoNLL-2018 goes through both files, written as rules about what is left."""
    if not true or not predicted:
        return []
    (a, *rest), (b, *their_rest) = true, predicted
    if a["several"] or b["several"]:
        end = a["span"][1] if a["several"] else b["span"][1]
        if a["several"] and not b["several"] and b["span"][0] < a["span"][0]:
            predicted = their_rest
        elif not a["several"] and a["span"][0] < b["span"][0]:
            true = rest
        ours, theirs = stretch(true, predicted, end)
        return longest(ours, theirs) + aligned(true[len(ours) :], predicted[len(theirs) :])
    if a["span"] == b["span"]:
        return [(a["number"], b["number"]), *aligned(rest, their_rest)]
    return aligned(rest, predicted) if a["span"][0] <= b["span"][0] else aligned(true, their_rest)


def stretch(true, predicted, end):
    """The words of both files up to an end that moves with every multiword token on the way."""

    def inside(word):
        return word["span"][0] < end if word["several"] else word["span"][1] <= end

    ours, theirs = [], []
    while any(inside(words[0]) for words in (true, predicted) if words):
        mine = not predicted or (true and true[0]["span"][0] <= predicted[0]["span"][0])
        word = (true if mine else predicted)[0]
        (ours if mine else theirs).append(word)
        true, predicted = (true[1:], predicted) if mine else (true, predicted[1:])
        if word["several"]:
            end = max(end, word["span"][1])
    return ours, theirs


def longest(ours, theirs):
    if not ours or not theirs:
        return []
    if ours[0]["form"].lower() == theirs[0]["form"].lower():
        return [(ours[0]["number"], theirs[0]["number"]), *longest(ours[1:], theirs[1:])]
    without_mine, without_theirs = longest(ours[1:], theirs), longest(ours, theirs[1:])
    return without_mine if len(without_mine) >= len(without_theirs) else without_theirs


def features(cell):
    return sorted(x for x in cell.split("|") if x.split("=")[0] in FEATURES)


def scores(true_sentences, predicted_sentences):
    """(true, predicted, correct) of each score."""
    tokens, wholes, true = spans(true_sentences)
    their_tokens, their_wholes, predicted = spans(predicted_sentences)
    for words in (true, predicted):
        for number, word in enumerate(words):
            word["number"] = number
    pairs = aligned(true, predicted)

    def true_number(j):
        found = [i for i, other in pairs if other == j]
        return found[0] if found else "none"

    def arc(words, k, number):
        head = words[k]["parent"]
        return None if head is None else number(head)

    def function_words(words, k, number):
        return [
            (number(c), universal(w["relation"]), w["upos"], features(w["feats"]))
            for c, w in enumerate(words)
            if w["parent"] == k and universal(w["relation"]) in FUNCTION
        ]

    def right(name, i, j):
        a, b = true[i], predicted[j]
        head = arc(true, i, lambda k: k) == arc(predicted, j, true_number)
        labelled = head and universal(a["relation"]) == universal(b["relation"])
        lemma = a["lemma"] == "_" or a["lemma"] == b["lemma"]
        feats = features(a["feats"]) == features(b["feats"])
        mine = function_words(true, i, lambda k: k)
        grammar = mine == function_words(predicted, j, true_number)
        return {
            "Words": True,
            "UPOS": a["upos"] == b["upos"],
            "XPOS": a["xpos"] == b["xpos"],
            "UFeats": feats,
            "AllTags": a["upos"] == b["upos"] and a["xpos"] == b["xpos"] and feats,
            "Lemmas": lemma,
            "UAS": head,
            "LAS": labelled,
            "CLAS": labelled,
            "MLAS": labelled and a["upos"] == b["upos"] and feats and grammar,
            "BLEX": labelled and lemma,
        }[name]

    found = {
        "Tokens": (len(tokens), len(their_tokens), len(set(tokens) & set(their_tokens))),
        "Sentences": (len(wholes), len(their_wholes), len(set(wholes) & set(their_wholes))),
    }
    for name in ["Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS"]:
        correct = sum(right(name, i, j) for i, j in pairs)
        found[name] = (len(true), len(predicted), correct)

    def content(word):
        return universal(word["relation"]) in CONTENT

    for name in ["CLAS", "MLAS", "BLEX"]:
        correct = sum(right(name, i, j) for i, j in pairs if content(true[i]))
        found[name] = (sum(map(content, true)), sum(map(content, predicted)), correct)
    return found
