// The table of a rule's fields in docs/policies.md, made of their descriptions. scripts/openapi.ts writes it.

import type { Field, Fields } from '../src/core/policy/field-type.ts';
import { RULE } from '../src/core/policy/rule-fields.ts';

const TABLE = /(<!-- fields: .*? -->\n).*(<!-- \/fields -->)/s;
const HEAD = ['| Field | In rules | Value | Meaning |', '|---|---|---|---|'];
const WHICH = { allow: '`allow`', asking: 'that ask people', passing: '`allow`, `require_approval`' };

export function withRuleTable(page: string): string {
  const table = [...HEAD, ...rows(RULE, '')].join('\n');
  return page.replace(TABLE, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
}

function rows(fields: Fields, holder: string): string[] {
  return Object.entries(fields).flatMap(([name, field]) => [
    `| \`${holder}${name}\` | ${which(field, holder)} | ${field.type.words} | ${field.help} |`,
    ...rows(field.type.parts ?? {}, `${holder}${name}.`),
  ]);
}

/** The rules that may have a field, or have to. */
function which({ needed, only }: Field, holder: string): string {
  if (holder !== '') return needed ? 'needed in it' : '';
  if (needed) return 'needed';
  return only === undefined ? 'all' : WHICH[only];
}
