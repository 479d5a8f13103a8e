/** The style of the page; light or dark as the browser prefers. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: #8884; --left: #2a78d6; --right: #c2571a; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; }
th { text-align: left; font-weight: 600; }
th, td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
td { font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-top: .5rem; }
.histograms { display: flex; flex-wrap: wrap; gap: 1rem 3rem; }
.bar { width: 14rem; } .bar i { display: block; height: .8rem; margin-top: .3rem; background: var(--left); }
.histograms table + table .bar i { background: var(--right); }
#filters { display: flex; flex-wrap: wrap; gap: .5rem; }
#filters > * { font: inherit; padding: .3rem .5rem; } #text { flex: 1 1 16rem; }
article { border-top: 1px solid var(--line); padding: .6rem 0; }
article h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
article small { opacity: .75; }
article pre { margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.5rem; }
.pair pre:first-child { border-left: 3px solid var(--left); padding-left: .5rem; }
.pair pre:last-child { border-left: 3px solid var(--right); padding-left: .5rem; }
@media (max-width: 45rem) { .pair { grid-template-columns: 1fr; } }
`;
