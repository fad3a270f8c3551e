// The table of presets in docs/tool-servers.md, made of the catalogue. scripts/openapi.ts writes it.

import type { Preset } from '../src/core/catalogue/preset.ts';
import { PRESETS } from '../src/core/catalogue/presets.ts';

const TABLE = /(<!-- presets: .*? -->\n).*(<!-- \/presets -->)/s;
const HEAD = ['| Name | Server | Reached by | It needs | Pack |', '|---|---|---|---|---|'];

export function withPresetTable(page: string): string {
  const table = [...HEAD, ...PRESETS.map(row)].join('\n');
  return page.replace(TABLE, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
}

function row(preset: Preset): string {
  const server = `[${preset.title}](${preset.source}), by ${preset.by}`;
  return `| \`${preset.name}\` | ${server} | ${reached(preset)} | ${preset.needs.join(' ')} | [${preset.pack}](packs.md) |`;
}

const WAYS = { oauth: 'a sign-in', headers: 'a header' };

function reached(preset: Preset): string {
  if (preset.transport === 'stdio')
    return `the command \`${preset.package.name}\` ${preset.package.version} (${preset.package.registry})`;
  return `\`${preset.url}\`, with ${preset.accepts.map(each => WAYS[each]).join(' or ')}`;
}
