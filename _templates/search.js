// The search page: sections that fit, the sentence that fits best, and its words marked.
// `sections.js` has the places (PAGES), the stemmer and the words that say nothing (STOP).

const KINDS = {
  guide: { name: "Guide", boost: 1.5 },
  chapter: { name: "Chapter", boost: 1.2 },
  lab: { name: "Lab note", boost: 0.9 },
  glossary: { name: "Glossary", boost: 1.2 },
  page: { name: "Book", boost: 0.6 },
  api: { name: "API", boost: 0.3 },
};
const SHOWN = 20;
const WINDOW = 34; // words of an excerpt
const stemmer = new Stemmer();
const tokens = MiniSearch.getDefault("tokenize");
const stop = new Set(STOP);
const stem = (word) => stemmer.stemWord(word.toLowerCase());

const places = PAGES.flatMap((page, i) =>
  page.places.map(([anchor, title, prose, code], j) => ({
    ...{ id: `${i}-${j}`, page: page.page, name: page.name, kind: page.kind },
    ...{ anchor, title, prose, code },
  })),
);
const fields = ["title", "prose", "code", "name"];
const index = new MiniSearch({
  fields,
  processTerm: (word) => (stop.has(word.toLowerCase()) ? null : stem(word)),
});
index.addAll(places);
const byId = new Map(places.map((place) => [place.id, place]));

// A text without the words that say nothing.
const core = (text) =>
  tokens(text)
    .filter((word) => word && !stop.has(word.toLowerCase()))
    .map(stem)
    .join(" ");

// Pages by the names of their topics, and by these names run together: flashattention.
const joined = (text) => core(text).replaceAll(" ", "");
const topics = new Map(
  PAGES.flatMap(({ topics }, i) => topics.map((topic) => [joined(topic), `${i}-0`])),
);

// The page whose topic was asked for; a mistake in typing is one letter in six.
function pageAsked(query) {
  const asked = joined(query);
  if (topics.has(asked) || asked.length < 5) return topics.get(asked);
  const near = [...topics.keys()]
    .map((topic) => ({ topic, far: distance(topic, asked) }))
    .filter(({ topic, far }) => far <= Math.max(1, topic.length / 6));
  return topics.get(near.sort((a, b) => a.far - b.far)[0]?.topic);
}

// Letters to change, add or leave out, or neighbours to exchange (optimal string alignment).
function distance(one, other) {
  const rows = [[...other, ""].map((_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = rows[i - 1][j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1);
      row[j] = Math.min(change, rows[i - 1][j] + 1, row[j - 1] + 1);
      const crossed = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (crossed) row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
    }
    rows.push(row);
  }
  return rows[one.length][other.length];
}

// The page on the topic comes first, then what is called so, then places with every word, then
// those with some of them.
function find(query) {
  const options = {
    boost: { title: 3, name: 0.5, code: 0.4 },
    prefix: (term) => term.length > 3,
    fuzzy: (term) => (term.length > 3 ? 0.2 : false),
    weights: { prefix: 0.3, fuzzy: 0.2 },
    boostDocument: (id) => KINDS[byId.get(id).kind].boost,
  };
  const all = index.search(query, { ...options, combineWith: "AND" });
  const seen = new Set(all.map((hit) => hit.id));
  let some = index.search(query, options).filter((hit) => !seen.has(hit.id));
  if (!all.length && !some.length) some = index.search(query, { ...options, fuzzy: 0.4 });
  const asked = new Set(tokens(query).map(stem));
  const [called, page] = [core(query), pageAsked(query)];
  const begins = query.length > 3 ? query.trim().toLowerCase() : null;
  const named = ({ id }) => {
    if (id === page) return -1;
    const { title, kind } = byId.get(id);
    if (kind === "api") return 3;
    if (core(title) === called) return 0;
    if (begins === null || !title.toLowerCase().startsWith(begins)) return 3;
    return id.endsWith("-0") ? 1 : 2; // a page before its sections
  };
  const found = [...all, ...some];
  if (page && !found.some(({ id }) => id === page)) found.push({ id: page, terms: [] });
  return found
    .map((hit) => ({ hit, rank: named(hit) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ hit }) => ({
      place: byId.get(hit.id),
      // what was asked for counts more in an excerpt than what only begins like it
      terms: new Map(hit.terms.map((term) => [term, asked.has(term) ? 1 : 0.3])),
    }));
}

// Whether a piece between two spaces holds one of the words that were found.
const hits = (piece, terms) =>
  tokens(piece)
    .map(stem)
    .filter((each) => terms.has(each));

function excerpt(text, terms) {
  const pieces = text.split(" ");
  const found = pieces.map((piece) => hits(piece, terms));
  let [best, start] = [-1, 0];
  for (let i = 0; i < Math.max(1, pieces.length - WINDOW / 2); i++) {
    const distinct = [...new Set(found.slice(i, i + WINDOW).flat())];
    const worth = distinct.reduce((sum, term) => sum + terms.get(term), 0);
    if (worth > best) [best, start] = [worth, i];
  }
  start = Math.max(0, start - 4);
  const shown = document.createElement("p");
  shown.className = "search-excerpt";
  shown.append(start ? "… " : "");
  pieces.slice(start, start + WINDOW).forEach((piece, i) => {
    const words = found[start + i].length ? document.createElement("mark") : null;
    words?.append(piece);
    shown.append(words ?? piece, " ");
  });
  shown.append(start + WINDOW < pieces.length ? "…" : "");
  return { shown, best };
}

// The words of a place as they are written there: its page marks them.
function written({ title, prose, code }, terms) {
  const words = tokens(`${title} ${prose} ${code}`).filter((word) => terms.has(stem(word)));
  return [...new Set(words.map((word) => word.toLowerCase()))].slice(0, 12).join(" ");
}

function row({ place, terms }) {
  const link = document.createElement("a");
  const found = new URLSearchParams({ found: written(place, terms) });
  link.href = `${place.page}?${found}${place.anchor && `#${place.anchor}`}`;
  link.textContent = place.title || place.name;
  const where = document.createElement("p");
  where.className = "search-where";
  where.textContent = place.name.startsWith(KINDS[place.kind].name)
    ? place.name
    : `${KINDS[place.kind].name} · ${place.name}`;
  const prose = excerpt(place.prose, terms);
  const code = excerpt(place.code, terms);
  const item = document.createElement("li");
  item.append(link, where, (code.best > prose.best ? code : prose).shown);
  return item;
}

function show(query) {
  const results = document.getElementById("search-results");
  const said = document.getElementById("search-said");
  results.replaceChildren();
  said.textContent = "";
  if (!query.trim()) return;
  const found = find(query);
  const list = document.createElement("ul");
  list.className = "search";
  list.append(...found.slice(0, SHOWN).map(row));
  if (found.length > SHOWN) {
    const more = document.createElement("button");
    more.type = "button";
    more.className = "search-more";
    more.textContent = `Show ${found.length - SHOWN} more`;
    more.addEventListener("click", () => {
      list.append(...found.slice(SHOWN).map(row));
      list.children[SHOWN].querySelector("a").focus();
      more.remove();
    });
    results.append(list, more);
  } else results.append(list);
  const count = found.length === 1 ? "1 place" : `${found.length} places`;
  said.textContent = found.length
    ? `${count}, the best first`
    : "Nothing found. Try one word of it, or a word of the error text.";
}

const form = document.getElementById("search-form");
const field = form.elements.namedItem("q");
const update = () => {
  const address = new URL(location.href);
  address.searchParams.set("q", field.value);
  history.replaceState(null, "", address);
  show(field.value);
};
let waiting = 0;
field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(update, 150);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  update();
});
field.value = new URLSearchParams(location.search).get("q") ?? "";
show(field.value);
field.focus();
