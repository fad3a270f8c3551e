// What all pages of the documentation share: the list of pages beside them, the field to search in, and their style. The
// pages work without scripts and without other files.

import { BRAND, type Html, html, page } from '../serving/page.ts';
import { MAX_QUERY } from './guide-search.ts';

export interface Framed {
  title: string;
  contents: Html;
  main: Html;
  /** Stands beside the name of the program. */
  version?: string;
  /** What was searched for. */
  query?: string;
  style?: string;
}

export function docsFrame({ title, contents, main, version, query = '', style = '' }: Framed): Response {
  return page({
    title: `${title} · Toolgate`,
    style: STYLE + style,
    body: html`<div class="docs">
<header class="side">
<p class="name"><a class="home" href="/docs">${BRAND}</a> <span class="soft small">${version ?? ''}</span></p>
<form role="search" action="/docs">
<input type="search" name="q" value="${query}" maxlength="${MAX_QUERY}" required placeholder="Search" aria-label="Search the documentation">
<button>Search</button>
</form>
<details class="folded"><summary>Contents</summary>${contents}</details>
<div class="unfolded">${contents}</div>
</header>
<main>
${main}
</main>
</div>`,
  });
}

const STYLE = `
html { scroll-padding-top: 1rem; }
.docs { min-height: 100vh; }
.side { padding: 1.25rem; background: var(--sheet); border-bottom: 1px solid var(--line); }
.side ul { list-style: none; }
.side li a, .side .tag { display: block; padding: 0.2rem 0; font-size: 0.9rem; color: var(--soft); text-decoration: none; }
.side li a:hover { color: var(--accent); text-decoration: underline; }
.side li .tag { margin-top: 0.7rem; color: var(--ink); font-weight: 600; }
.side li a[aria-current] { color: var(--accent); font-weight: 600; }
.side .within { margin: 0.1rem 0 0.4rem 0.1rem; padding-left: 0.7rem; border-left: 2px solid var(--line); }
.side form { display: flex; gap: 0.5rem; margin-top: 1rem; }
.side input { min-height: 2.4rem; min-width: 0; padding: 0.3rem 0.6rem; }
.side button { min-height: 2.4rem; padding: 0.3rem 0.7rem; font-size: 0.9rem; }
.name { display: flex; align-items: center; gap: 0.5rem; }
.home { color: var(--ink); text-decoration: none; }
.folded { margin-top: 0.75rem; }
.folded summary { padding: 0.4rem 0; font-weight: 600; }
.unfolded { display: none; }
.docs main { padding: 1.5rem 1.25rem 4rem; min-width: 0; }
h1 { font-size: 1.9rem; }
h2 { font-size: 1.4rem; letter-spacing: -0.01em; padding-top: 0.75rem; }
h3 { font-size: 1.1rem; line-height: 1.35; }
h4 { font-size: 0.9rem; color: var(--soft); font-weight: 600; margin-top: 0.6rem; }
p code, li code, td code, th code, summary code { background: var(--tint); padding: 0.08em 0.3em; border-radius: 4px; }
pre { padding: 0.9rem 1rem; border-radius: 9px; background: var(--ground); border: 1px solid var(--line); font-size: 0.875rem; line-height: 1.6; }
.guide { display: grid; gap: 1rem; max-width: 52rem; }
.guide > * { min-width: 0; }
.guide h2 { margin-top: 1rem; }
.guide ul, .guide ol { margin: 0; padding-left: 1.3rem; }
.guide li + li { margin-top: 0.35rem; }
.guide li > p + p, .guide li > ul { margin-top: 0.35rem; }
.guide pre { background: var(--sheet); overflow-x: auto; }
.guide pre code { overflow-wrap: normal; font-size: 1em; }
.guide .scroll { overflow-x: auto; }
.guide table { border-collapse: collapse; font-size: 0.92rem; }
.guide th, .guide td { padding: 0.45rem 0.75rem; text-align: left; vertical-align: top; border: 1px solid var(--line); }
.guide thead th { background: var(--tint); font-weight: 600; }
.guide .figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.guide td code { overflow-wrap: normal; }
.guide img { max-width: 100%; height: auto; border-radius: 9px; }
.guide .elsewhere { text-decoration: underline dotted; text-underline-offset: 0.2em; }
.found p { overflow-wrap: anywhere; }
mark { background: var(--tint); color: inherit; font-weight: 600; }
@media (min-width: 60rem) {
  .docs { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); }
  .side { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.75rem 1.5rem; border-width: 0 1px 0 0; }
  .folded { display: none; }
  .unfolded { display: block; margin-top: 0.5rem; }
  .docs main { padding: 2.5rem 3rem 6rem; max-width: 78rem; }
}
`;
