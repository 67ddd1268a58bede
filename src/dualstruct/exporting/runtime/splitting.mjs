// From text to tokens and sentences by rules (core/text/tokenizer.cpp, sentence_ends.cpp). Places are code points here,
// and places in JavaScript's strings (UTF-16) in what is given back. Lists of words come with the model.

import { codes } from "./words.mjs";

const GAP = 1, LETTER = 2, DIGIT = 3, SINGLE = 4, MARK = 5, TONE = 6, SYMBOL = 7;
const among = (c, ranges) => ranges.some(([first, last]) => c >= first && c <= last);
const code = (text) => text.codePointAt(0);

export class Splitter {
  constructor(settings, rules, chars) {
    const sets = (names, make) => Object.fromEntries(names.map((name) => [name, new Set(make(rules[name]))]));
    Object.assign(this, { settings, chars, classes: new Uint8Array(0x110000) });
    Object.assign(this, sets(["titles", "abbreviations", "numbers", "starters"], (list) => list));
    Object.assign(this, sets(["closers", "fullStops", "stops", "lineEnds"], codes));
    this.ranges = { unseen: rules.unseen, singles: rules.singles };
    for (const word of [...rules.titles, ...settings.abbreviations]) {
      const small = this.smallWord(codes(word)).replace(/\.$/, "");
      if (small) this.abbreviations.add(small);
    }
  }
  smallWord(list) {
    return list.reduce((text, c) => text + String.fromCodePoint(this.chars.toLower(c)), "");
  }
  classOf(c) {
    return this.classes[c] || (this.classes[c] = this.findClass(c));
  }
  findClass(c) {
    if (this.chars.isSpace(c) || among(c, this.ranges.unseen)) return GAP;
    if (this.chars.isDigit(c)) return DIGIT;
    if (this.chars.isLetter(c)) return among(c, this.ranges.singles) ? SINGLE : LETTER;
    if (c === 0x5f) return LETTER;
    if (this.chars.isMark(c) || c === 0xad || c === 0x200c || c === 0x200d) return MARK;
    return (c >= 0x1f3fb && c <= 0x1f3ff) || (c >= 0xe0020 && c <= 0xe007f) ? TONE : SYMBOL;
  }

  // Sentences of tokens { word, start, end }.
  split(text) {
    const all = codes(text), rules = new Rules(this, all), places = [], units = new Array(all.length + 1);
    if (all.includes(0)) throw new Error(`character ${all.indexOf(0) + 1} is NUL, which no text has`);
    for (let i = 0, unit = 0; i <= all.length; unit += all[i++] > 0xffff ? 2 : 1) units[i] = unit;
    for (let at = 0; at < all.length; ) {
      if (this.settings.words === "blanks") {
        const begin = at;
        while (at < all.length && !this.chars.isSpace(all[at])) at++;
        if (at > begin) places.push([begin, at]);
        at++;
      } else if (rules.of(at) === GAP) {
        at++;
      } else {
        at = rules.add(at, places);
      }
    }
    const found = [];
    let first = 0;
    for (let k = 0; k < places.length; k++) {
      if (k + 1 < places.length && !rules.endsSentence(places, first, k)) continue;
      found.push(places.slice(first, k + 1).map(([a, b]) => {
        const [start, end] = [units[a], units[b]];
        return { word: text.slice(start, end), start, end };
      }));
      first = k + 1;
    }
    return found;
  }
}

// The rules for one text. A place outside of it has the character 0 and is a gap.
class Rules {
  constructor(splitter, text) {
    Object.assign(this, { s: splitter, text, chars: splitter.chars, settings: splitter.settings });
    this.classes = text.map((c) => splitter.classOf(c));
  }
  of(i) { return i < this.classes.length ? this.classes[i] : GAP; }
  at(i) { return this.text[i] ?? 0; }
  is(i, c) { return this.at(i) === code(c); }
  oneOf(i, some) { return this.at(i) !== 0 && some.includes(String.fromCodePoint(this.at(i))); }
  inWord(i) { return this.of(i) === LETTER || this.of(i) === DIGIT; }
  isUpper(i) { return this.chars.isUpper(this.at(i)); }
  small(begin, end) { return this.s.smallWord(this.text.slice(begin, end)); }
  reads(at, wanted) { return this.small(at, at + wanted.length) === wanted; }

  add(begin, places) {
    let end = this.behindUrl(begin);
    if (end === begin && this.inWord(begin)) {
      end = this.behindAddress(begin);
      if (end === begin) {
        end = this.behindWord(begin);
        const second = this.settings.contractions === "split" ? this.contraction(begin, end) : end;
        if (second !== end) {
          places.push([begin, second]);
          begin = second;
        } else {
          end = this.behindPeriod(begin, end);
        }
      }
    } else if (end === begin) {
      end = this.behindTag(begin);
      if (end === begin) end = this.of(begin) === SINGLE ? this.behindMarks(begin + 1) : this.behindSymbol(begin);
    }
    places.push([begin, end]);
    return end;
  }

  behindMarks(place) {
    while (this.of(place) === MARK) place++;
    return place;
  }

  behindUrl(begin) {
    if (!this.oneOf(begin, "hHfFwW") || (begin > 0 && this.inWord(begin - 1))) return begin;
    const starts = ["http://", "https://", "ftp://", "www."];
    if (!starts.some((s) => this.reads(begin, s) && this.inWord(begin + s.length))) return begin;
    const openers = codes("([{"), closers = codes(")]}"), opened = [0, 0, 0];
    let end = begin;
    while (this.of(end) !== GAP && this.of(end) !== SINGLE && !this.oneOf(end, '<>"“”„«»')) {
      const opener = openers.indexOf(this.at(end)), closer = closers.indexOf(this.at(end));
      if (opener >= 0) opened[opener]++;
      if (closer >= 0) opened[closer]--;
      end++;
    }
    for (; ; end--) {
      const closer = closers.indexOf(this.at(end - 1));
      if (closer >= 0 && opened[closer] < 0) opened[closer]++;
      else if (!this.oneOf(end - 1, ".,;:!?'’*~…")) return end;
    }
  }

  behindAddress(begin) {
    let place = begin;
    while (this.inWord(place) || this.oneOf(place, ".%+-")) if (++place - begin > 64) return begin;
    if (!this.is(place, "@")) return begin;
    const domain = ++place;
    let parts = 0;
    while (this.inWord(place)) {
      while (this.inWord(place) || (this.is(place, "-") && this.inWord(place + 1))) {
        if (++place - domain > 255) return begin;
      }
      parts++;
      if (!this.is(place, ".") || !this.inWord(place + 1)) break;
      place++;
    }
    return parts > 1 ? place : begin;
  }

  behindWord(begin) {
    for (let place = begin, last = begin; ; place++) {
      if (this.inWord(place)) last = place;
      else if (this.of(place) !== MARK && !(this.inWord(place + 1) && this.joins(last, place))) return place;
    }
  }

  // Whether a sign between two characters of words makes them one word.
  joins(before, place) {
    const after = place + 1, same = this.of(before) === this.of(after), digits = same && this.of(after) === DIGIT;
    if (this.oneOf(place, "'’")) return same;
    if (this.is(place, ".")) return !this.isUpper(after) || this.isUpper(before);
    if (this.oneOf(place, ",:/")) return digits;
    if (this.oneOf(place, "-‐‑")) return digits || this.settings.hyphens !== "split";
    return this.is(place, "&") && this.isUpper(before) && this.isUpper(after);
  }

  contraction(begin, end) {
    const size = end - begin;
    for (const ending of ["s", "m", "d", "re", "ve", "ll"]) {
      const at = end - ending.length - 1;
      if (at > begin && this.oneOf(at, "'’") && this.reads(at + 1, ending)) return at;
    }
    const negated = size > 3 && this.reads(end - 3, "n") && this.oneOf(end - 2, "'’") && this.reads(end - 1, "t");
    return negated ? end - 3 : end;
  }

  behindPeriod(begin, end) {
    if (!this.is(end, ".") || this.is(end + 1, ".")) return end;
    const word = this.small(begin, Math.min(end, begin + 21));
    let belongs = this.s.abbreviations.has(word) || this.isAcronym(begin, end);
    let next = end + 1;
    while (next < this.text.length && this.of(next) === GAP && !this.s.lineEnds.has(this.at(next))) next++;
    if (next > end + 1) {
      belongs ||= this.s.numbers.has(word) && this.of(next) === DIGIT;
      belongs ||= end === begin + 1 && this.isUpper(begin) && this.isUpper(next);
    }
    return belongs ? end + 1 : end;
  }

  isAcronym(begin, end) {
    const size = end - begin;
    if (size < 3 || size % 2 === 0 || size > 20) return false;
    for (let i = begin; i < end; i++) {
      if ((i - begin) % 2 === 0 ? this.of(i) !== LETTER : !this.is(i, ".")) return false;
    }
    return true;
  }

  behindTag(begin) {
    if (!this.oneOf(begin, "@#") || this.of(begin + 1) !== LETTER || (begin > 0 && this.inWord(begin - 1))) return begin;
    let end = begin + 1;
    while (this.inWord(end) || this.of(end) === MARK) end++;
    return end;
  }

  behindSymbol(begin) {
    const isFlag = (i) => this.at(i) >= 0x1f1e6 && this.at(i) <= 0x1f1ff;
    let end = begin + 1;
    if (isFlag(begin) && isFlag(end)) end++;
    if (this.oneOf(begin, ".!?-*=~+")) while (this.at(end) === this.at(begin)) end++;
    for (; ; end++) {
      const next = this.of(end), joined = this.at(end - 1) === 0x200d && next === SYMBOL;
      if (next !== MARK && next !== TONE && !joined) return end;
    }
  }

  lines(begin, end) {
    let found = 0;
    for (let i = begin; i < end; i++) {
      if (!this.s.lineEnds.has(this.at(i)) || (this.is(i, "\r") && this.is(i + 1, "\n"))) continue;
      found += this.oneOf(i, "\f\u2029") ? 2 : 1;
    }
    return found;
  }

  endsSentence(places, first, k) {
    const { closers, fullStops, stops, titles, starters } = this.s, rule = this.settings.sentences;
    if (rule === "whole") return false;
    const [begin, end] = places[k], [next, nextEnd] = places[k + 1], lines = this.lines(end, next);
    if (rule === "lines") return lines > 0;
    if (lines > 1) return true;
    const apart = end < next;
    if (!apart && closers.has(this.at(next))) return false;
    let last = k;
    while (last > first && closers.has(this.at(places[last][0])) && places[last - 1][1] === places[last][0]) last--;
    if (fullStops.has(this.at(places[last][0]))) return true;
    if (!apart || this.chars.isLower(this.at(next))) return false;
    if (lines > 0 || stops.has(this.at(places[last][0]))) return true;
    if (!this.is(end - 1, ".") || !this.inWord(begin)) return false;
    const word = (a, b) => (b - a > 21 ? "" : this.small(a, b));
    const starts = this.isUpper(next) && starters.has(word(next, nextEnd));
    return starts && !titles.has(word(begin, end).slice(0, -1));
  }
}
