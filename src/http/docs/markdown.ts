// A page of the documentation as HTML. The runtime parses Markdown; this file says what becomes of each part. All text is
// escaped, HTML within a page is shown as text, and the caller says where links and pictures lead.

import { type Html, html, trusted } from '../serving/page.ts';

export interface Targets {
  /** Where a link leads; null if this service has nothing there. */
  link: (href: string) => string | null;
  /** The address of a picture; null if it is not served. */
  picture: (source: string) => string | null;
}

export interface Heading {
  level: number;
  id: string;
  name: Html;
}

export interface Rendered {
  body: Html;
  headings: Heading[];
}

type Part = (children: string) => string;

const escaped = (text: string): string => html`${text}`.markup;
const tag =
  (name: string): Part =>
  children =>
    `<${name}>${children}</${name}>`;

/** The name of a setting that alone would make its column as wide as two of the others. */
const LONG_NAME = /(?<=<code>)[A-Z_]{27,}(?=<\/code>)/g;

/** It may go on in the next line, after the word in its middle. */
const breakable = (name: string): string => {
  const middle = name.indexOf('_', name.length / 2 - 3) + 1;
  return `${name.slice(0, middle)}<wbr>${name.slice(middle)}`;
};

const PLAIN = {
  text: escaped,
  paragraph: tag('p'),
  strong: tag('strong'),
  emphasis: tag('em'),
  codespan: tag('code'),
  code: (children: string) => `<pre tabindex="0"><code>${children}</code></pre>`,
  blockquote: tag('blockquote'),
  listItem: tag('li'),
  list: (children: string, { ordered }: { ordered: boolean }) =>
    ordered ? `<ol>${children}</ol>` : `<ul>${children}</ul>`,
  /** A table whose columns have no names has only empty cells here, and gets no head. */
  thead: (children: string) => (children.includes('<th') ? `<thead>${children}</thead>` : ''),
  tbody: tag('tbody'),
  tr: tag('tr'),
  th: (children: string, cell?: Cell) =>
    children === '' ? '<td></td>' : `<th scope="col"${aligned(cell)}>${children}</th>`,
  td: (children: string, cell?: Cell) => `<td${aligned(cell)}>${children.replace(LONG_NAME, breakable)}</td>`,
  hr: () => '<hr>',
  html: (children: string) => children,
};

interface Cell {
  align?: 'left' | 'center' | 'right';
}

const aligned = (cell?: Cell): string => (cell?.align === 'right' ? ' class="figure"' : '');

export function markdown(text: string, targets: Targets): Rendered {
  const headings: Heading[] = [];
  let tables = 0;
  const body = Bun.markdown.render(text, {
    ...PLAIN,
    // Regions of one page need different names.
    table: children =>
      `<div class="scroll" tabindex="0" role="region" aria-label="Table ${++tables}"><table>${children}</table></div>`,
    heading: (children, { level }) => {
      const id = anchor(children);
      headings.push({ level, id, name: trusted(children) });
      return html`${trusted(`<h${level}`)} id="${id}">${trusted(`${children}</h${level}>`)}`.markup;
    },
    link: (children, { href }) => {
      const to = targets.link(href);
      const name = trusted(children);
      if (to !== null) return html`<a href="${to}">${name}</a>`.markup;
      return html`<span class="elsewhere" title="${href.replace(/^(\.\.\/)+/, '')}, in the project">${name}</span>`
        .markup;
    },
    image: (alt, { src }) => {
      const address = targets.picture(src);
      if (address === null) return html`<em class="soft">Picture: ${trusted(alt)}</em>`.markup;
      return html`<img src="${address}" alt="${trusted(alt)}">`.markup;
    },
  });
  return { body: trusted(body), headings };
}

/**
 * How GitHub names a heading in links, since the pages are read there too. Character references are dropped, because
 * none of them stands for a letter or a digit.
 */
function anchor(children: string): string {
  return children
    .replace(/<[^>]*>|&[#\w]+;/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
