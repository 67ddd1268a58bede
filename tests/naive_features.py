"""Slow and obvious re-implementations of everything from text to features."""

from __future__ import annotations

import itertools
from collections import Counter


def lower(word):
    return "".join(c.lower()[0] for c in word)


def digits(word):
    return "".join("0" if c.isdecimal() else c for c in word)


def is_upper(c):
    return c.isupper() or c.istitle()


def shape(word):
    def of(c):
        return "X" if is_upper(c) else "x" if c.islower() else "d" if c.isdecimal() else c

    return "".join(map(of, word))


def shortshape(word):
    return "".join(c for c, _ in itertools.groupby(shape(word)))


def kind(word):
    cased = [c for c in word if is_upper(c) or c.islower()]
    upper = [c for c in cased if is_upper(c)]
    has_letter = any(c.isalpha() for c in word)
    has_digit = any(c.isdecimal() for c in word)
    if cased and len(upper) == len(cased):
        result = "upper"
    elif cased and not upper:
        result = "lower"
    elif len(upper) == 1 and is_upper(cased[0]):
        result = "title"
    elif cased:
        result = "mixed"
    else:
        result = "letter" if has_letter else "number" if has_digit else "symbol"
    if has_digit and (has_letter or cased):
        result += ",digit"
    if "-" in word:
        result += ",hyphen"
    return result


def prefix(word, length):
    return word[:length] if len(word) > length else None


def suffix(word, length):
    return word[-length:] if len(word) > length else None


def cluster(word, length, paths):
    path = paths.get(word)
    return None if path is None else path[:length] if length else path


def marks(words, phrases):
    """B and I on the longest phrases, from left to right; None elsewhere."""
    return exact_marks([lower(w) for w in words], [lower(phrase) for phrase in phrases])


def exact_marks(words, phrases):
    """The same where case matters."""
    phrases = {tuple(phrase.split()) for phrase in phrases} - {()}
    longest = max(map(len, phrases), default=0)
    result = [None] * len(words)
    at = 0
    while at < len(words):
        for length in range(min(longest, len(words) - at), 0, -1):
            if tuple(words[at : at + length]) in phrases:
                result[at : at + length] = ["B"] + ["I"] * (length - 1)
                at += length
                break
        else:
            at += 1
    return result


def labels_of(value, tokens):
    """The labels of a value among (value, label) pairs, the most frequent first."""
    counts = Counter(label for other, label in tokens if other == value and label is not None)
    total = sum(counts.values())
    enough = [(-n, label) for label, n in counts.items() if n >= 0.05 * total]
    return "|".join(label for _, label in sorted(enough)[:3]) or "<none>"


def labels_in_training(values, labels, blocks=10):
    """For each token of each sentence the labels that its value had outside its own block."""
    block = [i * blocks // len(values) for i in range(len(values))]
    rows = []
    for i, sentence in enumerate(values):
        others = [
            pair
            for j in range(len(values))
            if block[j] != block[i]
            for pair in zip(values[j], labels[j], strict=True)
        ]
        rows.append([labels_of(value, others) for value in sentence])
    return rows


def known(value, all_values, least):
    """The value if it is there often enough."""
    return value if all_values.count(value) >= least else "<rare>"


def term_value(term, sentence, at, paths, gazetteers):
    """The value of a term at a token, None if it has none; tokens are tuples."""
    position = at + term.offset
    if term.gazetteer is not None:
        column = [token[term.column] for token in sentence]
        inside = 0 <= position < len(sentence)
        phrases = gazetteers[term.gazetteer]
        if term.part:
            phrases = [word for phrase in phrases for word in phrase.split()]
        return marks(column, phrases)[position] if inside else None
    if position < 0:
        return f"<s{-position}>"
    if position >= len(sentence):
        return f"</s{position - len(sentence) + 1}>"
    value = sentence[position][term.column]
    for name, length in term.functions:
        if name == "cluster":
            value = cluster(value, length, paths)
        elif name in ("prefix", "suffix"):
            value = globals()[name](value, length)
        else:
            value = globals()[name](value)
        if value is None:
            return None
    return value


def token_features(templates, sentence, at, paths=(), gazetteers=()):
    """The names of a token's features, in the order of the templates."""
    names = []
    for template in templates.templates:
        values = [term_value(t, sentence, at, dict(paths), gazetteers) for t in template.terms]
        if not template.terms:
            names.append("bias")
        elif None not in values:
            pairs = zip(template.terms, values, strict=True)
            names.append(" & ".join(f"{term}={value}" for term, value in pairs))
    return names


def all_features(templates, sentences, paths=(), gazetteers=()):
    """One list of names for each token of all sentences."""
    rows = []
    for sentence in sentences:
        tuples = [(token,) if isinstance(token, str) else token for token in sentence]
        for at in range(len(tuples)):
            rows.append(token_features(templates, tuples, at, paths, gazetteers))
    return rows


def keep_frequent(rows, min_count):
    counts = Counter(name for row in rows for name in row)
    return [[name for name in row if counts[name] >= min_count] for row in rows]


def attributes(token):
    """(name, weight) of what a token says about itself; weights of 0 are left out."""

    def walk(value, name):
        def longer(more):
            return more if name is None else f"{name}:{more}"

        if isinstance(value, str):
            yield longer(value), 1.0
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from walk(inner, longer(key))
        elif isinstance(value, set | frozenset):
            for item in sorted(value):
                yield longer(item), 1.0
        elif isinstance(value, list | tuple):
            for item in value:
                yield longer(item), 1.0
        elif value != 0:
            yield name, float(value)

    return list(walk(token, None))


def cells_of(line, separator):
    """A blank separator stands for any run of blanks and tabs."""
    blanks = line.replace("\t", " ").split(" ")
    return tuple(c for c in blanks if c) if separator == " " else tuple(line.split(separator))


def read_columns(text, separator):
    """Sentences of tuples, without comments and other lines that are no tokens."""
    return [tokens for _, tokens in column_sentences(text, separator) if tokens]


def column_sentences(text, separator):
    """The lines before each sentence that are no tokens, blank ones among them, and its tokens.

    Without a token behind them, the last lines come with none.
    """
    blocks = [[]]
    for line in text.removeprefix("\ufeff").split("\n"):
        line = line.removesuffix("\r")
        blocks += [[]] if not line.strip(" \t") else []
        blocks[-1].append(line)

    def may_be_comment(line):
        return line.startswith("# ")

    def begins_document(line):
        return line.split("\t")[0].split(" ")[0] == "-DOCSTART-"

    # Which sentences begin with what may be a comment, and how many cells a token has.
    begun, width, waiting = [], None, False
    for block in blocks:
        lines = [line for line in block if line.strip(" \t")]
        while lines and (may_be_comment(lines[0]) or begins_document(lines[0])):
            waiting = waiting or may_be_comment(lines[0])
            lines = lines[1:]
        if lines:
            width = width or len(cells_of(lines[0], separator))
            begun.append(waiting)
            waiting = False
    all_comments = len(begun) > 1 and all(begun)

    sentences, before, tokens = [], [], []
    for line in [line for block in blocks for line in block]:
        if not line.strip(" \t"):
            if tokens:
                sentences.append((before, tokens))
                before, tokens = [], []
            elif before:
                before.append(line)
        elif not tokens and (
            begins_document(line)
            or (may_be_comment(line) and (all_comments or len(cells_of(line, separator)) != width))
        ):
            before.append(line)
        else:
            tokens.append(cells_of(line, separator))
    return [*sentences, (before, tokens)] if before or tokens else sentences
