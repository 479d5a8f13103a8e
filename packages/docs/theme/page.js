// Menu, light and dark, search. A classic script: browsers load no modules from `file:`.
'use strict';
const page = document.documentElement;
const byId = (id) => document.getElementById(id);
const memory = {
  get theme() {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null; // not allowed from the disk everywhere
    }
  },
  set theme(name) {
    try {
      localStorage.setItem('theme', name);
    } catch {
      // as above: then it is for this page
    }
  },
};
if (memory.theme !== null) page.dataset.theme = memory.theme;
byId('theme').addEventListener('click', () => {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = page.dataset.theme ?? (isDark ? 'dark' : 'light');
  page.dataset.theme = memory.theme = now === 'dark' ? 'light' : 'dark';
});

const menuButton = byId('menu-button');
menuButton.addEventListener('click', () => {
  const isOpen = byId('menu').classList.toggle('open');
  menuButton.setAttribute('aria-expanded', String(isOpen));
});
document.querySelector('#menu [aria-current]')?.scrollIntoView({ block: 'nearest' });

const input = byId('search');
const results = byId('results');
const MOST_RESULTS = 20;

function load(name) {
  return new Promise((done, failed) => {
    const script = document.createElement('script');
    script.src = `${page.dataset.top}/assets/${name}`;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
}

let index;
/** The index is loaded when search is used first. */
function loadIndex() {
  index ??= Promise.all([load('search.js'), load('search-index.js')]).then(() =>
    globalThis.MiniSearch.loadJS(globalThis.searchIndex, globalThis.searchOptions),
  );
  return index;
}

function rowOf({ id, title, page: name }) {
  const link = document.createElement('a');
  link.href = `${page.dataset.top}/${id}`;
  const where = document.createElement('small');
  where.textContent = name;
  link.append(title, where);
  return link;
}

async function find() {
  const text = input.value.trim();
  if (text === '') {
    results.hidden = true;
    return;
  }
  const found = (await loadIndex()).search(globalThis.queryOf(text), globalThis.queryOptions);
  if (input.value.trim() !== text) return;
  results.replaceChildren(...found.slice(0, MOST_RESULTS).map(rowOf));
  if (found.length === 0) results.textContent = 'Nothing is found.';
  results.hidden = false;
}

input.addEventListener('input', find);
input.addEventListener('focus', loadIndex);
results.addEventListener('click', () => (results.hidden = true));
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') results.hidden = true;
  if (event.key !== '/' || document.activeElement === input) return;
  event.preventDefault();
  input.focus();
});
input.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') results.querySelector('a')?.click();
});
// A link from elsewhere may bring a search: index.html?q=stale
const asked = new URLSearchParams(location.search).get('q');
if (asked !== null) {
  input.value = asked;
  void find();
}
