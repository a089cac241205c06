"use strict";
// Searching without a server: words that say nothing are left out, endings do not matter, a slip of the finger is
// forgiven, and a place that has more of the words, in its heading rather than in its text, comes first.
(() => {
  const empty = new Set(("a about an and any are as at be by can could do does for from get has have how i if in into is it "
    + "its make me my of on or our should so than that the their them there these this to use want was way we what when "
    + "where which who why will with would you your").split(" "));
  const fields = [[0, 6], [1, 2.5], [3, 1]]; // heading, title of the page, what is said there
  // Guides before lists that code writes.
  const kinds = [["api/", 0.12], ["results/", 0.5], ["models/", 0.7], ["papers/", 0.75], ["commands/", 0.9], ["walk_", 0.5]];
  const split = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
  const stem = (word) => {
    const short = word.replace(/(?:isons?|ations?|ings?|ers?|ed|es|e|s)$/, "");
    return short.length > 3 ? short : word;
  };
  const prepare = () => {
    const places = new Map(); // word -> place -> weight of the best field that has it
    window.searchIndex.forEach((entry, place) => {
      for (const [field, weight] of fields) {
        for (const word of split(entry[field])) {
          if (!places.has(word)) places.set(word, new Map());
          const found = places.get(word);
          found.set(place, Math.max(weight, found.get(place) || 0));
        }
      }
    });
    return places;
  };
  // Whether one letter more, less, other, or two that changed places make the first word the second; two for long words.
  const apart = (first, second, most) => {
    if (Math.abs(first.length - second.length) > most) return most + 1;
    let before = [], row = [...Array(second.length + 1).keys()];
    for (let i = 1; i <= first.length; i++) {
      const next = [i];
      for (let j = 1; j <= second.length; j++) {
        const same = first[i - 1] === second[j - 1] ? 0 : 1;
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + same);
        if (i > 1 && j > 1 && first[i - 1] === second[j - 2] && first[i - 2] === second[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
      }
      [before, row] = [row, next];
    }
    return row[second.length];
  };
  const likeness = (typed, word) => {
    if (typed === word) return 1;
    if (stem(typed) === stem(word)) return 0.9;
    if (word.startsWith(typed)) return 0.5 + 0.4 * typed.length / word.length;
    if (typed.length < 4 || word.length < 4) return 0;
    const most = typed.length > 7 ? 2 : 1;
    const steps = apart(typed, word, most);
    if (steps <= most) return 0.7 - 0.2 * steps;
    return stem(typed).length > 3 && apart(stem(typed), stem(word), 1) <= 1 ? 0.35 : 0;
  };
  let places;
  window.searchSite = (typed) => {
    places = places || prepare();
    const all = split(typed);
    const telling = all.filter((word) => !empty.has(word));
    const words = [...new Set(telling.length ? telling : all)];
    const index = window.searchIndex;
    const sums = new Map();
    let whole = 0;
    for (const typedWord of words) {
      const best = new Map();
      for (const [word, found] of places) {
        const like = likeness(typedWord, word);
        if (!like) continue;
        for (const [place, weight] of found) best.set(place, Math.max(best.get(place) || 0, like * weight));
      }
      const rare = Math.log(1 + index.length / (1 + best.size));
      whole += rare;
      for (const [place, weight] of best) {
        const [sum, share] = sums.get(place) || [0, 0];
        sums.set(place, [sum + rare * weight, share + rare]);
      }
    }
    const ranked = [];
    for (const [place, [sum, share]] of sums) {
      const [heading, page, address] = index[place];
      const kind = kinds.find(([start]) => address.startsWith(start));
      // A short heading that holds the words is more to the point than a long one; a page more than a part of it.
      const short = 1 / (1 + 0.04 * split(heading).length);
      const asTyped = typed.length > 4 && heading.toLowerCase().includes(typed.toLowerCase()) ? 2 : 1;
      ranked.push([sum * (share / whole) ** 2 * (kind ? kind[1] : 1) * short * asTyped * (page ? 1 : 1.2), place]);
    }
    ranked.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    return ranked.filter(([value]) => value > 0.15 * ranked[0][0]).map(([, place]) => index[place]);
  };
})();
