// What becomes of Markdown: each part in its element, and whatever else a page holds as text.

import { expect, test } from 'bun:test';
import { markdown } from '../../../src/http/docs/markdown.ts';

const rendered = (text: string) =>
  markdown(text, {
    link: href => (href.endsWith('.md') ? `/docs/${href}` : null),
    picture: source => (source === 'a.svg' ? 'data:,"a"' : null),
  });
const body = (text: string) => rendered(text).body.markup;

test.each([
  ['a <b>x</b> & "c"', '<p>a &lt;b&gt;x&lt;/b&gt; &amp; &quot;c&quot;</p>'],
  ['`<i>`', '<p><code>&lt;i&gt;</code></p>'],
  ['```sh\nls <a>\n```', '<pre tabindex="0"><code>ls &lt;a&gt;\n</code></pre>'],
  ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
  ['[x](a.md)', '<p><a href="/docs/a.md">x</a></p>'],
  [
    '[x](javascript:alert(1))',
    '<p><span class="elsewhere" title="javascript:alert(1), in the project">x</span></p>',
  ],
  ['![<b>"](a.svg)', '<p><img src="data:,&quot;a&quot;" alt="&lt;b&gt;&quot;"></p>'],
  ['![seen](b.png)', '<p><em class="soft">Picture: seen</em></p>'],
  ['- **a**\n- *b*', '<ul><li><strong>a</strong></li><li><em>b</em></li></ul>'],
  ['1. a\n2. b', '<ol><li>a</li><li>b</li></ol>'],
])('%j', (text, wanted) => {
  expect(body(text).trim()).toBe(wanted);
});

test('a table has its head only if a column has a name, and figures stand on the right', () => {
  expect(body('| | n |\n|---|--:|\n| a `\\|` | 1 |')).toContain(
    '<thead><tr><td></td><th scope="col" class="figure">n</th></tr></thead>' +
      '<tbody><tr><td>a <code>|</code></td><td class="figure">1</td></tr></tbody>',
  );
  expect(body('| | |\n|---|---|\n| a | b |')).not.toContain('<thead>');
});

test('a long name of a setting may be broken where it stands in a table', () => {
  const name = '`TOOLGATE_MAX_SESSIONS_PER_KEY`';
  expect(body(`| a |\n|---|\n| ${name} |`)).toContain('<code>TOOLGATE_MAX_<wbr>SESSIONS_PER_KEY</code>');
  expect(body(name)).not.toContain('<wbr>');
});

test('headings are named in links as GitHub names them', () => {
  const { headings } = rendered('# The `a` & B: c — d\n\n## 2. Point "it"\n');
  expect(headings.map(({ level, id }) => [level, id])).toEqual([
    [1, 'the-a--b-c--d'],
    [2, '2-point-it'],
  ]);
});
