"""CoNLL-2018's scores of raw text, character by character, as slowly and plainly as possible.

Sentences are lists of tokens, tokens are (form, words), words are dicts.
"""

from __future__ import annotations

from itertools import combinations

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


def covered(words):
    """Stretches of characters that multiword tokens cover."""
    found = sorted({word["span"] for word in words if word["several"]})
    while True:
        for a, b in combinations(found, 2):
            if a[0] < b[1] and b[0] < a[1]:
                found = [each for each in found if each not in (a, b)]
                found.append((min(a[0], b[0]), max(a[1], b[1])))
                break
        else:
            return sorted(found)


def aligned(true, predicted):
    stretches = covered([*true, *predicted])

    def touches(word):
        begin, end = word["span"]
        return any(begin < b and a < end for a, b in stretches)

    def inside(words, stretch):
        return [
            k
            for k, word in enumerate(words)
            if stretch[0] <= word["span"][0] and word["span"][1] <= stretch[1]
        ]

    pairs = [
        (i, j)
        for i, a in enumerate(true)
        for j, b in enumerate(predicted)
        if a["span"] == b["span"] and not touches(a) and not touches(b)
    ]
    for stretch in stretches:
        pairs += longest(true, inside(true, stretch), predicted, inside(predicted, stretch))
    return pairs


def longest(true, ours, predicted, theirs):
    if not ours or not theirs:
        return []
    same = true[ours[0]]["form"].lower() == predicted[theirs[0]]["form"].lower()
    if same:
        return [(ours[0], theirs[0]), *longest(true, ours[1:], predicted, theirs[1:])]
    without_mine = longest(true, ours[1:], predicted, theirs)
    without_theirs = longest(true, ours, predicted, theirs[1:])
    return without_mine if len(without_mine) >= len(without_theirs) else without_theirs


def features(cell):
    return sorted(x for x in cell.split("|") if x.split("=")[0] in FEATURES)


def scores(true_sentences, predicted_sentences):
    """(true, predicted, correct) of each score."""
    tokens, wholes, true = spans(true_sentences)
    their_tokens, their_wholes, predicted = spans(predicted_sentences)
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
