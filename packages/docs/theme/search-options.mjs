// How the index is made, and how it is read and asked in the browser. The page gets the source of these functions, as
// browsers load no modules from `file:`: each stands alone.

/** Words as they are indexed: `stubDomains` also as `stub` and `domains`, as people search for both. */
export function indexedTerms(term) {
  const parts = term.split(/(?<=[a-z0-9])(?=[A-Z])/);
  return (parts.length === 1 ? [term] : [term, ...parts]).map((each) => each.toLowerCase());
}

/** What is looked for: all words, each of them as it is or in its parts. */
export function queryOf(text) {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const queries = words.map((word) => {
    const parts = word.split(/(?<=[a-z0-9])(?=[A-Z])/);
    return parts.length === 1 ? word : { combineWith: 'OR', queries: [word, parts.join(' ')] };
  });
  return { combineWith: 'AND', queries };
}

/** A mistyped letter is forgiven in a longer word. */
function fuzziness(term) {
  return term.length > 5 ? 0.15 : false;
}

/** Of documents that name everything, and explain little of it. */
function weightOf(url) {
  return /^(?:CHANGELOG|ARCHITECTURE|SECURITY|CONTRIBUTING)\.html/.test(url) ? 0.5 : 1;
}

/** `keys` are the names in the first column of tables: of flags, keys, metrics, codes. */
export const SEARCH_OPTIONS = {
  idField: 'url',
  fields: ['title', 'keys', 'page', 'text'],
  storeFields: ['title', 'page'],
  processTerm: indexedTerms,
};

/** Of a search; a word that is a heading, or the key of a table, counts more than one in a text. */
export const QUERY_OPTIONS = {
  processTerm: (term) => term.toLowerCase(),
  prefix: true,
  fuzzy: fuzziness,
  combineWith: 'AND',
  boost: { title: 6, keys: 6, page: 2 },
  boostDocument: weightOf,
};

const sourceOf = (options) => {
  const fields = Object.entries(options).map(
    ([name, value]) =>
      `${name}: ${typeof value === 'function' ? value.toString() : JSON.stringify(value)}`,
  );
  return `{ ${fields.join(', ')} }`;
};

/** The script that gives a page the same options. */
export function optionsScript() {
  return `globalThis.searchOptions = ${sourceOf(SEARCH_OPTIONS)};
globalThis.queryOptions = ${sourceOf(QUERY_OPTIONS)};
globalThis.queryOf = ${queryOf.toString()};
`;
}
