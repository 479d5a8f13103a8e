/** The style of the status page: light or dark as the browser prefers, one column where it is narrow. */
export const STATUS_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1b2127; --soft: #55606b; --line: #dde2e7;
  --link: #1f5fb4; --good: #17703a; --warn: #8a5300; --bad: #b3261e;
  --good-back: #e8f5ec; --warn-back: #fdf3e1; --bad-back: #fcebea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #121518; --card: #1a1e23; --text: #e3e7eb; --soft: #a0abb6; --line: #2f363d;
    --link: #82b4f5; --good: #6fd59a; --warn: #f0b45c; --bad: #ff9389;
    --good-back: #14281c; --warn-back: #2c2110; --bad-back: #331a18;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  background: var(--page); color: var(--text); margin: 0 auto; max-width: 75rem; padding: 1.5rem 1rem 3rem;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere;
}
a { color: var(--link); }
.about { color: var(--soft); margin: 0 0 .8rem; }
.about b { color: var(--text); }
.state { background: var(--card); border: 1px solid var(--line); border-left: .4rem solid; border-radius: .5rem; padding: .9rem 1.2rem; }
.state.good { border-left-color: var(--good); background: var(--good-back); }
.state.warn { border-left-color: var(--warn); background: var(--warn-back); }
.state.bad { border-left-color: var(--bad); background: var(--bad-back); }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0; }
.good h1 { color: var(--good); } .warn h1 { color: var(--warn); } .bad h1 { color: var(--bad); }
.state ul { margin: .5rem 0 0; padding-left: 1.2rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; margin: 1rem 0 0; padding: 0; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin-top: 1rem; padding: .9rem 1.2rem 1rem; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .5rem 1.5rem; margin: 0; }
dl .wide { grid-column: 1 / -1; }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem 1.2rem .3rem 0; text-align: left; vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-size: .85rem; font-weight: 500; white-space: nowrap; }
.number { text-align: right; }
.number, .short { white-space: nowrap; }
.wide { min-width: 14rem; }
.down { color: var(--bad); font-weight: 600; } .doubt { color: var(--warn); font-weight: 600; }
.more, .none, footer { color: var(--soft); }
.more, .none { margin: .5rem 0 0; }
footer { margin-top: 1.2rem; }
@media (max-width: 40rem) {
  body { padding: 1rem .7rem 2rem; }
  section, .state { padding: .8rem .9rem; }
  dl { grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .5rem 1rem; }
  th, td { padding-right: .9rem; }
}
@media print { body { background: none; } nav { display: none; } }
`;
