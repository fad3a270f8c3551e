// Collects the licences of the bundled packages, as their terms require, in one text. The packages are found from the
// source files of the bundle.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './bundle.ts';

const PACKAGE = /node_modules\/((?:@[^/]+\/)?[^/]+)\//g;

export function notices(inputs: string[]): string {
  const names = new Set(inputs.flatMap(file => [...file.matchAll(PACKAGE)].at(-1)?.[1] ?? []));
  const head =
    'Toolgate (Apache-2.0) carries these packages. Its runtime is Bun (MIT), which links JavaScriptCore (LGPL-2.1) ' +
    'and others: https://bun.com/docs/project/license\n';
  return [head, ...[...names].sort().map(notice)].join('\n');
}

function notice(name: string): string {
  const folder = join(ROOT, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each) && existsSync(join(folder, each)));
  if (file === undefined && license === undefined) throw new Error(`${name} has no licence`);
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
  return `${'='.repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`;
}
