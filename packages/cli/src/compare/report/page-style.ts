/** The style of the page; light or dark as the browser prefers. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #fff; --text: #1c2024; --soft: #5b6570; --line: #d9dee3; --card: #f5f7f9;
  --left: #1f6fd0; --right: #b8500f; --good: #1a7f43; --noticed: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --text: #e4e8ec; --soft: #9aa5b1; --line: #343b42; --card: #1d2226;
    --left: #6aa9f4; --right: #eb9a5c; --good: #5bc98a; --noticed: #ff8a80;
  }
}
body {
  background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
}
h1 { font-size: 1.1rem; margin: 0; color: var(--soft); } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
p { margin: .2rem 0 .6rem; }
.verdict { font-size: 1.5rem; font-weight: 600; margin: .2rem 0 1rem; color: var(--good); }
.verdict.noticed { color: var(--noticed); }
table { border-collapse: collapse; }
th { text-align: left; font-weight: 600; }
th, td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
td { font-variant-numeric: tabular-nums; }
.summary th, .counts th, .histogram th { font-weight: 400; color: var(--soft); white-space: nowrap; }
.counts td:nth-child(2), .numbers td, .numbers th + th { text-align: right; }
.sum > * { border-top: 1px solid var(--line); }
.columns { display: flex; flex-wrap: wrap; gap: 0 2rem; } .columns section { flex: 1 1 28rem; }
.histogram { margin-top: .6rem; }
.histogram td:nth-child(even) { text-align: right; padding-right: .5rem; min-width: 3rem; }
.bar { width: 7rem; } .bar i { display: block; height: .8rem; margin-top: .3rem; background: var(--left); }
.bar.right i { background: var(--right); }
summary { cursor: pointer; color: var(--soft); }
#filters { display: flex; flex-wrap: wrap; gap: .5rem; }
#filters > *, button {
  font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line);
  border-radius: .3rem; padding: .3rem .5rem;
}
#text { flex: 1 1 12rem; } #class { max-width: 22rem; }
#shown { color: var(--soft); margin-top: .6rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem 1rem; margin: .7rem 0; }
h3 { font-size: 1rem; margin: 0; } h4 { font-size: .9rem; margin: .6rem 0 0; overflow-wrap: anywhere; }
small { color: var(--soft); font-weight: 400; }
pre { margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.5rem; }
.pair pre { padding-left: .5rem; border-left: 3px solid var(--left); }
.pair pre:last-child { border-color: var(--right); }
@media (max-width: 45rem) { .pair { grid-template-columns: 1fr; } }
`;
