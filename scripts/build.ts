// npm run build: makes everything that people install, in dist/: the single-file executable, the npm packages, and the
// Python wheel and source distribution. It needs the packages of `npm ci`, for the TypeScript client also those of `npm
// ci --prefix scripts`, and Python 3.11 or newer for the Python packages.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { compile, ROOT } from './build/bundle.ts';
import { notices } from './build/notices.ts';
import { packClient, packService } from './build/npm.ts';
import { packPython } from './build/python.ts';
import { readOptions } from './options.ts';

const USAGE = `Usage: npm run build -- [parts] [options]

  parts          executable, service, client, python; all of them when none is named
  --to <folder>  where they are put (dist)
  --help         print this
`;

const to = { type: 'string', default: join(ROOT, 'dist') } as const;
const { values, words: asked } = readOptions(USAGE, { to }, true);
const dist = resolve(values.to);
const npm = join(dist, 'npm');
const python = join(dist, 'python');

async function executable(): Promise<string[]> {
  const path = join(dist, 'toolgate');
  const texts = join(dist, 'THIRD-PARTY.txt');
  writeFileSync(texts, notices(await compile(path)));
  return [path, texts];
}

const PARTS: Record<string, () => Promise<string[]> | string[]> = {
  executable,
  service: async () => [await packService(npm)],
  client: () => [packClient(npm)],
  python: () => packPython(python),
};

const unknown = asked.filter(name => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}.`);
  process.exit(64);
}
const wanted = Object.entries(PARTS).filter(([name]) => asked.length === 0 || asked.includes(name));
for (const folder of [npm, python]) mkdirSync(folder, { recursive: true });
for (const [index, [name, make]] of wanted.entries()) {
  console.log(`[${index + 1}/${wanted.length}] ${name}`);
  for (const file of await make()) console.log(`      ${relative(process.cwd(), file)}  ${size(file)}`);
}

function size(file: string): string {
  const { size: bytes } = statSync(file);
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`;
}
