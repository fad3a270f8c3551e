// The tables of docs/results.md: the fields of an entry of `results`, and the formats of secrets, each made of its description.
// scripts/openapi.ts writes them.

import { CHARACTERS, SECRET_FORMATS, type SecretFormat } from '../src/core/detectors/secret-formats.ts';
import type { Fields } from '../src/core/policy/field-type.ts';
import { RESULT } from '../src/core/policy/result-fields.ts';

export function withResultTables(page: string): string {
  const fields = ['| Field | Value | Meaning |', '|---|---|---|', ...fieldRows(RESULT, '')];
  const formats = [
    '| Secret | Form | Is checked | Source |',
    '|---|---|---|---|',
    ...[...SECRET_FORMATS].sort((a, b) => a.name.localeCompare(b.name, 'en')).map(formatRow),
  ];
  return withTable(withTable(page, 'fields', fields), 'formats', formats);
}

function withTable(page: string, name: string, rows: readonly string[]): string {
  const place = new RegExp(`(<!-- ${name}: .*? -->\\n).*(<!-- /${name} -->)`, 's');
  return page.replace(place, (_, begin: string, end: string) => `${begin}\n${rows.join('\n')}\n\n${end}`);
}

function fieldRows(fields: Fields, holder: string): string[] {
  return Object.entries(fields).flatMap(([name, field]) => [
    `| \`${holder}${name}\` | ${field.type.words} | ${field.help} |`,
    ...fieldRows(field.type.parts ?? {}, `${holder}${name}.`),
  ]);
}

function formatRow({ name, source, prefixes, shape, before = '', checks = '' }: SecretFormat): string {
  const forms = prefixes.map(prefix => `\`${formOf(before)}${prefix}\``).join(' ');
  return `| ${name} | ${forms} \`${formOf(shape)}\` | ${checks} | [${hostOf(source)}](${source}) |`;
}

/** The host that a source is at, or our own page. */
const hostOf = (source: string): string =>
  URL.canParse(source) ? new URL(source).hostname.replace(/^www\./, '') : source;

/** A shape for people: characters by their letter, alternatives divided by `/`, without what must not follow. */
function formOf(shape: string): string {
  let form = shape.replace(/\(\?!\[[^\]]*\]\)/g, '');
  for (const [expression, letter] of CHARACTERS) form = form.replaceAll(expression, letter);
  return form
    .replaceAll('\\\\?/', '/')
    .replaceAll('(?:', '(')
    .replaceAll('\\.', '.')
    .replaceAll('|', '/')
    .replaceAll('`', '');
}
