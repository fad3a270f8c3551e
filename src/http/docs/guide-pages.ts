// The documentation as HTML for people: one page of it, what a search found, and the list of pages that stands beside all
// of them. docs.ts makes the API reference, and guides.ts has the routes.

import { type Html, html, named } from '../serving/page.ts';
import { docsFrame } from './docs-frame.ts';
import { type Guides, readGuides } from './guide-files.ts';
import { type Found, meantWords, search, sectionsOf, wordsOf } from './guide-search.ts';
import { type Heading, markdown, type Rendered, type Targets } from './markdown.ts';

const START = 'README.md';
/** Comments in the pages are for the tests and not for readers. */
const REMARK = /^<!-- .*? -->\n/gms;

let known: Guides | null = null;

/** The files are read at the first request. */
export function guides(): Guides {
  known ??= readGuides();
  return known;
}

/** A page as it is written, for programs; null if there is none of this name. */
export function sourceOf(name: string): string | null {
  const { pages } = guides();
  return Object.hasOwn(pages, name) ? (pages[name] ?? '').replace(REMARK, '') : null;
}

const TARGETS: Targets = {
  link: href => {
    if (/^(?:https:\/\/|#)/.test(href)) return href;
    const [, name = '', fragment = ''] = /^([\w-]+\.md)(#.*)?$/.exec(href) ?? [];
    return sourceOf(name) === null ? null : addressOf(name) + fragment;
  },
  picture: source => {
    const { drawings } = guides();
    const drawing = Object.hasOwn(drawings, source) ? drawings[source] : undefined;
    return drawing === undefined ? null : `data:image/svg+xml,${encodeURIComponent(drawing)}`;
  },
};

const addressOf = (name: string): string =>
  name === START ? '/docs' : `/docs/${name.slice(0, -'.md'.length)}`;

const rendered = new Map<string, Rendered>();

function render(name: string): Rendered {
  const made = rendered.get(name) ?? markdown(sourceOf(name) ?? '', TARGETS);
  rendered.set(name, made);
  return made;
}

/** The page of the documentation with this name (without .md) for people; null if there is none. */
export function guidePage(name: string): Response | null {
  const file = `${name}.md`;
  if (sourceOf(file) === null || file === START) return null;
  const { body, headings } = render(file);
  const main = html`${body}<p class="soft small"><a href="/docs/${file}">This page as Markdown</a></p>`;
  return docsFrame({ title: titleOf(file), contents: listOfPages(file, headings), main: guide(main) });
}

/** Where the documentation begins: the path through its pages. */
export const pathThrough = (): Html => guide(render(START).body);

const guide = (body: Html): Html => html`<div class="guide">${body}</div>`;

const titleOf = (file: string): string => /^# (.*)$/m.exec(sourceOf(file) ?? '')?.[1] ?? file;

/** The pages as the path orders them. The one that is shown has its headings below it. */
export function listOfPages(here: string | null = null, headings: readonly Heading[] = []): Html {
  const groups = (sourceOf(START) ?? '').split(/^## /m).slice(1);
  return html`<nav aria-label="Documentation"><ul>${groups.map(text => group(text, here, headings))}
<li><a class="tag" href="/docs#start">Every route</a></li></ul></nav>`;
}

function group(text: string, here: string | null, headings: readonly Heading[]): Html {
  const pages = Array.from(text.matchAll(/^- \[(.+?)\]\(([\w-]+\.md)\)/gm));
  const [name = ''] = text.split('\n');
  return html`<li><span class="tag">${name}</span><ul>${pages.map(([, title = '', file = '']) =>
    file === here
      ? html`<li><a href="${addressOf(file)}" aria-current="page">${title}</a>${within(headings)}</li>`
      : html`<li><a href="${addressOf(file)}">${title}</a></li>`,
  )}</ul></li>`;
}

function within(headings: readonly Heading[]): Html | null {
  const shown = headings.filter(({ level }) => level === 2);
  if (shown.length === 0) return null;
  return html`<ul class="within">${shown.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>`)}</ul>`;
}

let sections: Promise<ReturnType<typeof sectionsOf>> | null = null;

/** All pages take 0.1 s to read, so others get their turn after each. */
async function readSections(): Promise<ReturnType<typeof sectionsOf>> {
  const all = [];
  for (const file of Object.keys(guides().pages)) {
    if (file === START) continue;
    all.push(...sectionsOf(addressOf(file), render(file).body));
    await Bun.sleep(0);
  }
  return all;
}

export async function searchPage(query: string): Promise<Response> {
  sections ??= readSections();
  const [all, words] = [await sections, wordsOf(query)];
  const found = search(all, words);
  const main = html`<div class="guide"><h1>Search</h1>
<p>${found.length === 0 ? 'Nothing was found for' : 'Found for'} “${named(query)}”.</p>
${found.length === 0 ? instead(meantWords(all, words)) : html`<ol class="found">${found.map(result)}</ol>`}</div>`;
  return docsFrame({ title: 'Search', query, contents: listOfPages(), main });
}

function instead(meant: string[] | null): Html {
  if (meant === null) return html`<p>Try fewer words, or the list of pages.</p>`;
  const query = meant.join(' ');
  return html`<p>Did you mean <a href="/docs?q=${encodeURIComponent(query)}">${query}</a>?</p>`;
}

function result({ page, id, title, heading, excerpt }: Found): Html {
  const name = title === heading ? title : `${title}: ${heading}`;
  return html`<li><a href="${page}#${id}">${name}</a><p class="small">${excerpt}</p></li>`;
}
