// npm run build: everything people install, into dist/: the single-file executable, the npm packages, and the
// Python wheel and source distribution. Needs what `npm ci` brings, and Python 3.11 or newer for the last two.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { compile, ROOT } from './build/bundle.ts';
import { notices } from './build/notices.ts';
import { packClient, packService } from './build/npm.ts';
import { packPython } from './build/python.ts';

/** `npm run build -- <folder>` builds elsewhere. */
const dist = resolve(process.argv[2] ?? join(ROOT, 'dist'));
const npm = join(dist, 'npm');
const python = join(dist, 'python');

async function executable(): Promise<string[]> {
  const path = join(dist, 'toolgate');
  const texts = join(dist, 'THIRD-PARTY.txt');
  writeFileSync(texts, notices(await compile(path)));
  return [path, texts];
}

const STEPS: [what: string, make: () => Promise<string[]> | string[]][] = [
  ['executable', executable],
  ['npm package of the service', async () => [await packService(npm)]],
  ['npm package of the client', () => [packClient(npm)]],
  ['Python packages', () => packPython(python)],
];

for (const folder of [npm, python]) mkdirSync(folder, { recursive: true });
for (const [index, [what, make]] of STEPS.entries()) {
  console.log(`[${index + 1}/${STEPS.length}] ${what}`);
  for (const file of await make()) console.log(`      ${relative(process.cwd(), file)}  ${size(file)}`);
}

function size(file: string): string {
  const { size: bytes } = statSync(file);
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
}
